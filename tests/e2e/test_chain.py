"""A proxy whose upstream is a proxy (G5)."""

import asyncio
import json
from contextlib import AsyncExitStack

import pytest

from proxy.app import App
from tests.admin.test_routes import TOKEN, admin
from tests.conftest import StartProxy
from tests.fakes.answers import chat_answer
from tests.fakes.client import CHAT, Answer, ask, call, connect, posting, question
from tests.fakes.clock import FakeClock
from tests.fakes.raw_upstream import Peer, RawUpstream
from tests.fakes.upstream import ScriptedUpstream, error_reply, json_reply, sse_reply
from tests.watch import figure, until

ADMIN = f"admin: {{token: '{TOKEN}'}}\n"
PLAIN = "ttl: {exact: 1000s, jitter: 0}\n"


def before(centre: App, *, more: str = "") -> str:
    """The settings of a proxy whose upstream is another one."""
    told = f"url: '{centre.url}', reprise: true, admin_url: '{centre.admin_url}'"
    return f"{ADMIN}{more}upstreams: [{{{told}, admin_token: '{TOKEN}'}}]\n"


def caches(answer: Answer) -> list[str]:
    """What each cache told, the one next to the model first."""
    return [one.strip() for one in ", ".join(answer.headers("Cache-Status")).split(",")]


async def test_what_two_caches_say_adds_up(
    proxy: StartProxy, upstream: ScriptedUpstream, clock: FakeClock
) -> None:
    async with (
        proxy(ADMIN + PLAIN, clock=clock) as centre,
        proxy(before(centre, more=PLAIN), upstream=None, clock=clock) as edge,
    ):
        first = await ask(centre.url)
        clock.advance(100)
        second = await ask(edge.url)
        clock.advance(50)
        third = await ask(edge.url)
    assert first.text == second.text == third.text == "answer 1"
    assert caches(first) == ["reprise; fwd=miss; fwd-status=200; stored"]
    assert caches(second) == [
        "reprise; hit; ttl=900; detail=exact",
        "reprise; fwd=miss; fwd-status=200; stored",
    ]
    assert second.headers("Age") == ["100"]
    assert caches(third) == ["reprise; hit; ttl=850; detail=exact"]
    assert third.headers("Age") == ["150"]
    assert upstream.calls == 1


