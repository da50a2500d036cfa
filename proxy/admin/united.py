"""The admin listener of several workers, which shows them as one.

Each worker has the routes of proxy/admin/routes.py on a socket of its own. A question goes to one
worker or to all, as its answer needs; what changes something goes to all.
"""

import asyncio
import contextlib
import logging
import socket
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

import orjson
from aiohttp import web
from yarl import URL

from proxy.admin import merge
from proxy.admin.answer import MAX_LIMIT, error_answer, json_answer, limit_of
from proxy.admin.listener import MAX_BODY_BYTES, guard, wants_detail
from proxy.admin.member import SILENT, Ask, Member, asking, begun, read, relayed
from proxy.admin.merge import Answer, Json, Merge
from proxy.telemetry.exposition import OPENMETRICS
from proxy.telemetry.united import Page, UnitedMetrics

QUIET = "reprise.aiohttp"
"""A logger that proxy/app.py has disabled, for aiohttp would print what operators send."""
HEALTH_SECONDS = 1.0
"""As long as Kubernetes waits for a probe, unless told otherwise."""
METRICS_SECONDS = 5.0

RESTARTING = "restarting"
"""The state in which all workers have died and are being begun again."""
_READING = ("GET", "HEAD")


@dataclass(frozen=True, slots=True)
class Fleet:
    """What is told of the workers."""

    count: int
    """How many there should be."""
    token: str
    members: Callable[[], Sequence[Member]]
    restarts: Callable[[], int]
    state: Callable[[], str]
    """What is to be said where no worker says anything: starting, restarting or draining."""


class UnitedListener:
    """Serves the operator of all workers."""

    def __init__(self, fleet: Fleet) -> None:
        united = _United(fleet)
        app = web.Application(middlewares=[guard(fleet.token)], client_max_size=MAX_BODY_BYTES)
        app.add_routes(
            [
                web.get("/livez", united.livez),
                web.get("/readyz", united.readyz),
                web.get("/metrics", united.metrics),
                web.get("/version", united.version),
                web.post("/admin/reload", united.reload),
                web.post("/admin/purge", united.led(merge.without_forward, merge.purges)),
                web.post("/admin/epoch", united.led(merge.same_epoch, lambda told: told[0])),
                web.post("/admin/import", united.of_one),
                web.delete("/admin/entries/{id}", united.of_all(merge.purges)),
                web.get("/admin/models", united.of_all(merge.models)),
                web.get("/admin/top", united.ranked(merge.top)),
                web.get("/admin/misses", united.ranked(merge.misses)),
                web.post("/admin/explain", united.explain),
                web.route("*", "/{path:.*}", united.anything),
            ]
        )
        self._runner = web.AppRunner(
            app, access_log=None, logger=logging.getLogger(QUIET), shutdown_timeout=1.0
        )

    async def start(self, listener: socket.socket) -> None:
        """Listen on a socket that is bound."""
        await self._runner.setup()
        await web.SockSite(self._runner, listener).start()

    async def stop(self) -> None:
        """Listen no more."""
        await self._runner.cleanup()


