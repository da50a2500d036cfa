"""How an application tells that it is, from its start to its end."""

import asyncio

from tests.conftest import StartProxy
from tests.fakes.client import ask
from tests.fakes.upstream import ScriptedUpstream, sse_reply
from tests.watch import figure, until


async def test_figures_are_at_rest_when_nothing_happens(proxy: StartProxy) -> None:
    async with proxy() as app:
        await ask(app.url)
        for name in ("in_flight_requests", "flights"):
            assert figure(app, name) == 0
        assert figure(app, "entries") == 1


async def test_it_is_ready_while_it_takes_requests(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    gate = asyncio.Event()
    upstream.will(sse_reply(b": hi\n\n", gate))
    async with proxy() as app, asyncio.TaskGroup() as group:
        await until(lambda: app.condition.state() == "ok")
        url, app.url = app.url, ""
        assert app.condition.state() == "starting"
        app.url = url
        group.create_task(ask(app.url))
        await upstream.received(1)
        stopping = group.create_task(app.stop())
        await until(lambda: app.condition.state() == "draining")
        gate.set()
        await stopping


async def test_parts_and_tasks_are_told_in_detail(proxy: StartProxy) -> None:
    async with proxy() as app:
        told = app.condition.detail()
        assert told["parts"] == {"semantic": "off"}
        assert "watch-config" in str(told["tasks"])
