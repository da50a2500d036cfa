"""The few calls to the Kubernetes API that the injector's certificates need.

Calls are many seconds apart, so each has a connection of its own and reads token and authority
anew: both change while the process runs, and a connection that was kept would be a stale one.
"""

import asyncio
import base64
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import quote

import aiohttp
import orjson
from yarl import URL

from proxy.core.address import Address
from proxy.ports import Clock

Json: TypeAlias = dict[str, Any]

DEADLINE = 5.0
"""Seconds for a whole call."""
MAX_BYTES = 8 * 1024 * 1024
"""Of an answer; the API server keeps nothing that is larger."""
FIELD_MANAGER = "reprise-injector"
"""Under this name the API server remembers which fields are ours, and no chart's."""
_MAX_TOLD = 300


class ClusterError(Exception):
    """A call to the API server that did not do what it was to do."""


class NoCluster(ClusterError):
    """This is no pod: nothing says where the API server is."""


class Unreachable(ClusterError):
    """There was no answer, or none of its own: it may do well later."""


class Refused(ClusterError):
    """The API server says no, and will until something changes."""


class Forbidden(Refused):
    """The service account has not the right."""


class NotFound(Refused):
    """There is no such object."""


class Conflict(Refused):
    """Somebody else was first: it exists, or is not what was read. Read again."""


@dataclass(frozen=True, slots=True)
class Call:
    """What is asked, in the words of RBAC."""

    verb: str
    resource: str
    """With its API group, as RBAC has it in the resource's full name."""
    name: str
    path: str
    namespace: str = ""

    def __str__(self) -> str:
        inside = f' in namespace "{self.namespace}"' if self.namespace else ""
        return f'{self.verb} {self.resource} "{self.name}"{inside}'


class Cluster:
    """The Kubernetes API, as far as the rotator needs it.

    All methods raise Unreachable, or Refused as the API server says.
    """

    def __init__(
        self, address: Address, *, account: Path, clock: Clock, deadline: float = DEADLINE
    ) -> None:
        """`account` is the directory of the service account; `deadline` in seconds for a call."""
        self.origin = f"https://{address}"
        self._account = account
        self._clock = clock
        self._deadline = deadline
        self.skew = 0.0
        """Seconds by which the API server's clock is before ours, as far as it is known."""

    async def secret(self, namespace: str, name: str) -> Json:
        """Read a Secret."""
        return await self._call(_secret("get", namespace, name), "GET")

    async def create_secret(self, namespace: str, name: str, secret: Json) -> Json:
        """Create it. Raises Conflict where there is one."""
        path = _secrets(namespace)
        call = Call("create", "secrets", name, path, namespace)
        return await self._call(call, "POST", secret)

    async def update_secret(self, namespace: str, name: str, secret: Json) -> Json:
        """Replace it by what was read and changed.

        Raises Conflict if it is not what was read, by its resourceVersion.
        """
        return await self._call(_secret("update", namespace, name), "PUT", secret)

    async def webhook_configuration(self, name: str) -> Json:
        """Read a MutatingWebhookConfiguration."""
        return await self._call(_configuration("get", name), "GET")

    async def patch_webhook_configuration(self, name: str, patch: Json) -> Json:
        """Merge into it; webhooks are told apart by their names. Gives the whole.

        Raises Conflict if the patch has a resourceVersion and the configuration another.
        """
        kind = "application/strategic-merge-patch+json"
        return await self._call(_configuration("patch", name), "PATCH", patch, kind=kind)

    async def _call(
        self, call: Call, method: str, body: Json | None = None, *, kind: str = "application/json"
    ) -> Json:
        try:
            async with asyncio.timeout(self._deadline):
                token, context = await asyncio.to_thread(self._credentials)
                status, answer = await self._send(
                    method,
                    URL(self.origin + call.path, encoded=True),
                    headers={
                        "Authorization": f"Bearer {token}",
                        "Accept": "application/json",
                        "Content-Type": kind,
                        "User-Agent": FIELD_MANAGER,
                    },
                    data=None if body is None else orjson.dumps(body),
                    context=context,
                )
        except TimeoutError:
            raise Unreachable("the API server does not answer in time") from None
        except aiohttp.ClientConnectorCertificateError:
            raise Unreachable("the API server's certificate is not by the mounted ca.crt") from None
        except aiohttp.ClientConnectorError:
            raise Unreachable("the API server takes no connection") from None
        except (aiohttp.ClientError, OSError, ValueError):
            # Broken off, or not HTTP. Their words are many, and say no more.
            raise Unreachable("the API server's answer broke off") from None
        return _judged(call, status, answer)

    def _credentials(self) -> tuple[str, ssl.SSLContext]:
        try:
            token = (self._account / "token").read_text("ascii").strip()
            # Not create_default_context: from Python 3.13 on it wants key identifiers, which the
            # authorities of many clusters do without.
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.load_verify_locations(self._account / "ca.crt")
        except (OSError, ValueError):
            told = f"{self._account} has no readable token and ca.crt of a service account"
            raise Unreachable(told) from None
        return token, context

    async def _send(
        self,
        method: str,
        url: URL,
        *,
        headers: Mapping[str, str],
        data: bytes | None,
        context: ssl.SSLContext,
    ) -> tuple[int, bytes]:
        parameters = None if method == "GET" else {"fieldManager": FIELD_MANAGER}
        async with (
            aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(ssl=context, force_close=True)
            ) as session,
            session.request(
                method,
                url.with_query(parameters),
                headers=headers,
                data=data,
                allow_redirects=False,  # the token is for nobody else
            ) as response,
        ):
            self._note_time(response.headers.get("Date", ""))
            body = bytearray()
            async for piece in response.content.iter_any():
                body += piece
                if len(body) > MAX_BYTES:
                    raise Unreachable("the API server's answer is too long")
            return response.status, bytes(body)

    def _note_time(self, date: str) -> None:
        try:
            # Half a second: what is told was cut to whole ones.
            self.skew = parsedate_to_datetime(date).timestamp() + 0.5 - self._clock.now()
        except (ValueError, OverflowError):
            return


