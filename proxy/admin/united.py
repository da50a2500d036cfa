"""The admin listener of several workers, which shows them as one.

Each worker has the routes of proxy/admin/routes.py on a socket of its own. A question goes to one
worker or to all, as its answer needs; what changes something goes to all.
"""

import asyncio
import contextlib
import logging
import socket
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import aiohttp
import orjson
from aiohttp import web
from multidict import CIMultiDict
from yarl import URL

from proxy.admin import merge
from proxy.admin.answer import MAX_LIMIT, error_answer, json_answer, limit_of
from proxy.admin.listener import MAX_BODY_BYTES, guard, wants_detail
from proxy.admin.merge import Answer, Json, Merge
from proxy.telemetry.metrics import CONTENT_TYPE
from proxy.telemetry.united import Page, UnitedMetrics

QUIET = "reprise.aiohttp"
"""A logger that proxy/app.py has disabled, for aiohttp would print what operators send."""
ASK_SECONDS = 60.0
"""Explaining may wait for an encoder to be loaded."""
HEALTH_SECONDS = 1.0
"""As long as Kubernetes waits for a probe, unless told otherwise."""
METRICS_SECONDS = 5.0

RESTARTING = "restarting"
"""The state in which all workers have died and are being begun again."""
_READING = ("GET", "HEAD")
_BETWEEN_TWO = {"connection", "content-length", "host", "keep-alive", "transfer-encoding"}
"""Fields of a request that are about its connection."""


class Member(NamedTuple):
    """A worker that has begun to serve and has not ended."""

    number: int
    run: int
    """How many processes of this number there were before; one that died is begun again."""
    socket: str
    """The path of its admin listener's socket."""


Ask: TypeAlias = Callable[[Member], Coroutine[Any, Any, Answer | None]]
"""Asks one worker; gets None where it has died, SILENT where it does not answer in time."""
SILENT = Answer(
    504, b'{"error": {"message": "A worker does not answer in time."}}', "application/json"
)


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
                web.post("/admin/purge", united.of_all(merge.purges)),
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
        answers = await self._ask_all(_asking(request, seconds=HEALTH_SECONDS))
        stuck = [str(member.number) for member, answer in answers if answer is SILENT]
        if stuck:
            return web.Response(text=f"no answer from worker {', '.join(stuck)}\n", status=503)
        if not answers and self._fleet.state() == RESTARTING:
            return web.Response(text="no worker runs\n", status=503)
        return web.Response(text="ok\n")

    async def readyz(self, request: web.Request) -> web.Response:
        """At least one worker takes requests."""
        asking = _asking(request, target=URL("/readyz?verbose"), seconds=HEALTH_SECONDS)
        told = {
            str(member.number): {"state": "silent"} if answer is SILENT else _read(answer)
            for member, answer in await self._ask_all(asking)
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
        """Prometheus' text format."""
        answers = await self._ask_all(_asking(request, seconds=METRICS_SECONDS))
        pages = [
            Page(member.number, member.run, answer.body.decode())
            for member, answer in answers
            if answer is not None and not answer.is_error
        ]
        body = self._metrics.exposition(
            pages, workers=len(self._fleet.members()), restarts=self._fleet.restarts()
        )
        return web.Response(body=body, headers={"Content-Type": CONTENT_TYPE})

    async def version(self, request: web.Request) -> web.StreamResponse:
        """What is running, and how often."""
        return await self.of_all(lambda told: {**told[0], "workers": self._fleet.count})(request)

    async def reload(self, request: web.Request) -> web.StreamResponse:
        """All take over the file's configuration."""
        answers = await self._heard(request, _asking(request, await request.read()))
        told = [one for one in map(_read, answers) if "problems" in one]
        if len(told) < len(answers) or not told:
            return _response(answers)
        result = merge.reloads(told)
        return json_answer(result, status=400 if result["problems"] else 200)

    def of_all(self, merged: Merge) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        """A handler that asks all, and joins what those say that did as asked."""

        async def handle(request: web.Request) -> web.StreamResponse:
            return await self._joined(request, _asking(request, await request.read()), merged)

        return handle

    def ranked(
        self, merged: Callable[[Sequence[Json], int], Json]
    ) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        """As `of_all`, of the rows with the most: what has much in sum may have little in each."""

        async def handle(request: web.Request) -> web.StreamResponse:
            limit = limit_of(request)
            target = request.rel_url
            if limit is None:  # a worker says what is wrong with it
                return await self._joined(request, _asking(request), lambda told: told[0])
            all_rows = target.update_query(limit=MAX_LIMIT)
            return await self._joined(
                request, _asking(request, target=all_rows), lambda told: merged(told, limit)
            )

        return handle

    async def explain(self, request: web.Request) -> web.StreamResponse:
        """What the first worker says that would give an answer; else what the first says."""
        ask = _asking(request, await request.read())
        answers: list[Answer] = []
        for member in self._fleet.members():
            answer = await ask(member)
            if answer is not None:
                answers.append(answer)
                if _read(answer).get("outcome") == "hit":
                    return _response([answer])
        return _response(answers)

    async def anything(self, request: web.Request) -> web.StreamResponse:
        """Ask one where nothing is changed, else all: the first that did so, or the worst error."""
        if request.method not in _READING:
            asking = _asking(request, await request.read())
            return _response(await self._heard(request, asking))
        async with contextlib.AsyncExitStack() as stack:
            for member in self._fleet.members():
                response = await _begun(request, member, stack)
                if response is not None:
                    return await _relayed(request, response)
        return _response([])

    async def _joined(self, request: web.Request, ask: Ask, merged: Merge) -> web.StreamResponse:
        answers = await self._heard(request, ask)
        told = [_read(answer) for answer in answers if not answer.is_error]
        return json_answer(merged(told)) if told else _response(answers)

    async def _heard(self, request: web.Request, ask: Ask) -> list[Answer]:
        """What those say that live; where something is changed, all of them must have heard."""
        answers = [answer for _, answer in await self._ask_all(ask) if answer is not None]
        if SILENT in answers and request.method not in _READING:
            return [SILENT]
        return answers

    async def _ask_all(self, ask: Ask) -> list[tuple[Member, Answer | None]]:
        members = sorted(self._fleet.members())
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(ask(member)) for member in members]
        return [(member, task.result()) for member, task in zip(members, tasks, strict=True)]