class _United:
    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._metrics = UnitedMetrics()

    async def livez(self, request: web.Request) -> web.Response:
        """Every worker's event loop runs; one that is being begun again does not count."""
        answers = await self._ask_all(asking(request, seconds=HEALTH_SECONDS))
        stuck = [str(member.number) for member, answer in answers if answer is SILENT]
        if stuck:
            return web.Response(text=f"no answer from worker {', '.join(stuck)}\n", status=503)
        if not answers and self._fleet.state() == RESTARTING:
            return web.Response(text="no worker runs\n", status=503)
        return web.Response(text="ok\n")

    async def readyz(self, request: web.Request) -> web.Response:
        """At least one worker takes requests."""
        asks = asking(request, target=URL("/readyz?verbose"), seconds=HEALTH_SECONDS)
        told = {
            str(member.number): {"state": "silent"} if answer is SILENT else read(answer)
            for member, answer in await self._ask_all(asks)
            if answer is not None
        }
        states = [worker.get("state", "") for worker in told.values()]
        state = "ok" if "ok" in states else next(iter(states), self._fleet.state())
        status = 200 if state == "ok" else 503
        if not wants_detail(request):
            return web.Response(text=f"{state}\n", status=status)
        for number in range(1, self._fleet.count + 1):
            told.setdefault(str(number), {"state": self._fleet.state()})
        return json_answer({"state": state, "workers": told}, status)

    async def metrics(self, request: web.Request) -> web.Response:
        """OpenMetrics where the scraper takes it, else Prometheus' text format."""
        asks = asking(request, seconds=METRICS_SECONDS, accept=OPENMETRICS)
        answers = await self._ask_all(asks)
        pages = [
            Page(member.number, member.run, answer.body.decode())
            for member, answer in answers
            if answer is not None and not answer.is_error
        ]
        told = self._metrics.exposition(
            pages,
            workers=len(self._fleet.members()),
            restarts=self._fleet.restarts(),
            accept=request.headers.get("Accept", ""),
        )
        return web.Response(body=told.body, headers={"Content-Type": told.content_type})

    async def version(self, request: web.Request) -> web.StreamResponse:
        """What is running, and how often."""
        return await self.of_all(lambda told: {**told[0], "workers": self._fleet.count})(request)

    async def reload(self, request: web.Request) -> web.StreamResponse:
        """All take over the file's configuration."""
        answers = await self._heard(request, asking(request, await request.read()))
        told = [one for one in map(read, answers) if "problems" in one]
        if len(told) < len(answers) or not told:
            return _response(answers)
        result = merge.reloads(told)
        return json_answer(result, status=400 if result["problems"] else 200)

    def of_all(self, merged: Merge) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        """A handler that asks all, and joins what those say that did as asked."""

        async def handle(request: web.Request) -> web.StreamResponse:
            return await self._joined(request, asking(request, await request.read()), merged)

        return handle

    def led(
        self, onward: Callable[[Json, Json], Json], merged: Merge
    ) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        """A handler that has one worker do something, and then the others the same.

        `onward` makes the body for the others, of the one that came and of what the first said.
        """

        async def handle(request: web.Request) -> web.StreamResponse:
            body = await request.read()
            members = sorted(self._fleet.members())
            first = None
            while members and first is None:
                first = await asking(request, body)(members.pop(0))
            if first is None or first.is_error:
                return _response([first] if first else [])
            rest = orjson.dumps(onward(orjson.loads(body), read(first)))
            others = await self._heard(request, asking(request, rest), members)
            failed = [answer for answer in others if answer.is_error]
            return (
                _response(failed)
                if failed
                else json_answer(merged([read(answer) for answer in (first, *others)]))
            )

        return handle

    def ranked(
        self, merged: Callable[[Sequence[Json], int], Json]
    ) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        """As `of_all`, of the rows with the most: what has much in sum may have little in each."""

        async def handle(request: web.Request) -> web.StreamResponse:
            limit = limit_of(request)
            target = request.rel_url
            if limit is None:  # a worker says what is wrong with it
                return await self._joined(request, asking(request), lambda told: told[0])
            all_rows = target.update_query(limit=MAX_LIMIT)
            return await self._joined(
                request, asking(request, target=all_rows), lambda told: merged(told, limit)
            )

        return handle

    async def explain(self, request: web.Request) -> web.StreamResponse:
        """What the first worker says that would give an answer; else what the first says."""
        ask = asking(request, await request.read())
        answers: list[Answer] = []
        for member in self._fleet.members():
            answer = await ask(member)
            if answer is not None:
                answers.append(answer)
                if read(answer).get("outcome") == "hit":
                    return _response([answer])
        return _response(answers)

    async def of_one(self, request: web.Request) -> web.StreamResponse:
        """Ask one, piece by piece in both directions."""
        body = request.content if request.can_read_body else None
        async with contextlib.AsyncExitStack() as stack:
            for member in self._fleet.members():
                response = await begun(request, member, body, stack)
                if response is not None:
                    return await relayed(request, response)
                if body is not None:
                    break  # it may have been taken in part
        return _response([])

    async def anything(self, request: web.Request) -> web.StreamResponse:
        """Ask one where nothing is changed, else all: the first that did so, or the worst error."""
        if request.method in _READING:
            return await self.of_one(request)
        return _response(await self._heard(request, asking(request, await request.read())))

    async def _joined(self, request: web.Request, ask: Ask, merged: Merge) -> web.StreamResponse:
        answers = await self._heard(request, ask)
        told = [read(answer) for answer in answers if not answer.is_error]
        return json_answer(merged(told)) if told else _response(answers)

    async def _heard(
        self, request: web.Request, ask: Ask, members: Sequence[Member] | None = None
    ) -> list[Answer]:
        """What those say that live; where something is changed, all of them must have heard."""
        told = await self._ask_all(ask, members)
        answers = [answer for _, answer in told if answer is not None]
        if SILENT in answers and request.method not in _READING:
            return [SILENT]
        return answers

    async def _ask_all(
        self, ask: Ask, members: Sequence[Member] | None = None
    ) -> list[tuple[Member, Answer | None]]:
        members = sorted(self._fleet.members()) if members is None else members
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(ask(member)) for member in members]
        return [(member, task.result()) for member, task in zip(members, tasks, strict=True)]


def _response(answers: Sequence[Answer]) -> web.Response:
    if not answers:
        return error_answer(503, "No worker answers; try again in a second.")
    answer = merge.chosen(answers)
    return web.Response(
        status=answer.status, body=answer.body, headers={"Content-Type": answer.content_type}
    )
