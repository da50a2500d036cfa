"""One question put to a proxy, whatever comes of it."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from proxy.cli import warm_client
from proxy.cli.warm_client import Outcome, StopError, StoppedError, Told, WarmClient
from proxy.cli.warm_input import Entry
from tests.fakes.answers import chat_answer
from tests.fakes.upstream import (
    Pairs,
    Reply,
    ScriptedUpstream,
    Seen,
    error_reply,
    hang_up,
    json_reply,
)

ENTRY = Entry("/v1/chat/completions", {"model": "m", "messages": []})
STORED = "reprise; fwd=miss; fwd-status=200; stored"
BUSY = {"error": {"code": "background_busy"}}


def told_by(cache: str, **members: object) -> Reply:
    return json_reply(chat_answer("x") | members, fields=[("Cache-Status", cache)])


@pytest.fixture
async def server(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[ScriptedUpstream]:
    """It stands for the proxy."""
    monkeypatch.setattr(warm_client, "FIRST_PAUSE", 0.01)
    async with ScriptedUpstream() as scripted:
        yield scripted


async def put(server: ScriptedUpstream, fields: Pairs = ()) -> Told:
    client = WarmClient(f"{server.url}/", list(fields))
    return await asyncio.to_thread(client.ask, ENTRY)


USAGE = {"usage": {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}}


@pytest.mark.parametrize(
    ("reply", "outcome", "tokens"),
    [
        (told_by(STORED, **USAGE), Outcome.STORED, 7),
        (told_by(STORED, usage={"prompt_tokens": 3}), Outcome.STORED, 3),
        (told_by(STORED, usage=None), Outcome.STORED, 0),
        (told_by("reprise; hit; ttl=5; detail=exact", **USAGE), Outcome.HIT, 0),
        (told_by(f"reprise; fwd=miss, {STORED}", **USAGE), Outcome.STORED, 7),
        (told_by("reprise; fwd=miss; fwd-status=200; collapsed", **USAGE), Outcome.HIT, 0),
        (told_by("reprise; fwd=miss; fwd-status=200", **USAGE), Outcome.UNSTORED, 7),
        (told_by("reprise; fwd=bypass; fwd-status=200", **USAGE), Outcome.UNSTORED, 7),
        (error_reply(400), Outcome.REFUSED, 0),
        (error_reply(404), Outcome.REFUSED, 0),
        (error_reply(501), Outcome.FAILED, 0),
    ],
)
async def test_what_came_of_it_is_told_by_the_head(
    server: ScriptedUpstream, reply: Reply, outcome: Outcome, tokens: int
) -> None:
    server.will(reply)
    assert await put(server, [("Authorization", "Bearer ключ")]) == Told(outcome, tokens)
    seen = server.requests[0]
    assert (seen.target, seen.json()) == (ENTRY.target, ENTRY.body)
    assert seen.header("x-cache-priority") == "background"
    assert dict(seen.fields)[b"Authorization"].decode() == "Bearer ключ"


async def test_a_proxy_that_has_no_room_is_asked_until_it_has(server: ScriptedUpstream) -> None:
    busy = json_reply(BUSY, status=429, fields=[("Retry-After", "0")])
    server.will(*[busy] * 9, told_by(STORED))
    assert (await put(server)).outcome is Outcome.STORED
    assert server.calls == 10


async def test_an_upstream_that_stays_broken_is_given_up(server: ScriptedUpstream) -> None:
    server.respond = lambda seen: error_reply(503)
    assert await put(server) == Told(Outcome.FAILED)
    assert server.calls == warm_client.TRIES


async def test_a_broken_connection_is_tried_again(server: ScriptedUpstream) -> None:
    server.will(hang_up(), hang_up(), told_by(STORED))
    assert (await put(server)).outcome is Outcome.STORED
    server.respond = lambda seen: hang_up()
    with pytest.raises(StopError, match="no proxy answers"):
        await put(server)


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (error_reply(401), "--api-key"),
        (error_reply(403), "--api-key"),
        (json_reply(chat_answer("x")), "no Reprise"),
        (told_by("other; hit"), "no Reprise"),
    ],
)
async def test_what_concerns_all_questions_ends_it(
    server: ScriptedUpstream, reply: Reply, why: str
) -> None:
    server.will(reply)
    with pytest.raises(StopError, match=why):
        await put(server)


async def test_stop_ends_what_is_under_way_and_what_waits(server: ScriptedUpstream) -> None:
    def respond(seen: Seen) -> Reply:
        if server.calls == 1:
            return json_reply(BUSY, status=429, fields=[("Retry-After", "50")])
        return json_reply({}, before_head=asyncio.Event())

    server.respond = respond
    client = WarmClient(server.url, [])
    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        asked = [group.create_task(_stopped(client)) for _ in range(2)]
        await server.received(2)
        client.stop()
    assert all(one.result() for one in asked)
    assert await _stopped(client)


async def _stopped(client: WarmClient) -> bool:
    with pytest.raises(StoppedError):
        await asyncio.to_thread(client.ask, ENTRY)
    return True


@pytest.mark.parametrize("url", ["localhost:8080", "ftp://h", "http://", "http://h:99999", ""])
def test_what_is_no_url_is_told(url: str) -> None:
    with pytest.raises(StopError, match="is not a URL"):
        WarmClient(url, [])
