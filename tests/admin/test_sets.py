"""An edge that starts from what a centre has exported, and stores nothing itself (G5)."""

import json

import pytest

from proxy.app import App
from tests.admin.test_routes import TOKEN, admin
from tests.conftest import StartProxy
from tests.fakes.answers import chat_answer
from tests.fakes.client import Answer, ask, question
from tests.fakes.clock import FakeClock
from tests.fakes.persistence import in_common
from tests.fakes.semantic import NEAR, comparing_by_words, learned
from tests.fakes.upstream import ScriptedUpstream, json_reply
from tests.watch import figure, until

COMMON = f"admin: {{token: '{TOKEN}'}}\ntenancy: {{secret: 'common-to-all-of-them'}}\n"


def centre_of(upstream: ScriptedUpstream) -> str:
    """The settings of a proxy that is asked by others."""
    return f"{COMMON}upstreams: [{{name: model, url: '{upstream.url}'}}]\n"


def edge_of(centre: App, *, secret: str = COMMON, name: str = "model") -> str:
    """The settings of one before it that stores nothing."""
    upstream = f"upstreams: [{{name: {name}, url: '{centre.url}', reprise: true}}]\n"
    return f"{secret}{upstream}policy: {{store: false}}\n"


async def export(app: App, query: str = "") -> bytes:
    """What a proxy exports."""
    answer = await admin(app, "GET", f"/admin/export{query}")
    assert answer.status == 200
    return answer.body


async def take_in(app: App, data: bytes) -> Answer:
    """Have a proxy import it."""
    return await admin(app, "POST", "/admin/import", data)


async def test_an_edge_serves_an_exported_set_and_asks_the_centre_for_the_rest(
    proxy: StartProxy, upstream: ScriptedUpstream, clock: FakeClock
) -> None:
    async with (
        proxy(centre_of(upstream), upstream=None, clock=clock) as centre,
        proxy(edge_of(centre), upstream=None, clock=clock) as edge,
    ):
        await admin(centre, "POST", "/admin/epoch", b'{"model": "m*", "epoch": "e"}')
        for number in range(3):
            await ask(centre.url, question(f"Q{number}", stream=number == 1))
        clock.advance(60)
        told = await take_in(edge, await export(centre))
        assert told.json() == {"imported": 3, "left_out": 0, "warnings": []}
        for number in range(3):
            hit = await ask(edge.url, question(f"Q{number}", stream=number == 1))
            assert (hit.is_hit, hit.text, hit.header("Age")) == (True, f"answer {number + 1}", "60")
        assert not (await ask(edge.url, question("Q0"), key="key-b")).is_hit
        assert upstream.calls == 4
        await ask(centre.url, question("later"))
        later = await ask(edge.url, question("later"))
        assert ", ".join(later.headers("Cache-Status")).count("reprise; hit") == 1
        assert figure(edge, "entries") == 3
        assert (await take_in(edge, await export(centre))).json()["left_out"] == 3
    assert upstream.calls == 5


async def test_those_that_are_given_most_come_first_then_the_newest(
    proxy: StartProxy, upstream: ScriptedUpstream, clock: FakeClock
) -> None:
    async with (
        proxy(centre_of(upstream), upstream=None, clock=clock) as centre,
        proxy(edge_of(centre), upstream=None, clock=clock) as edge,
    ):
        for number in range(6):
            await ask(centre.url, question(f"Q{number}"))
            clock.advance(1)
        for number in (1, 1, 3):
            await ask(centre.url, question(f"Q{number}"))
        assert (await take_in(edge, await export(centre, "?top=3"))).json()["imported"] == 3
        hits = [(await ask(edge.url, question(f"Q{n}"))).headers("Cache-Status") for n in range(6)]
    assert [n for n, told in enumerate(hits) if len(told) == 1] == [1, 3, 5]


