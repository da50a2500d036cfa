"""The second listener: health, metrics, reload, purge (design 11)."""

import hmac
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import orjson
from aiohttp import web

from proxy.core.cache.selector import Selector, read

Json: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Controls:
    """What the application lets the listener see and do."""

    version: Json
    token: str
    """What must be shown for all that changes state or tells of configuration."""
    is_ready: Callable[[], bool]
    metrics: Callable[[], bytes]
    metrics_content_type: str
    config: Callable[[], Json]
    reload: Callable[[], Awaitable[Json]]
    """Reload the configuration; "problems" in the answer means that nothing was changed."""
    purge: Callable[[Selector, bool], Awaitable[int]]
    """Take out what a selector names, softly or not; how many there were."""


def application(controls: Controls) -> web.Application:
    """The listener's routes."""
    admin = _Admin(controls)
    app = web.Application(middlewares=[admin.guard])
    app.add_routes(
        [
            web.get("/livez", admin.livez),
            web.get("/readyz", admin.readyz),
            web.get("/metrics", admin.metrics),
            web.get("/version", admin.version),
            web.get("/admin/config", admin.config),
            web.post("/admin/reload", admin.reload),
            web.post("/admin/purge", admin.purge),
            web.delete("/admin/entries/{id}", admin.delete_entry),
        ]
    )
    return app


class _Admin:
    def __init__(self, controls: Controls) -> None:
        self._controls = controls

    @web.middleware
    async def guard(
        self,
        request: web.Request,
        handler: Callable[[web.Request], Awaitable[web.StreamResponse]],
    ) -> web.StreamResponse:
        """Ask for the token before anything under /admin/."""
        if request.path.startswith("/admin/"):
            token = self._controls.token
            if not token:
                return _error(403, "Set admin.token in the configuration to use /admin/.")
            shown = request.headers.get("Authorization", "")
            if not hmac.compare_digest(_bytes(shown), _bytes(f"Bearer {token}")):
                return _error(401, "Send Authorization: Bearer with the value of admin.token.")
        return await handler(request)

    async def livez(self, request: web.Request) -> web.Response:
        """The event loop runs: that is all that is asked (design 14)."""
        return web.Response(text="ok\n")

    async def readyz(self, request: web.Request) -> web.Response:
        """The listener is up and takes requests; neither the upstream nor a store counts."""
        ready = self._controls.is_ready()
        return web.Response(text="ok\n" if ready else "draining\n", status=200 if ready else 503)

    async def metrics(self, request: web.Request) -> web.Response:
        """Prometheus' text format."""
        return web.Response(
            body=self._controls.metrics(),
            headers={"Content-Type": self._controls.metrics_content_type},
        )

    async def version(self, request: web.Request) -> web.Response:
        """What is running."""
        return _json(self._controls.version)

    async def config(self, request: web.Request) -> web.Response:
        """The configuration in force, without secrets."""
        return _json(self._controls.config())

    async def reload(self, request: web.Request) -> web.Response:
        """Take over the file's configuration now."""
        result = await self._controls.reload()
        return _json(result, status=400 if result.get("problems") else 200)

    async def purge(self, request: web.Request) -> web.Response:
        """Take out what a selector names."""
        try:
            body = orjson.loads(await request.read())
            if not isinstance(body, dict):
                raise ValueError("the body must be a JSON object")
            selector = read(body)
        except ValueError as error:
            return _error(400, f"Nothing was purged: {error}.")
        soft = body.get("soft") is True
        return _json({"purged": await self._controls.purge(selector, soft)})

    async def delete_entry(self, request: web.Request) -> web.Response:
        """Take out one answer by the id that x-cache-entry told."""
        selector = Selector(entry=request.match_info["id"])
        count = await self._controls.purge(selector, False)
        return _json({"purged": count}) if count else _error(404, "There is no such entry.")


def _bytes(value: str) -> bytes:
    # As aiohttp decoded it: a byte that is not UTF-8 is a lone surrogate.
    return value.encode("utf-8", "surrogateescape")


def _json(value: Json, status: int = 200) -> web.Response:
    return web.Response(body=orjson.dumps(value), status=status, content_type="application/json")


def _error(status: int, message: str) -> web.Response:
    return _json({"error": {"message": message}}, status)