async def test_three_in_a_row_tell_three_things(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    async with AsyncExitStack() as stack:
        centre = await stack.enter_async_context(proxy(ADMIN))
        middle = await stack.enter_async_context(proxy(before(centre), upstream=None))
        edge = await stack.enter_async_context(proxy(before(middle), upstream=None))
        answer = await ask(edge.url, question(stream=True))
        assert answer.text == "answer 1"
        assert [one.partition(";")[2].strip() for one in caches(answer)] == [
            "fwd=miss; fwd-status=200"
        ] * 3
        passed = await call(edge.url, "GET", "/v1/models")
        assert [one.partition("detail=")[2] for one in caches(passed)] == ["path"] * 3
        name = (await ask(edge.url, question(stream=True))).header("x-cache-entry") or ""
    hops = upstream.requests[0].fields
    via = [value for field, value in hops if field.lower() == b"via"]
    assert len(via) == 3
    assert len(set(via)) == 3
    assert name.count(".") == 0  # nobody had an older name for it


async def test_what_is_too_old_already_is_not_stored(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    upstream.respond = lambda seen: json_reply(chat_answer("old"), fields=[("Age", "1000")])
    async with proxy(PLAIN) as app:
        first, second = await ask(app.url), await ask(app.url)
    assert not second.is_hit
    assert "stored" not in first.cache


@pytest.mark.parametrize(("told", "age"), [("7", "7"), ("7, 9", "7"), ("x", "0"), ("-7", "0")])
async def test_an_age_is_read_as_rfc_9111_says(
    proxy: StartProxy, upstream: ScriptedUpstream, clock: FakeClock, told: str, age: str
) -> None:
    upstream.respond = lambda seen: json_reply(chat_answer("old"), fields=[("Age", told)])
    async with proxy(clock=clock) as app:
        assert (await ask(app.url)).headers("Age") == [told]
        assert (await ask(app.url)).headers("Age") == [age]


async def test_wishes_go_on_to_a_cache_of_our_kind_only(proxy: StartProxy) -> None:
    heads: list[bytes] = []

    async def conversation(peer: Peer) -> None:
        while True:
            heads.append((await peer.read_request())[0].lower())
            await peer.answer(b"{}")

    wishes = [("x-cache-ttl", "5m"), ("x-cache-tags", "a"), ("Cache-Control", "max-age=5")]
    async with RawUpstream(conversation) as raw:
        for kind in ("true", "false"):
            settings = f"upstreams: [{{url: '{raw.url}', reprise: {kind}}}]"
            async with proxy(settings, upstream=None) as app:
                await ask(app.url, fields=wishes)
    assert [b"x-cache-ttl: 5m" in head and b"x-cache-tags: a" in head for head in heads] == [
        True,
        False,
    ]
    assert all(b"cache-control: max-age=5" in head for head in heads)


async def test_whoever_wants_it_fresher_does_not_share_an_older_call(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    gate = asyncio.Event()
    upstream.respond = lambda seen: json_reply(chat_answer("x"), before_head=gate)
    settings = f"upstreams: [{{url: '{upstream.url}', reprise: true}}]"
    async with proxy(settings, upstream=None) as app, asyncio.TaskGroup() as group:
        group.create_task(ask(app.url))
        await upstream.received(1)
        group.create_task(ask(app.url, fields=[("Cache-Control", "max-age=5")]))
        await upstream.received(2)
        group.create_task(ask(app.url))
        await until(lambda: figure(app, "in_flight_requests") == 3)
        gate.set()
    assert upstream.calls == 2


async def test_only_if_cached_asks_nobody(proxy: StartProxy, upstream: ScriptedUpstream) -> None:
    async with proxy(ADMIN) as centre, proxy(before(centre), upstream=None) as edge:
        await ask(centre.url)
        answer = await ask(edge.url, fields=[("Cache-Control", "only-if-cached")])
    assert (answer.status, answer.json()["error"]["code"]) == (504, "only_if_cached_miss")


async def test_an_answer_that_the_centre_found_by_meaning_is_not_stored_as_another_s(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    upstream.respond = lambda seen: json_reply(
        chat_answer("near"), fields=[("x-cache-similarity", "0.9312"), ("x-cache-entry", "aa-1")]
    )
    async with proxy() as app:
        first, second = await ask(app.url), await ask(app.url)
        assert 'reprise_answers_total{verdict="meaning"} 2.0' in app.exposition().decode()
    assert not second.is_hit
    assert first.header("x-cache-similarity") == "0.9312"


@pytest.mark.parametrize("path", [CHAT, "/v1/models"])
async def test_a_circle_of_two_ends(proxy: StartProxy, path: str) -> None:
    """Each is the other's upstream."""
    target = ""

    async def relay(peer: Peer) -> None:
        # Stands between, for neither's address is known before both run.
        while True:
            head, body = await peer.read_request()
            method, _, rest = head.partition(b" ")
            lines = head.split(b"\r\n")[1:-2]
            fields = [
                (name.decode(), value.strip().decode())
                for name, _, value in (line.partition(b":") for line in lines)
                if name.lower() not in {b"host", b"content-length"}
            ]
            told = await call(
                target, method.decode(), rest.split()[0].decode(), fields=fields, body=body or None
            )
            await peer.send(
                b"HTTP/1.1 %d X\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b"
                % (told.status, len(told.body), told.body)
            )

    async with (
        RawUpstream(relay) as raw,
        proxy(upstream=raw.url) as one,
        proxy(upstream=one.url) as two,
    ):
        target = two.url
        async with asyncio.timeout(5):
            answer = await ask(one.url, path=path)
            again = await ask(two.url, path=path)
        assert figure(one, "entries") == figure(two, "entries") == 0
    for told in (answer, again):
        assert (told.status, told.json()["error"]["code"]) == (508, "loop_detected")


async def test_a_proxy_that_is_its_own_upstream_says_so(proxy: StartProxy) -> None:
    log: list[bytes] = []
    async with proxy(upstream="http://127.0.0.1:9", log=log) as app:
        many = ", ".join(["1.1 a"] * 40)
        answer = await ask(app.url, fields=[("Via", many)])
        assert (answer.status, answer.cache) == (508, "")
        assert answer.json()["error"]["code"] == "loop_detected"
        async with connect(app.url) as client:
            upgrade = [("Upgrade", "websocket"), ("Connection", "Upgrade"), ("Via", many)]
            refused = await client.ask("GET", "/v1/realtime", fields=upgrade)
    assert refused.status == 508


async def test_via_does_not_count_in_the_key(proxy: StartProxy, upstream: ScriptedUpstream) -> None:
    async with proxy() as app:
        await ask(app.url, fields=[("Via", "1.1 a")])
        assert (await ask(app.url, fields=[("Via", "1.1 b, 1.0 c")])).is_hit


async def feedback(url: str, entry: str, *, key: str = "key-a") -> Answer:
    """A client's word that an answer is wrong."""
    said = json.dumps({"entry": entry, "verdict": "wrong"}).encode()
    return await call(url, "POST", "/x-cache/feedback", fields=posting(key), body=said)


def passed_on(app: App, result: str) -> bool:
    """Whether one opinion came to this."""
    line = f'reprise_feedback_forwarded_total{{result="{result}"}} 1.0'
    return line in app.exposition().decode()


async def test_feedback_on_our_entry_reaches_the_centre(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    async with proxy(ADMIN) as centre, proxy(before(centre), upstream=None) as edge:
        await ask(centre.url)
        await ask(edge.url)
        name = (await ask(edge.url)).header("x-cache-entry") or ""
        assert name.count(".") == 1
        told = await feedback(edge.url, name)
        assert (told.status, told.json()["forwarded"]) == (200, True)
        await until(lambda: passed_on(edge, "taken"))
        assert figure(edge, "entries") == figure(centre, "entries") == 0
        assert (await ask(edge.url)).text == "answer 2"


async def test_what_was_wrong_does_not_come_again_from_a_centre_that_has_it_by_another_name(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    async with proxy(ADMIN) as centre, proxy(before(centre), upstream=None) as edge:
        await ask(edge.url)  # both store it, and neither has told the other how it calls it
        name = (await ask(edge.url)).header("x-cache-entry") or ""
        assert "." not in name
        await feedback(edge.url, name)
        assert (await ask(edge.url)).text == "answer 2"
        assert (await ask(edge.url)).text == "answer 2"
        assert (await ask(centre.url)).text == "answer 2"
    assert upstream.calls == 2


async def test_feedback_reaches_the_centre_also_when_our_entry_is_gone(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    async with proxy(ADMIN) as centre, proxy(before(centre), upstream=None) as edge:
        await ask(centre.url)
        await ask(edge.url)
        name = (await ask(edge.url)).header("x-cache-entry") or ""
        await admin(edge, "POST", "/admin/purge", b'{"all": true}')
        foreign = await feedback(edge.url, name, key="key-b")
        assert foreign.status == 202
        await until(lambda: passed_on(edge, "unknown"))
        assert figure(centre, "entries") == 1
        told = await feedback(edge.url, name)
        assert (told.status, told.json()["forwarded"]) == (202, True)
        await until(lambda: passed_on(edge, "taken"))
        assert figure(centre, "entries") == 0


async def test_feedback_by_the_centre_s_own_name_takes_ours_out_too(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    async with proxy(ADMIN) as centre, proxy(before(centre), upstream=None) as edge:
        await ask(centre.url)
        name = (await ask(edge.url)).header("x-cache-entry") or ""
        assert "." not in name
        assert (await feedback(edge.url, name)).status == 200
        await until(lambda: passed_on(edge, "taken"))
        assert figure(edge, "entries") == figure(centre, "entries") == 0


async def test_another_s_entry_is_no_way_to_the_centre(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    async with proxy(ADMIN) as centre, proxy(before(centre), upstream=None) as edge:
        await ask(centre.url)
        await ask(edge.url)
        name = (await ask(edge.url)).header("x-cache-entry") or ""
        assert (await feedback(edge.url, name, key="key-b")).status == 404
        assert (await feedback(edge.url, "no name")).status == 404
        assert figure(edge, "entries") == figure(centre, "entries") == 1


async def test_an_upstream_of_another_kind_is_told_nothing(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    settings = f"{ADMIN}upstreams: [{{url: '{upstream.url}', admin_url: '{upstream.url}'}}]"
    async with proxy(settings, upstream=None) as app:
        await ask(app.url)
        name = (await ask(app.url)).header("x-cache-entry") or ""
        assert "forwarded" not in (await feedback(app.url, name)).json()
        assert (await feedback(app.url, name)).status == 404
        told = await admin(app, "POST", "/admin/purge", b'{"all": true, "forward": true}')
    assert told.json() == {"purged": 0, "forwarded": []}
    assert upstream.calls == 1


async def test_an_opinion_is_sent_again_to_an_upstream_that_fails(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    settings = f"upstreams: [{{url: '{upstream.url}', reprise: true}}]"
    upstream.will(error_reply(503))
    async with proxy(settings, upstream=None) as app:
        assert (await feedback(app.url, "aa-1.bb-2")).status == 202
        await until(lambda: passed_on(app, "taken"))
    assert upstream.calls == 2
    assert upstream.requests[1].json() == {"entry": "bb-2", "verdict": "wrong"}
    assert upstream.requests[1].header("Authorization") == "Bearer key-a"


async def test_purges_and_epochs_go_on_to_the_centre(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    async with proxy(ADMIN) as centre, proxy(before(centre), upstream=None) as edge:
        await ask(centre.url, question("only there"))
        await ask(edge.url)
        body = b'{"model": "m*", "dry_run": true, "forward": true}'
        told = (await admin(edge, "POST", "/admin/purge", body)).json()
        assert (told["would_purge"], told["forwarded"][0]["would_purge"]) == (1, 2)
        told = (await admin(edge, "POST", "/admin/purge", b'{"all": true, "forward": true}')).json()
        there = {"upstream": centre.url, "purged": 2, "forwarded": []}
        assert told == {"purged": 1, "forwarded": [there]}
        await ask(edge.url)
        told = (
            await admin(edge, "POST", "/admin/epoch", b'{"model": "*", "forward": true}')
        ).json()
        assert told["forwarded"][0]["epoch"] == told["epoch"]
        await ask(edge.url)
        assert upstream.calls == 4
        listed = (await admin(centre, "GET", "/admin/audit")).json()["audit"]
        assert [one["action"] for one in listed] == ["epoch", "purge"]


async def test_a_centre_that_cannot_be_told_is_named(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    entry = f"url: '{upstream.url}', reprise: true, name: centre, admin_url: 'http://127.0.0.1:9'"
    async with proxy(f"{ADMIN}upstreams: [{{{entry}}}]", upstream=None) as app:
        told = (await admin(app, "POST", "/admin/purge", b'{"all": true, "forward": true}')).json()
    assert told["forwarded"][0]["upstream"] == "centre"
    assert "No connection" in told["forwarded"][0]["error"]


async def test_a_circle_of_admin_listeners_ends(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    async with proxy(ADMIN) as app:
        hop = app._hop
        fields = [("Authorization", f"Bearer {TOKEN}"), ("Via", f"1.1 {hop}")]
        for path, body in (("purge", b'{"all": true}'), ("epoch", b'{"model": "*"}')):
            told = await call(app.admin_url, "POST", f"/admin/{path}", fields=fields, body=body)
            assert told.status == 508
        assert (await admin(app, "GET", "/admin/audit")).json() == {"audit": []}


async def test_followers_of_a_call_hear_what_caches_said(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    gate = asyncio.Event()
    fields = [("Age", "7"), ("Cache-Status", "other; hit"), ("Set-Cookie", "a=1")]
    upstream.respond = lambda seen: sse_reply(b"data: 1\n\n", gate, fields=fields)
    async with proxy() as app, asyncio.TaskGroup() as group:
        asked = [group.create_task(ask(app.url, question(stream=True)))]
        await upstream.received(1)
        asked.append(group.create_task(ask(app.url, question(stream=True))))
        await until(lambda: figure(app, "in_flight_requests") == 2)
        gate.set()
    told = asked[1].result()
    assert told.headers("Age") == ["7"]
    assert caches(told) == ["other; hit", "reprise; fwd=miss; fwd-status=200; collapsed"]
    assert told.header("Set-Cookie") is None
