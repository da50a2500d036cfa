"""The webhook that the API server calls when pods are made, and the listener of its operator."""

import asyncio
import logging
import socket

from aiohttp import web

from proxy.k8s.injection import OUTCOMES, Done, Fault, Injection, inject, result_of
from proxy.k8s.refusal import Reason
from proxy.k8s.review import Review, answer, read
from proxy.k8s.settings import Settings
from proxy.k8s.tls import CertificateSource, ServedCertificate
from proxy.ports import Clock
from proxy.tasks import Beat, Tasks
from proxy.telemetry.admissions import Admissions
from proxy.telemetry.log import Log, trace_of

PATH = "/mutate"
MAX_BODY_BYTES = 8 * 1024 * 1024
"""A pod has 1.5 MiB at most, or etcd does not keep it."""
READS_WITHIN = 5.0
"""Seconds for a review to arrive whole."""
ENDS_WITHIN = 10.0
"""Seconds for what is under way when it is to end."""

_SILENT = logging.getLogger("reprise.injector.aiohttp")
"""aiohttp would print what is not HTTP to stderr, with a trace."""
_SILENT.disabled = True

_FAULTS = {
    Fault.MALFORMED: "the review cannot be read",
    Fault.TOO_LARGE: "the review is too large",
    Fault.NOT_A_POD: "only pods get a sidecar; check the rules of the webhook's configuration",
    Fault.NOT_A_CREATION: "only new pods get a sidecar; check the rules of the webhook's "
    "configuration",
    Fault.INTERNAL: "an error inside the injector; its log has it",
}


class Webhook:
    """Answers reviews over TLS, with whatever certificate its source has."""

    def __init__(
        self,
        settings: Settings,
        source: CertificateSource,
        *,
        log: Log,
        clock: Clock,
    ) -> None:
        self.admissions = Admissions((result_of(one), one.value) for one in OUTCOMES)
        self._settings = settings
        self._source = source
        self._log = log
        self._clock = clock
        self._certificate = ServedCertificate(self.admissions.set_not_after)
        self._tasks = Tasks(self._task_died)
        self._is_ending = False
        reviews = web.Application()
        reviews.router.add_post(PATH, self._mutate)
        self._reviews = web.AppRunner(
            reviews, access_log=None, logger=_SILENT, shutdown_timeout=ENDS_WITHIN
        )
        admin = web.Application()
        admin.router.add_get("/livez", self._livez)
        admin.router.add_get("/readyz", self._readyz)
        admin.router.add_get("/metrics", self._metrics)
        self._admin = web.AppRunner(admin, access_log=None, logger=_SILENT, shutdown_timeout=1.0)

    async def start(self, reviews: socket.socket, admin: socket.socket) -> None:
        """Listen on sockets that are bound. Reviews can come once there is a certificate."""
        # Of handshakes that fail it would tell by a trace. Who calls sees it himself.
        asyncio.get_running_loop().set_exception_handler(self._loop_failed)
        self._tasks.keep(self._keep_certificate, "certificate", every=self._source.every)
        await self._admin.setup()
        await web.SockSite(self._admin, admin).start()
        await self._reviews.setup()
        context = self._certificate.context
        await web.SockSite(self._reviews, reviews, ssl_context=context).start()

    async def stop(self) -> None:
        """Take no more reviews, answer those that are there, and end."""
        self._is_ending = True
        await self._reviews.cleanup()
        await self._admin.cleanup()
        await self._tasks.drain(0)

    async def _keep_certificate(self, beat: Beat) -> None:
        await self._source.run(self._certificate, beat)

    async def _mutate(self, request: web.Request) -> web.Response:
        begun = self._clock.monotonic()
        review = Review(fault=Fault.MALFORMED)
        try:
            review = await self._read(request)
            injection = self._judged(review)
            body = answer(review, injection)
        except Exception as error:  # noqa: BLE001 - the boundary: a mistake of ours stops no pod
            self._log.emit("error", "internal error", trace_of(error))
            injection = _failed(Fault.INTERNAL)
            body = answer(review, injection)
        self._tell(review, injection, self._clock.monotonic() - begun)
        response = web.Response(body=body, content_type="application/json")
        if injection.outcome is Fault.TOO_LARGE:
            response.force_close()  # the rest of it is still to come
        return response

    async def _read(self, request: web.Request) -> Review:
        body = bytearray()
        try:
            async with asyncio.timeout(READS_WITHIN):
                async for piece in request.content.iter_any():
                    body += piece
                    if len(body) > MAX_BODY_BYTES:
                        return Review(fault=Fault.TOO_LARGE)
        except (TimeoutError, ConnectionError, web.RequestPayloadError):
            return Review(fault=Fault.MALFORMED)
        return read(bytes(body))

    def _judged(self, review: Review) -> Injection:
        if review.fault is not None:
            return _failed(review.fault)
        return inject(review.pod, review.surroundings, self._settings)

    def _tell(self, review: Review, injection: Injection, seconds: float) -> None:
        outcome = injection.outcome
        self.admissions.count(result_of(outcome), outcome.value, seconds)
        self._log.emit(
            _level(outcome),
            "admission",
            {
                "result": result_of(outcome),
                "reason": outcome.value,
                "namespace": review.surroundings.namespace,
                "pod": review.name,
                "dry_run": review.is_dry_run,
                "seconds": round(seconds, 6),
            },
        )

    async def _livez(self, _request: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def _readyz(self, _request: web.Request) -> web.Response:
        if self._is_ending:
            return web.Response(text="draining\n", status=503)
        if self._certificate.not_after is None:
            return web.Response(text="no certificate\n", status=503)
        return web.Response(text="ok\n")

    async def _metrics(self, request: web.Request) -> web.Response:
        told = self.admissions.exposed(request.headers.get("Accept", ""))
        return web.Response(body=told.body, headers={"Content-Type": told.content_type})

    def _task_died(self, name: str, error: BaseException) -> None:
        self._log.emit("error", "background task died", {"task": name, **trace_of(error)})

    def _loop_failed(self, _loop: asyncio.AbstractEventLoop, context: dict[str, object]) -> None:
        error = context.get("exception")
        if isinstance(error, OSError):  # a client that left, or does not trust what it is shown
            self._log.emit("debug", "connection failed", {"error": type(error).__name__})
        else:
            told = trace_of(error) if isinstance(error, BaseException) else {}
            self._log.emit("error", "event loop error", {"what": context.get("message"), **told})


def _failed(fault: Fault) -> Injection:
    return Injection(fault, warnings=(f"the pod gets no sidecar: {_FAULTS[fault]}",))


def _level(outcome: Done | Reason | Fault) -> str:
    if isinstance(outcome, Fault):
        return "warning"
    return "debug" if outcome is Done.NOTHING else "info"