def cluster_around(environment: Mapping[str, str], *, account: Path, clock: Clock) -> Cluster:
    """The cluster whose pod this is. Raises NoCluster."""
    host = environment.get("KUBERNETES_SERVICE_HOST", "")
    port = environment.get("KUBERNETES_SERVICE_PORT", "443")
    if not host or not port.isdecimal():
        raise NoCluster(
            "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT do not say where the API server "
            "is; only in a pod they do"
        )
    return Cluster(Address(host.strip("[]"), int(port)), account=account, clock=clock)


def decoded(value: object) -> bytes:
    """What the API holds in base64; empty where it is no such thing."""
    if not isinstance(value, str):
        return b""
    try:
        return base64.b64decode(value, validate=True)
    except ValueError:
        return b""


def encoded(value: bytes) -> str:
    """As the API holds bytes."""
    return base64.b64encode(value).decode("ascii")


def _secrets(namespace: str) -> str:
    return f"/api/v1/namespaces/{quote(namespace, safe='')}/secrets"


def _secret(verb: str, namespace: str, name: str) -> Call:
    path = f"{_secrets(namespace)}/{quote(name, safe='')}"
    return Call(verb, "secrets", name, path, namespace)


def _configuration(verb: str, name: str) -> Call:
    group = "admissionregistration.k8s.io"
    path = f"/apis/{group}/v1/mutatingwebhookconfigurations/{quote(name, safe='')}"
    return Call(verb, f"mutatingwebhookconfigurations.{group}", name, path)


def _judged(call: Call, status: int, answer: bytes) -> Json:
    """The object that was answered with, or what went wrong."""
    try:
        told = orjson.loads(answer)
    except orjson.JSONDecodeError:
        told = None
    if 200 <= status < 300:
        if isinstance(told, dict):
            return told
        raise Unreachable("the API server's answer is no object")
    if status == 401:
        raise Unreachable("the API server does not take the mounted token")
    if status == 429 or not 400 <= status < 500:
        raise Unreachable(f"the API server answers with status {status}")
    if status == 403:
        raise Forbidden(f"the service account may not {call}")
    # Kubernetes' Status: why it was refused, in words.
    reason = told.get("message") if isinstance(told, dict) else None
    kinds: dict[int, type[Refused]] = {404: NotFound, 409: Conflict}
    raise kinds.get(status, Refused)(f"cannot {call}: {str(reason or status)[:_MAX_TOLD]}")
