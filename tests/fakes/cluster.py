"""The part of a Kubernetes API server that keeps Secrets and webhook configurations, over TLS."""

import asyncio
import base64
import binascii
import copy
import itertools
import ssl
from collections.abc import Awaitable, Callable
from email.utils import formatdate
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self, TypeAlias

import trustme
from aiohttp import web

from proxy.core.address import Address
from proxy.k8s.cluster import Cluster
from proxy.ports import Clock

Json: TypeAlias = dict[str, Any]

GROUP = "admissionregistration.k8s.io"
CONFIGURATIONS = f"mutatingwebhookconfigurations.{GROUP}"
ACCOUNT_NAME = "system:serviceaccount:reprise:reprise-injector"

_REASONS = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    409: "Conflict",
    415: "UnsupportedMediaType",
    422: "Invalid",
    500: "InternalError",
}
_VERBS = {"GET": "get", "POST": "create", "PUT": "update", "PATCH": "patch"}


class Asked(NamedTuple):
    """One call, in the words of RBAC."""

    verb: str
    resource: str
    name: str


class _Failure(Exception):
    """Answered as Kubernetes does: with a Status."""

    def __init__(self, status: int, message: str, reason: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason or _REASONS[status]


class FakeCluster:
    """Keeps objects with a resourceVersion, and refuses as the API server does."""

    def __init__(self, account: Path, *, clock: Clock, host: str = "127.0.0.1") -> None:
        """`account` becomes the directory of a service account; `clock` is the server's own."""
        self.account = account
        self.clock = clock
        self.secrets: dict[str, Json] = {}
        self.configurations: dict[str, Json] = {}
        self.token = "token-1"
        """The one that is taken."""
        self.forbidden: set[tuple[str, str]] = set()
        """Verb and resource that the account has no right to."""
        self.calls: list[Asked] = []
        self.managers: set[str] = set()
        """Who has written, by field manager."""
        self.tells_time = True
        self.before: Callable[[Asked], Awaitable[object]] | None = None
        """Done before a call is looked at: waits, or has somebody else be first."""
        self.answer_with: web.Response | None = None
        """Answered to everything in place of the truth."""
        self.is_cut = False
        """Whether every connection ends amid the answer."""
        self._bundles: dict[str, list[tuple[float, bytes]]] = {}
        """When each came, of those that were alike in all webhooks."""
        self._versions = itertools.count(100)
        self._uids = itertools.count(1)
        self._authority = trustme.CA()
        self._runner: web.AppRunner | None = None
        self._host = host
        self._port = 0

    @property
    def address(self) -> Address:
        """Where it listens, or did."""
        return Address(self._host, self._port)

    @property
    def environment(self) -> dict[str, str]:
        """What a pod would find."""
        return {
            "KUBERNETES_SERVICE_HOST": self.address.host,
            "KUBERNETES_SERVICE_PORT": str(self.address.port),
        }

    def client(
        self,
        *,
        clock: Clock | None = None,
        account: Path | None = None,
        deadline: float = 5.0,
    ) -> Cluster:
        """A client with the account, or with a copy of it."""
        return Cluster(
            self.address,
            account=account or self.account,
            clock=clock or self.clock,
            deadline=deadline,
        )

    def configure(self, name: str, *webhooks: str, bundle: bytes | None = None) -> None:
        """Put a webhook configuration there, as a chart does: a bundle only if it is told one."""
        client_config: Json = {"service": {"name": "injector", "namespace": "reprise"}}
        if bundle is not None:
            client_config["caBundle"] = base64.b64encode(bundle).decode()
        self._keep(
            {
                "apiVersion": f"{GROUP}/v1",
                "kind": "MutatingWebhookConfiguration",
                "metadata": {"name": name},
                "webhooks": [
                    {
                        "name": webhook,
                        "clientConfig": copy.deepcopy(client_config),
                        "sideEffects": "None",
                        "admissionReviewVersions": ["v1"],
                    }
                    for webhook in webhooks
                ],
            }
        )

    def bundles(self, name: str) -> list[bytes]:
        """caBundle of each webhook, as it verifies by it now."""
        return [
            base64.b64decode(webhook["clientConfig"].get("caBundle", ""))
            for webhook in self.configurations[name]["webhooks"]
        ]

    def late_bundle(self, name: str, seconds: float) -> bytes:
        """That by which an API server verifies still that hears of changes so many seconds late."""
        due = self.clock.now() - seconds
        first, *later = self._bundles[name]
        return [first, *(entry for entry in later if entry[0] <= due)][-1][1]

    def set_bundle(self, name: str, bundle: bytes) -> None:
        """Overwrite it in every webhook, as somebody else does."""
        changed = copy.deepcopy(self.configurations[name])
        for webhook in changed["webhooks"]:
            webhook["clientConfig"]["caBundle"] = base64.b64encode(bundle).decode()
        self._keep(changed)

    def entries(self, name: str) -> dict[str, bytes]:
        """What a Secret holds."""
        return {key: base64.b64decode(value) for key, value in self.secrets[name]["data"].items()}

    def set_entries(self, name: str, entries: dict[str, bytes]) -> None:
        """Overwrite them, or put a Secret there, as somebody else does."""
        secret = copy.deepcopy(self.secrets.get(name)) or {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": name, "namespace": "reprise"},
            "type": "kubernetes.io/tls",
        }
        secret["data"] = {key: base64.b64encode(value).decode() for key, value in entries.items()}
        self.secrets[name] = self._stored(secret)

    async def __aenter__(self) -> Self:
        await asyncio.to_thread(self._write_account)
        await self.listen()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.stop()

    async def listen(self) -> None:
        """Begin to serve, where it served before if it did."""
        app = web.Application(middlewares=[self._answer], client_max_size=2**21)
        secrets = "/api/v1/namespaces/{namespace}/secrets"
        app.router.add_post(secrets, self._create)
        app.router.add_get(secrets + "/{name}", self._get_secret)
        app.router.add_put(secrets + "/{name}", self._update)
        configuration = f"/apis/{GROUP}/v1/mutatingwebhookconfigurations/{{name}}"
        app.router.add_get(configuration, self._get_configuration)
        app.router.add_patch(configuration, self._patch)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._authority.issue_cert(self._host).configure_cert(context)
        site = web.TCPSite(self._runner, self._host, self._port, ssl_context=context)
        await site.start()
        self._port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        """Take no connection any more."""
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    def _write_account(self) -> None:
        self.account.mkdir(parents=True, exist_ok=True)
        (self.account / "token").write_text(self.token)
        self._authority.cert_pem.write_to_path(self.account / "ca.crt")

    def _stored(self, thing: Json) -> Json:
        metadata = thing["metadata"]
        metadata.setdefault("uid", f"uid-{next(self._uids)}")
        metadata["resourceVersion"] = str(next(self._versions))
        return thing

    def _keep(self, configuration: Json) -> None:
        name = configuration["metadata"]["name"]
        self.configurations[name] = self._stored(configuration)
        bundle, *others = self.bundles(name)
        if all(other == bundle for other in others):
            self._bundles.setdefault(name, []).append((self.clock.now(), bundle))

    @web.middleware
    async def _answer(
        self,
        request: web.Request,
        handler: Callable[[web.Request], Awaitable[web.StreamResponse]],
    ) -> web.StreamResponse:
        try:
            await self._admit(request)
            answer = self.answer_with or await handler(request)
        except _Failure as failure:
            answer = _status(failure)
        if self.is_cut:
            assert request.transport is not None
            request.transport.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{")
            request.transport.close()
        if self.tells_time:
            answer.headers["Date"] = formatdate(self.clock.now(), usegmt=True)
        return answer

    async def _admit(self, request: web.Request) -> None:
        name = request.match_info.get("name") or ""
        resource = "secrets" if "/secrets" in request.path else CONFIGURATIONS
        asked = Asked(_VERBS[request.method], resource, name)
        self.calls.append(asked)
        if self.before is not None:
            await self.before(asked)
        if request.headers.get("Authorization") != f"Bearer {self.token}":
            raise _Failure(401, "Unauthorized")
        if (asked.verb, resource) in self.forbidden:
            kind, _, group = resource.partition(".")
            raise _Failure(
                403,
                f'{resource} "{name}" is forbidden: User "{ACCOUNT_NAME}" cannot {asked.verb} '
                f'resource "{kind}" in API group "{group}"',
            )
        if asked.verb != "get":
            self.managers.add(request.query.get("fieldManager", ""))

    async def _get_secret(self, request: web.Request) -> web.StreamResponse:
        return web.json_response(_found(self.secrets, request, "secrets"))

    async def _create(self, request: web.Request) -> web.StreamResponse:
        secret = await _json(request)
        name = secret["metadata"]["name"]
        if name in self.secrets:
            raise _Failure(409, f'secrets "{name}" already exists', "AlreadyExists")
        if secret["metadata"].get("resourceVersion"):
            raise _Failure(422, "resourceVersion should not be set on objects to be created")
        _check_secret(secret)
        self.secrets[name] = self._stored(secret)
        return web.json_response(secret, status=201)

    async def _update(self, request: web.Request) -> web.StreamResponse:
        secret = await _json(request)
        before = _found(self.secrets, request, "secrets")
        _check_version("secrets", before, secret)
        _check_secret(secret)
        if secret.get("type") != before.get("type"):
            raise _Failure(422, "type: Invalid value: field is immutable")
        self.secrets[before["metadata"]["name"]] = self._stored(secret)
        return web.json_response(secret)

    async def _get_configuration(self, request: web.Request) -> web.StreamResponse:
        return web.json_response(_found(self.configurations, request, CONFIGURATIONS))

    async def _patch(self, request: web.Request) -> web.StreamResponse:
        before = _found(self.configurations, request, CONFIGURATIONS)
        if request.content_type != "application/strategic-merge-patch+json":
            raise _Failure(415, f"the fake knows no patch of type {request.content_type}")
        patch = await _json(request)
        _check_version(CONFIGURATIONS, before, patch)
        changed = copy.deepcopy(before)
        by_name = {webhook["name"]: webhook for webhook in changed["webhooks"]}
        for webhook in patch.get("webhooks", ()):
            if webhook["name"] not in by_name:
                raise _Failure(422, f"webhooks: {webhook['name']}: sideEffects: Required value")
            by_name[webhook["name"]]["clientConfig"] |= webhook["clientConfig"]
            _check_base64(webhook["clientConfig"]["caBundle"])
        if changed != before:
            self._keep(changed)
        return web.json_response(changed)


def _found(things: dict[str, Json], request: web.Request, resource: str) -> Json:
    name = request.match_info["name"]
    if name not in things:
        raise _Failure(404, f'{resource} "{name}" not found')
    return things[name]


async def _json(request: web.Request) -> Json:
    found: Json = await request.json()
    return found


def _check_version(resource: str, before: Json, after: Json) -> None:
    version = after.get("metadata", {}).get("resourceVersion")
    if version not in (None, before["metadata"]["resourceVersion"]):
        raise _Failure(
            409,
            f"Operation cannot be fulfilled on {resource} "
            f'"{before["metadata"]["name"]}": the object has been modified; please apply your '
            "changes to the latest version and try again",
        )


def _check_secret(secret: Json) -> None:
    for value in secret["data"].values():
        _check_base64(value)
    if secret.get("type") == "kubernetes.io/tls" and not {"tls.crt", "tls.key"} <= set(
        secret["data"]
    ):
        raise _Failure(422, "data[tls.crt]: Required value")


def _check_base64(value: str) -> None:
    try:
        base64.b64decode(value, validate=True)
    except binascii.Error:
        raise _Failure(400, "illegal base64 data at input byte 0") from None


def _status(failure: _Failure) -> web.Response:
    return web.json_response(
        {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": str(failure),
            "reason": failure.reason,
            "code": failure.status,
        },
        status=failure.status,
    )
