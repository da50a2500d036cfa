"""However a call to an upstream ends, it is counted once and no longer under way."""

import asyncio

import pytest
from aiohttp.test_utils import unused_port

from proxy.core.errors import UpstreamBroken, UpstreamTimeout, UpstreamUnreachable
from proxy.core.policy import Deadlines
from proxy.ports import UpstreamRequest
from proxy.telemetry.load import CUT, UpstreamLoad
from proxy.upstream.client import AiohttpUpstream
from tests.fakes.upstream import (
    End,
    ScriptedUpstream,
    error_reply,
    hang_up,
    json_reply,
    silence,
    sse_reply,
)
from tests.upstream.requests import read, request


def named(url: str, deadlines: Deadlines | None = None) -> UpstreamRequest:
    """A request to the upstream "u"."""
    return request(url, deadlines=deadlines)._replace(upstream="u")


def ended(load: UpstreamLoad) -> dict[str, float]:
    """What came of calls; all have ended."""
    assert set(load.under_way.values()) <= {0}
    requests, *_ = load.collect()
    return {one.labels["result"]: one.value for one in requests.samples if one.value}


@pytest.mark.parametrize(
    ("status", "result"), [(200, "2xx"), (404, "4xx"), (429, "429"), (503, "5xx")]
)
async def test_an_answer_that_came_whole(
    client: AiohttpUpstream,
    upstream: ScriptedUpstream,
    load: UpstreamLoad,
    status: int,
    result: str,
) -> None:
    upstream.will(json_reply({}) if status == 200 else error_reply(status))
    await read(await client.send(named(upstream.url)))
    assert ended(load) == {result: 1}


async def test_a_call_is_under_way_until_its_body_has_ended(
    client: AiohttpUpstream, upstream: ScriptedUpstream, load: UpstreamLoad
) -> None:
    more = asyncio.Event()
    upstream.will(sse_reply(b"one", more, b"two"))
    reply = await client.send(named(upstream.url))
    assert load.under_way == {("u",): 1}
    more.set()
    await read(reply)
    assert ended(load) == {"2xx": 1}


async def test_an_answer_without_a_body(
    client: AiohttpUpstream, upstream: ScriptedUpstream, load: UpstreamLoad
) -> None:
    reply = await client.send(named(upstream.url)._replace(method="HEAD", body=None, length=None))
    await reply.body.aclose()
    assert sum(ended(load).values()) == 1


async def test_an_answer_that_nobody_wants_the_rest_of(
    client: AiohttpUpstream, upstream: ScriptedUpstream, load: UpstreamLoad
) -> None:
    upstream.will(sse_reply(b"one", asyncio.Event()))
    reply = await client.send(named(upstream.url))
    await anext(aiter(reply.body))
    await reply.body.aclose()
    assert ended(load) == {CUT: 1}


@pytest.mark.parametrize("end", [End.FIN, End.RST])
async def test_an_answer_that_broke_off(
    client: AiohttpUpstream, upstream: ScriptedUpstream, load: UpstreamLoad, end: End
) -> None:
    upstream.will(sse_reply(b"one", end=end), hang_up(end))
    reply = await client.send(named(upstream.url))
    with pytest.raises(UpstreamBroken):
        await read(reply)
    await reply.body.aclose()
    with pytest.raises(UpstreamBroken):
        await client.send(named(upstream.url))
    assert ended(load) == {UpstreamBroken.code: 2}


async def test_an_answer_that_is_late(
    client: AiohttpUpstream, upstream: ScriptedUpstream, load: UpstreamLoad
) -> None:
    upstream.will(silence(), sse_reply(b"one", asyncio.Event()))
    with pytest.raises(UpstreamTimeout):
        await client.send(named(upstream.url, Deadlines(first_byte=0.05)))
    reply = await client.send(named(upstream.url, Deadlines(between_bytes=0.05)))
    with pytest.raises(UpstreamTimeout):
        await read(reply)
    await reply.body.aclose()
    assert ended(load) == {UpstreamTimeout.code: 2}


async def test_an_upstream_that_is_not_there(client: AiohttpUpstream, load: UpstreamLoad) -> None:
    with pytest.raises(UpstreamUnreachable):
        await client.send(named(f"http://127.0.0.1:{unused_port()}"))
    assert ended(load) == {UpstreamUnreachable.code: 1}


async def test_a_call_that_is_given_up_while_it_waits(
    client: AiohttpUpstream, upstream: ScriptedUpstream, load: UpstreamLoad
) -> None:
    upstream.will(silence(), silence(), silence())
    async with asyncio.TaskGroup() as group:  # the third waits for a connection
        tasks = [group.create_task(client.send(named(upstream.url))) for _ in range(3)]
        await upstream.received(2)
        for task in tasks:
            task.cancel()
    assert ended(load) == {CUT: 3}
