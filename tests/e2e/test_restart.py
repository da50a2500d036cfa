"""A restart loses nothing, with no service at all (G1, B06, B39, B47)."""

import asyncio
import json
import signal
from pathlib import Path

import pytest

from tests.conftest import Serve, StartProxy
from tests.fakes.client import ask, question
from tests.fakes.semantic import NEAR, comparing_by_words, learned
from tests.fakes.traffic import echo, expected
from tests.fakes.upstream import ScriptedUpstream, error_reply
from tests.watch import figure, until

STORED = "What is the capital of Peru?"
ASKED = "Please, what is the capital of Peru?"
SET_ASIDE = "what was kept on disk is set aside"


def kept_in(directory: Path, more: str = "") -> str:
    """Settings of a proxy that keeps what it learns there."""
    return f"persist: {{disk: {{path: {json.dumps(str(directory))}}}}}\nadmin: {{token: t}}\n{more}"


async def test_entries_keep_their_age_and_their_tenant(
    proxy: StartProxy, upstream: ScriptedUpstream, tmp_path: Path
) -> None:
    settings = kept_in(tmp_path / "kept")
    async with proxy(settings) as app:
        await ask(app.url, question())
        first = await ask(app.url, question())
    async with proxy(settings) as app:
        await until(lambda: figure(app, "entries") == 1)
        again = await ask(app.url, question())
        assert again.is_hit
        assert (again.body, again.header("x-cache-entry")) == (
            first.body,
            first.header("x-cache-entry"),
        )
        assert int(again.header("Age") or "-1") >= int(first.header("Age") or "0")
        assert not (await ask(app.url, question(), key="key-b")).is_hit
    assert upstream.calls == 2


async def test_rewordings_and_aliases_are_found_without_embedding_anything_anew(
    proxy: StartProxy,
    upstream: ScriptedUpstream,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    encoder = comparing_by_words(monkeypatch)
    settings = kept_in(tmp_path / "kept", NEAR)
    async with proxy(settings) as app:
        await learned(app, 0)
        await ask(app.url, question(STORED))
        await learned(app, 1)
        assert "detail=semantic" in (await ask(app.url, question(ASKED))).cache
    embedded = len(encoder.texts)
    async with proxy(settings) as app:
        await learned(app, 1)
        assert "detail=alias" in (await ask(app.url, question(ASKED))).cache
        assert len(encoder.texts) == embedded
        other = await ask(app.url, question("What, please, is the capital of Peru?"))
        assert "detail=semantic" in other.cache
    assert upstream.calls == 1


async def test_what_was_wrong_or_purged_or_revoked_stays_so(
    proxy: StartProxy,
    upstream: ScriptedUpstream,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    comparing_by_words(monkeypatch)
    settings = kept_in(tmp_path / "kept", NEAR)
    async with proxy(settings) as app:
        await learned(app, 0)
        await ask(app.url, question(STORED))
        await learned(app, 1)
        served = await ask(app.url, question(ASKED))
        said = {"entry": served.header("x-cache-entry"), "verdict": "wrong", "question": ASKED}
        assert (await ask(app.url, said, path="/x-cache/feedback")).status == 200
        await ask(app.url, question("to be purged"))
        purge = {"model": "m1"}
        assert (await ask(app.admin_url, purge, key="t", path="/admin/purge")).status == 200
        await ask(app.url, question("of one who is revoked"), key="key-b")
        upstream.will(error_reply(401))
        assert (await ask(app.url, question("another"), key="key-b")).status == 401
    async with proxy(settings) as app:
        await until(lambda: figure(app, "negative_pairs") == 1)
        await until(lambda: figure(app, "entries") == 1)
        assert not (await ask(app.url, question("of one who is revoked"), key="key-b")).is_hit
        assert not (await ask(app.url, question("to be purged"))).is_hit
        await ask(app.url, question(STORED))
        await learned(app, 3)
        assert not (await ask(app.url, question(ASKED))).is_hit


async def test_who_is_revoked_after_a_restart_gets_nothing(
    proxy: StartProxy, upstream: ScriptedUpstream, tmp_path: Path
) -> None:
    settings = kept_in(tmp_path / "kept")
    async with proxy(settings) as app:
        await ask(app.url, question())
        await ask(app.url, question(), key="key-b")
    async with proxy(settings) as app:
        await until(lambda: figure(app, "entries") == 2)
        upstream.will(error_reply(401))
        assert (await ask(app.url, question("another"))).status == 401
        assert not (await ask(app.url, question())).is_hit
        assert (await ask(app.url, question(), key="key-b")).is_hit


async def test_a_process_that_is_killed_loses_no_more_than_the_last_second(
    serve: Serve, upstream: ScriptedUpstream
) -> None:
    upstream.respond = echo
    async with serve("--upstream", upstream.url) as process:
        for number in range(50):
            await ask(process.url, question(f"early {number}"))
        await asyncio.sleep(1.0)  # what was learnt before is more than a second old
        for number in range(50):
            await ask(process.url, question(f"late {number}"))
        process.signal(signal.SIGKILL)
        assert await process.wait() == -signal.SIGKILL
    async with serve("--upstream", upstream.url) as process:
        await process.ready()
        for number in range(50):
            found = await ask(process.url, question(f"early {number}"))
            assert found.is_hit
            assert found.text == expected(f"early {number}", "key-a")
        for number in range(50):
            late = await ask(process.url, question(f"late {number}"))
            assert late.text == expected(f"late {number}", "key-a")


def spoil(file: Path) -> None:
    """Overwrite where it begins; what SQLite keeps beside it would mend that."""
    for beside in ("-wal", "-shm"):
        file.with_name(file.name + beside).unlink(missing_ok=True)
    file.write_bytes(bytes(100) + file.read_bytes()[100:])


async def test_a_damaged_file_is_set_aside_once_and_all_goes_on(
    serve: Serve, upstream: ScriptedUpstream, tmp_path: Path
) -> None:
    async with serve("--upstream", upstream.url) as process:
        await ask(process.url, question())
    file = tmp_path / "data" / "reprise" / "entries.sqlite"
    await asyncio.to_thread(spoil, file)
    for times in (1, 0):
        async with serve("--upstream", upstream.url) as process:
            await process.ready()
            assert (await ask(process.url, question())).status == 200
        assert len(process.events(SET_ASIDE)) == times  # all is read when it has ended
    async with serve("--upstream", upstream.url) as process:
        await process.ready()
        assert (await ask(process.url, question())).is_hit


async def test_a_directory_that_cannot_be_used_stops_nothing(
    serve: Serve, upstream: ScriptedUpstream, tmp_path: Path
) -> None:
    (tmp_path / "data").write_text("a file in its place")
    async with serve("--upstream", upstream.url) as process:
        await process.ready()
        assert (await ask(process.url, question())).status == 200
        assert (await ask(process.url, question())).is_hit