async def test_what_is_over_its_time_is_left_out(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    early, late = FakeClock(), FakeClock()
    late.advance(80_000)
    settings = centre_of(upstream) + "ttl: {exact: 86000s, jitter: 0}\n"
    async with (
        proxy(settings, upstream=None, clock=early) as centre,
        proxy(settings, upstream=None, clock=late) as edge,
    ):
        await ask(centre.url, question("old"))
        early.advance(10_000)
        await ask(centre.url, question("new"))
        told = (await take_in(edge, await export(centre))).json()
        assert told == {"imported": 2, "left_out": 0, "warnings": []}
        late.advance(10_000)
        async with proxy(settings, upstream=None, clock=late) as another:
            told = (await take_in(another, await export(centre))).json()
            assert told == {"imported": 1, "left_out": 1, "warnings": []}
        early.advance(90_000)
        assert b'"entries":0,' in await export(centre)


async def test_another_secret_is_told(proxy: StartProxy, upstream: ScriptedUpstream) -> None:
    other = COMMON.replace("common", "another")
    async with (
        proxy(centre_of(upstream), upstream=None) as centre,
        proxy(edge_of(centre, secret=other), upstream=None) as edge,
    ):
        await ask(centre.url)
        told = await take_in(edge, await export(centre))
        assert told.status == 400
        assert "set tenancy.secret to the same value on both" in told.json()["error"]["message"]
        assert figure(edge, "entries") == 0


async def test_an_upstream_of_another_name_is_told(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    async with (
        proxy(centre_of(upstream), upstream=None) as centre,
        proxy(edge_of(centre, name="other"), upstream=None) as edge,
    ):
        await ask(centre.url)
        (warning,) = (await take_in(edge, await export(centre))).json()["warnings"]
    assert "'model'" in warning
    assert "upstreams[].name" in warning


async def test_what_came_before_a_flaw_stays(proxy: StartProxy, upstream: ScriptedUpstream) -> None:
    async with (
        proxy(centre_of(upstream), upstream=None) as centre,
        proxy(edge_of(centre), upstream=None) as edge,
    ):
        for number in range(3):
            await ask(centre.url, question(f"Q{number}"))
        data = await export(centre)
        for flawed, kept in ((b"nothing", 0), (data[:40], 0), (data[:-300], 2), (data[:-2], 1)):
            told = await take_in(edge, flawed)
            assert (told.status, told.json()["imported"]) == (400, kept)
            assert ("exported set" if kept == 0 and len(flawed) < 12 else "is cut") in told.json()[
                "error"
            ]["message"]
        assert figure(edge, "entries") == 3
        audit = (await admin(edge, "GET", "/admin/audit")).json()["audit"]
        assert [one["count"] for one in audit] == [1, 2, 0, 0]


async def test_a_set_may_be_larger_than_other_bodies(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    """The listener takes 8 MiB at most otherwise."""
    async with (
        proxy(centre_of(upstream), upstream=None) as centre,
        proxy(edge_of(centre), upstream=None) as edge,
    ):
        upstream.respond = lambda seen: json_reply(chat_answer("x" * 3_000_000))
        for number in range(4):
            await ask(centre.url, question(f"Q{number}"))
        await until(lambda: figure(centre, "entries") == 4)  # they are judged in a thread
        data = await export(centre)
        assert len(data) > 12_000_000
        assert (await take_in(edge, data)).json()["imported"] == 4


@pytest.mark.parametrize("query", ["?top=x", "?top=-1", "?top=99999999999"])
async def test_a_number_that_is_none_is_refused(proxy: StartProxy, query: str) -> None:
    async with proxy(COMMON) as app:
        answer = await admin(app, "GET", f"/admin/export{query}")
    assert answer.status == 400
    assert json.loads(answer.body)["error"]["message"] == "top must be a whole number."


async def test_what_is_found_by_meaning_goes_along(
    proxy: StartProxy, upstream: ScriptedUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder = comparing_by_words(monkeypatch)
    async with (
        proxy(f"{centre_of(upstream)}{NEAR}", upstream=None) as centre,
        proxy(f"{edge_of(centre)}{NEAR}", upstream=None) as edge,
    ):
        await learned(centre, 0)
        await ask(centre.url, question("Can I cancel within 30 days?"))
        await learned(centre, 1)
        texts = len(encoder.texts)
        assert (await take_in(edge, await export(centre))).json()["imported"] == 1
        assert len(encoder.texts) == texts
        hit = await ask(edge.url, question("May I cancel within 30 days?"))
        assert (hit.is_hit, hit.text) == (True, "answer 1")
        assert "detail=semantic" in hit.cache
    assert upstream.calls == 1


async def test_what_is_imported_reaches_replicas_and_a_restart(
    proxy: StartProxy, upstream: ScriptedUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    common = in_common(monkeypatch)
    async with proxy(centre_of(upstream), upstream=None) as centre:
        await ask(centre.url)
        data = await export(centre)
    common.place.kept.clear()
    common.shared.entries.clear()
    async with (
        proxy(centre_of(upstream), upstream=None) as one,
        proxy(centre_of(upstream), upstream=None) as other,
    ):
        assert (await take_in(one, data)).json()["imported"] == 1
        await until(lambda: figure(other, "entries") == 1)
        assert (await ask(other.url)).is_hit
