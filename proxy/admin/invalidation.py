"""What takes answers out of the cache, and who did so: purges, epochs, the audit list."""

import secrets
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import orjson
from aiohttp import web

from proxy.admin.answer import error_answer, json_answer, limit_of
from proxy.core.cache.change import Renewed
from proxy.core.cache.entry_name import own_part
from proxy.core.cache.selector import PurgeOrder, Selector, read
from proxy.core.wire.via import is_circle
from proxy.pipeline.chain import Chain
from proxy.pipeline.purge import Survey
from proxy.telemetry.audit import Audit

Json: TypeAlias = dict[str, Any]

MAX_NAMES = 100
"""Models and tenants that a dry run names."""
MAX_EPOCH = 256
MAX_ACTOR = 128


class Invalidation:
    """The routes that invalidate."""

    def __init__(
        self,
        *,
        purge: Callable[[Selector, bool, str], Awaitable[int]],
        survey: Callable[[Selector], Awaitable[Survey]],
        renew: Callable[[str, str, str], None],
        epochs: Callable[[], tuple[Renewed, ...]],
        audit: Audit,
        chain: Chain,
        hop: str,
    ) -> None:
        """`purge` takes a selector, whether softly, and who asks; it tells how many there were.

        `renew` takes a glob of models, their epoch, and who asks. `hop` is this proxy's name in
        Via.
        """
        self._purge = purge
        self._survey = survey
        self._renew = renew
        self._epochs = epochs
        self._audit = audit
        self._chain = chain
        self._hop = hop

    async def purge(self, request: web.Request) -> web.Response:
        """Take out what a selector names, or tell what would go."""
        try:
            body = await _body(request)
            order = read(body)
        except ValueError as error:
            return error_answer(400, f"Nothing was purged: {error}.")
        if is_circle(request.headers.get("Via"), self._hop):
            return error_answer(508, "The purge was here before: forward it to nobody from there.")
        by = actor(request)
        told = await (self._tell(order) if order.dry_run else self._do(order, by))
        if order.forward:
            told["forwarded"] = await self._chain.order("/admin/purge", body, by)
        return json_answer(told)

    async def _do(self, order: PurgeOrder, by: str) -> Json:
        count = await self._purge(order.selector, order.soft, by)
        return {"purged": count}

    async def _tell(self, order: PurgeOrder) -> Json:
        found = await self._survey(order.selector)
        return {
            "purged": 0,
            "would_purge": found.models.total(),
            "models": dict(found.models.most_common(MAX_NAMES)),
            "tenants": dict(found.tenants.most_common(MAX_NAMES)),
        }

    async def delete_entry(self, request: web.Request) -> web.Response:
        """Take out one answer by the id that x-cache-entry told."""
        selector = Selector(entry=own_part(request.match_info["id"]))
        count = await self._purge(selector, False, actor(request))
        return json_answer({"purged": count}) if count else error_answer(404, _NO_ENTRY)

    async def epochs(self, request: web.Request) -> web.Response:
        """The epochs of models, the last that was set first."""
        told = [
            {"model": one.model, "epoch": one.epoch, "since": one.at, "by": one.by}
            for one in reversed(self._epochs())
        ]
        return json_answer({"epochs": told})

    async def epoch(self, request: web.Request) -> web.Response:
        """Give models another epoch, or take it back."""
        try:
            body = await _body(request)
            model, epoch, is_forwarded = _read_epoch(body)
        except ValueError as error:
            return error_answer(400, f"Nothing was changed: {error}.")
        if is_circle(request.headers.get("Via"), self._hop):
            return error_answer(508, "The epoch was here before: forward it to nobody from there.")
        by = actor(request)
        self._renew(model, epoch, by)
        told: Json = {"model": model, "epoch": epoch}
        if is_forwarded:
            onward = {**told, "forward": True}
            told["forwarded"] = await self._chain.order("/admin/epoch", onward, by)
        return json_answer(told)

    async def audit(self, request: web.Request) -> web.Response:
        """Who did what, the latest first."""
        limit = limit_of(request)
        if limit is None:
            return error_answer(400, "limit must be a whole number from 0 to 1000.")
        return json_answer({"audit": self._audit.last(limit)})


def actor(request: web.Request) -> str:
    """Who asks: what X-Actor says, else the address; never a credential."""
    told = request.headers.get("X-Actor", "")
    name = "".join(character for character in told if character.isprintable())[:MAX_ACTOR].strip()
    return name or request.remote or ""


_NO_ENTRY = "There is no such entry."


async def _body(request: web.Request) -> Json:
    body = orjson.loads(await request.read())
    if not isinstance(body, dict):
        raise ValueError("the body must be a JSON object")
    return body


def _read_epoch(body: Json) -> tuple[str, str, bool]:
    """Glob, epoch, and whether upstreams shall do the same. Raises ValueError."""
    if unknown := sorted(set(body) - {"model", "epoch", "forward"}):
        raise ValueError(f"unknown member {unknown[0]!r}; there are model, epoch, forward")
    model, epoch, forward = body.get("model"), body.get("epoch"), body.get("forward", False)
    if not isinstance(model, str) or not model or len(model) > MAX_EPOCH:
        raise ValueError("model must be a glob of model names")
    if epoch is None:
        epoch = secrets.token_hex(8)  # like none before
    if not isinstance(epoch, str) or len(epoch) > MAX_EPOCH:
        raise ValueError(f"epoch must be text of {MAX_EPOCH} characters at most; empty for none")
    if not isinstance(forward, bool):
        raise ValueError("forward must be true or false")
    return model, epoch, forward
