"""The second listener: health, metrics, reload, purge, what is told of questions (design 11)."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from aiohttp import web

from proxy.admin.answer import MAX_LIMIT, error_answer, json_answer, limit_of
from proxy.admin.invalidation import Invalidation, actor
from proxy.admin.listener import MAX_BODY_BYTES, as_bytes, guard, wants_detail
from proxy.admin.questions import Questions
from proxy.admin.sets import Sets
from proxy.core.errors import BadRequest
from proxy.core.model import Fields, Request
from proxy.pipeline import feedback
from proxy.pipeline.feedback import Opinion
from proxy.telemetry.exposition import Exposition
from proxy.telemetry.tally import By

Json: TypeAlias = dict[str, Any]

CHAT = "/v1/chat/completions"
"""The path of a request to explain, unless told otherwise."""
_STANDS_FOR = "x-explain-"
"""A header of this name and NAME stands for the client's header NAME."""


@dataclass(frozen=True, slots=True)
class Controls:
    """What the application lets the listener see and do."""

    version: Json
    token: str
    """What must be shown for all that changes state or tells of configuration."""
    state: Callable[[], str]
    """"ok" where requests are taken, else why the listener is not ready."""
    detail: Callable[[], Json]
    """How background tasks and parts are doing; none of it makes the listener unready."""
    metrics: Callable[[str], Exposition]
    """All metrics, in a format that the Accept field names."""
    config: Callable[[], Json]
    reload: Callable[[], Awaitable[Json]]
    """Reload the configuration; "problems" in the answer means that nothing was changed."""
    invalidation: Invalidation
    sets: Sets
    questions: Questions
    feedback: Callable[[Opinion, str], Awaitable[bool]]
    """Act on an opinion of somebody; False where there is no such entry."""


def application(controls: Controls) -> web.Application:
    """The listener's routes."""
    admin = _Admin(controls)
    app = web.Application(middlewares=[guard(controls.token)], client_max_size=MAX_BODY_BYTES)
    app.add_routes(
        [
            web.get("/livez", admin.livez),
            web.get("/readyz", admin.readyz),
            web.get("/metrics", admin.metrics),
            web.get("/version", admin.version),
            web.get("/admin/config", admin.config),
            web.post("/admin/reload", admin.reload),
            web.post("/admin/purge", controls.invalidation.purge),
            web.delete("/admin/entries/{id}", controls.invalidation.delete_entry),
            web.get("/admin/epochs", controls.invalidation.epochs),
            web.post("/admin/epoch", controls.invalidation.epoch),
            web.get("/admin/audit", controls.invalidation.audit),
            web.get("/admin/export", controls.sets.export),
            web.post("/admin/import", controls.sets.take_in),
            web.get("/admin/top", admin.top),
            web.get("/admin/misses", admin.misses),
            web.get("/admin/models", admin.models),
            web.post("/admin/explain", admin.explain),
            web.post("/admin/feedback", admin.feedback),
        ]
    )
    return app


class _Admin:
    def __init__(self, controls: Controls) -> None:
        self._controls = controls

    async def livez(self, request: web.Request) -> web.Response:
        """The event loop runs: that is all that is asked (design 14)."""
        return web.Response(text="ok\n")

    async def readyz(self, request: web.Request) -> web.Response:
        """The listener is up and takes requests; neither the upstream nor a store counts."""
        state = self._controls.state()
        status = 200 if state == "ok" else 503
        if wants_detail(request):
            return json_answer({"state": state, **self._controls.detail()}, status)
        return web.Response(text=f"{state}\n", status=status)

    async def metrics(self, request: web.Request) -> web.Response:
        """OpenMetrics where the scraper takes it, else Prometheus' text format."""
        told = self._controls.metrics(request.headers.get("Accept", ""))
        return web.Response(body=told.body, headers={"Content-Type": told.content_type})

    async def version(self, request: web.Request) -> web.Response:
        """What is running."""
        return json_answer(self._controls.version)

    async def config(self, request: web.Request) -> web.Response:
        """The configuration in force, without secrets."""
        return json_answer(self._controls.config())

    async def reload(self, request: web.Request) -> web.Response:
        """Take over the file's configuration now."""
        result = await self._controls.reload()
        return json_answer(result, status=400 if result.get("problems") else 200)

    async def top(self, request: web.Request) -> web.Response:
        """The answers that are given most."""
        by, limit = request.query.get("by", By.HITS), limit_of(request)
        if by not in tuple(By):
            return error_answer(400, f"by must be one of {', '.join(By)}.")
        if limit is None:
            return error_answer(400, _LIMIT_FORM)
        return json_answer(self._controls.questions.top(By(by), limit))

    async def misses(self, request: web.Request) -> web.Response:
        """The questions that are missed most."""
        limit = limit_of(request)
        if limit is None:
            return error_answer(400, _LIMIT_FORM)
        return json_answer(await self._controls.questions.misses(limit))

    async def models(self, request: web.Request) -> web.Response:
        """The models whose answers are stored."""
        return json_answer(await self._controls.questions.models())

    async def explain(self, request: web.Request) -> web.Response:
        """What would happen to a request with this body."""
        target = request.query.get("path", CHAT)
        if not target.startswith("/"):
            return error_answer(400, "path must begin with a slash.")
        asked = _as_client(request, target, await request.read())
        return json_answer(await self._controls.questions.explain(asked))

    async def feedback(self, request: web.Request) -> web.Response:
        """Take the operator's word on an answer; it may be anybody's."""
        try:
            opinion = feedback.read(await request.read())
        except BadRequest as error:
            return error_answer(400, error.message)
        if not await self._controls.feedback(opinion, actor(request)):
            return error_answer(404, "There is no such entry.")
        return json_answer({"entry": opinion.entry, "verdict": opinion.verdict})


_LIMIT_FORM = f"limit must be a whole number from 0 to {MAX_LIMIT}."


def _as_client(request: web.Request, target: str, body: bytes) -> Request:
    """The request that is asked about: with x-cache-* as they are, x-explain-NAME as NAME."""
    fields = []
    for name, value in request.headers.items():
        if name.lower().startswith(_STANDS_FOR):
            fields.append((name[len(_STANDS_FOR) :], value))
        elif name.lower().startswith("x-cache-"):
            fields.append((name, value))
    if not any(name.lower() == "content-type" for name, _ in fields):
        fields.append(("Content-Type", "application/json"))

    def header(name: str) -> str | None:
        values = [value for field, value in fields if field.lower() == name.lower()]
        return ", ".join(values) if values else None

    wire: Fields = tuple((name.encode(), as_bytes(value)) for name, value in fields)
    return Request("POST", target, target.partition("?")[0], wire, header, body, len(body))
