"""A configuration taken over while requests are under way (B05, B55, B56)."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.conftest import Serve
from tests.fakes.answers import chat_answer, chat_stream
from tests.fakes.client import CHAT, ask, call, connect, posting, question
from tests.fakes.process import ProxyProcess
from tests.fakes.upstream import ScriptedUpstream, json_reply, sse_reply

TOKEN = "admin-token"
BAD = {
    "syntax": "ttl: {exact: 5s",
    "empty": "",
    "type": "ttl: {exact: high}",
    "range": "ttl: {exact: -1s}",
    "unknown": "tttl: {}",
    "aliases": "a: &a [1,1,1,1,1,1,1,1,1]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nupstream: *b\n",
    "not text": "\x00\x01",
}


def settings(upstream: ScriptedUpstream, more: str = "") -> str:
    own = f"upstream: {upstream.url}\nadmin: {{token: {TOKEN}}}\nsemantic: {{enabled: false}}"
    return f"{own}\n{more}\n"


@asynccontextmanager
async def running(serve: Serve, file: Path) -> AsyncIterator[ProxyProcess]:
    async with serve("--config", str(file)) as process:
        yield process


async def metric(process: ProxyProcess, name: str) -> float:
    page = await call(process.admin_url, "GET", "/metrics")
    for line in page.body.decode().splitlines():
        if line.startswith(name + " "):
            return float(line.split()[1])
    raise AssertionError(name)


async def reload(process: ProxyProcess) -> tuple[int, dict[str, object]]:
    """Ask the admin listener for a reload."""
    answer = await call(
        process.admin_url,
        "POST",
        "/admin/reload",
        fields=[("Authorization", f"Bearer {TOKEN}")],
        body=b"",
    )
    return answer.status, answer.json()


async def taken_over(process: ProxyProcess) -> bool:
    """Ask for a reload; whether the file is in force now. Who watches it may have been faster."""
    status, told = await reload(process)
    return status == 200 and bool(told["applied"] or told["unchanged"])


def write(file: Path, text: str) -> None:
    """Replace a file as editors do: never half of it."""
    draft = file.with_suffix(".draft")
    draft.write_text(text)
    draft.replace(file)


async def test_bad_files_change_nothing_and_a_good_one_is_taken_over_under_load(
    serve: Serve, upstream: ScriptedUpstream, tmp_path: Path
) -> None:
    file = tmp_path / "reprise.yaml"
    file.write_text(settings(upstream))
    statuses: list[int] = []
    stop = asyncio.Event()

    async def load(url: str, worker: int) -> None:
        number = 0
        async with connect(url) as client:
            while not stop.is_set():
                number += 1
                body = question(f"{worker} {number % 7}")
                answer = await client.ask("POST", CHAT, fields=posting(), body=body)
                statuses.append(answer.status)

    async with running(serve, file) as process, asyncio.TaskGroup() as group:
        for worker in range(4):
            group.create_task(load(process.url, worker))
        for text in BAD.values():
            write(file, text)
            status, told = await reload(process)
            assert status == 400, text
            assert told["problems"]
            assert await metric(process, "reprise_config_last_reload_successful") == 0
        write(file, settings(upstream, "policy: {epoch: two}"))
        assert await taken_over(process)
        assert await metric(process, "reprise_config_last_reload_successful") == 1
        stop.set()
    assert len(statuses) > 50
    assert set(statuses) == {200}


async def test_a_signal_a_file_and_a_link_are_each_enough(
    serve: Serve, upstream: ScriptedUpstream, tmp_path: Path
) -> None:
    # As a ConfigMap is mounted: the file is a link into a directory that is a link.
    for number in range(4):
        (tmp_path / f"..{number}").mkdir()
        text = settings(upstream, f"policy: {{epoch: e{number}}}")
        (tmp_path / f"..{number}" / "reprise.yaml").write_text(text)
    data = tmp_path / "..data"
    data.symlink_to("..0")
    file = tmp_path / "reprise.yaml"
    file.symlink_to("..data/reprise.yaml")
    async with running(serve, file) as process:
        assert not (await ask(process.url)).is_hit
        assert (await ask(process.url)).is_hit

        swap = tmp_path / "..tmp"
        swap.symlink_to("..1")
        os.replace(swap, data)
        taken = await process.logged("configuration applied")
        assert taken["trigger"] == "file"
        assert not (await ask(process.url)).is_hit

        (tmp_path / "..1" / "reprise.yaml").write_text(settings(upstream, "policy: {epoch: e2}"))
        process.signal(signal.SIGHUP)
        taken = await process.logged("configuration applied", times=2)
        assert taken["trigger"] == "signal"
        assert not (await ask(process.url)).is_hit


async def test_a_reload_keeps_entries_and_lets_running_streams_end(
    serve: Serve, upstream: ScriptedUpstream, tmp_path: Path
) -> None:
    file = tmp_path / "reprise.yaml"
    file.write_text(settings(upstream))
    frames = chat_stream(["begun", " under", " 旧配置"])
    gate = asyncio.Event()
    async with ScriptedUpstream() as other, running(serve, file) as process:
        await ask(process.url, question("kept"))
        upstream.will(sse_reply(frames[0], gate, *frames[1:]))
        async with connect(process.url) as client:
            body = question("stream", stream=True)
            await client.send("POST", CHAT, fields=posting(), body=body)
            await client.head()
            for more in ("log: {level: debug}", "ttl: {exact: 2h}"):
                write(file, settings(upstream, more))
                assert await taken_over(process)
                assert (await ask(process.url, question("kept"))).is_hit
            write(file, settings(other))
            assert await taken_over(process)
            other.will(json_reply(chat_answer("from the other")))
            assert (await ask(process.url, question("kept"))).text == "from the other"
            gate.set()
            assert await client.rest() == b"".join(frames)
        write(file, settings(upstream))
        await reload(process)
        assert (await ask(process.url, question("kept"))).text == "answer 1"
    assert (upstream.calls, other.calls) == (2, 1)


async def test_what_needs_a_restart_is_told_and_left_as_it_is(
    serve: Serve, upstream: ScriptedUpstream, tmp_path: Path
) -> None:
    file = tmp_path / "reprise.yaml"
    file.write_text(settings(upstream))
    async with running(serve, file) as process:
        write(file, settings(upstream).replace(TOKEN, "other") + "limits: {max_connections: 3}\n")
        status, told = await reload(process)
        assert status == 200
        if told["unchanged"]:  # who watches the file was faster
            told = await process.logged("configuration applied")
        assert told["restart_required"] == ["admin.token", "limits.max_connections"]
        assert (await reload(process))[0] == 200
        assert (await ask(process.url)).status == 200


@pytest.mark.parametrize("text", [BAD["syntax"], BAD["unknown"]])
async def test_a_first_start_with_a_bad_file_fails(serve: Serve, tmp_path: Path, text: str) -> None:
    file = tmp_path / "reprise.yaml"
    file.write_text(text)
    process = serve("--config", str(file))
    await process.start()
    assert await process.wait() == 2
    assert str(file) in process.stderr
    await process.stop()