def _asking(
    request: web.Request,
    body: bytes = b"",
    *,
    target: URL | None = None,
    seconds: float | None = None,
) -> Ask:
    async def ask(member: Member) -> Answer | None:
        try:
            async with (
                asyncio.timeout(ASK_SECONDS if seconds is None else seconds),
                _session(member) as session,
                _sent(session, request, target or request.rel_url, body) as response,
            ):
                content_type = response.headers.get("Content-Type", "")
                return Answer(response.status, await response.read(), content_type)
        except TimeoutError:
            return SILENT
        except (OSError, aiohttp.ClientError):
            return None

    return ask


async def _begun(
    request: web.Request, member: Member, stack: contextlib.AsyncExitStack
) -> aiohttp.ClientResponse | None:
    """The head of one worker's answer; None where there is none. `stack` ends the exchange."""
    session = await stack.enter_async_context(_session(member))
    try:
        async with asyncio.timeout(ASK_SECONDS):
            return await stack.enter_async_context(_sent(session, request, request.rel_url, b""))
    except (OSError, aiohttp.ClientError):
        return None


async def _relayed(request: web.Request, response: aiohttp.ClientResponse) -> web.StreamResponse:
    """A worker's answer, piece by piece. What fails in its middle ends the connection."""
    fields = [(n, v) for n, v in response.headers.items() if n.lower() not in _BETWEEN_TWO]
    told = web.StreamResponse(status=response.status, headers=CIMultiDict(fields))
    await told.prepare(request)
    async for piece in response.content.iter_any():
        await told.write(piece)
    await told.write_eof()
    return told


def _session(member: Member) -> aiohttp.ClientSession:
    """For one exchange: nothing is left over that a worker's death could break."""
    return aiohttp.ClientSession(
        connector=aiohttp.UnixConnector(member.socket, force_close=True),
        timeout=aiohttp.ClientTimeout(total=None),
        auto_decompress=False,
    )


def _sent(
    session: aiohttp.ClientSession, request: web.Request, target: URL, body: bytes
) -> "contextlib.AbstractAsyncContextManager[aiohttp.ClientResponse]":
    fields = [(n, v) for n, v in request.headers.items() if n.lower() not in _BETWEEN_TWO]
    return session.request(
        request.method,
        URL("http://worker").join(target),
        headers=fields,
        data=body or None,
        skip_auto_headers=("Accept", "Accept-Encoding", "Content-Type", "User-Agent"),
        allow_redirects=False,
    )


def _response(answers: Sequence[Answer]) -> web.Response:
    if not answers:
        return error_answer(503, "No worker answers; try again in a second.")
    answer = merge.chosen(answers)
    return web.Response(
        status=answer.status, body=answer.body, headers={"Content-Type": answer.content_type}
    )


def _read(answer: Answer) -> Json:
    """A worker's JSON; nothing where it said something else."""
    try:
        told = orjson.loads(answer.body)
    except orjson.JSONDecodeError:
        return {}
    return told if isinstance(told, dict) else {}
