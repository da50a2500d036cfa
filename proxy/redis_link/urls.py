"""From a URL to a client: one server, one behind Sentinels, or a cluster; with or without TLS."""

import contextlib
from collections.abc import Awaitable
from typing import Any, NamedTuple, Protocol, cast
from urllib.parse import unquote

from redis.asyncio import ConnectionPool, Redis, RedisCluster, Sentinel, SSLConnection
from redis.asyncio.cluster import ClusterNode
from redis.asyncio.connection import parse_url
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from proxy.redis_link.errors import BadUrl

CONNECT_SECONDS = 1.0
SENTINEL_SECONDS = 0.3
"""How long one Sentinel is waited for before the next is asked."""
SENTINEL_PORT = 26379
SERVER_PORT = 6379
_PLAIN = {"protocol": 2, "driver_info": None}
"""Nothing that costs another round trip, or a look for the library's version on disk."""


class Pipe(Protocol):
    """Commands that go out in one round trip, one to each server concerned."""

    def execute_command(self, *arguments: Any) -> object:
        """Queue a command."""

    def execute(self, raise_on_error: bool = True) -> Awaitable[list[Any]]:
        """Send them. An error that a command was answered with stands in its place, or raises."""


class Client(Protocol):
    """What adapters use of the library's clients, whichever it is."""

    def execute_command(self, *arguments: Any) -> Awaitable[Any]:
        """Send a command and give its answer. Raises the library's errors."""

    def pipeline(self, transaction: bool = False) -> Pipe:
        """Begin a pipeline; no transaction, for that a cluster does not have."""


class Connected(NamedTuple):
    """A client and what closes with it."""

    client: Client
    closing: tuple[Redis | RedisCluster | Sentinel, ...]

    async def disconnect_idle(self) -> None:
        """Close the connections that nobody uses; a cluster's client sees to that itself."""
        if isinstance(self.client, Redis):
            with contextlib.suppress(RedisError, OSError):
                await self.client.connection_pool.disconnect(inuse_connections=False)


def connect(url: str, *, max_connections: int) -> Connected:
    """A client for a URL; connections are made when they are needed.

    The query takes what redis-py's URLs take (`ssl_ca_certs`, `protocol`, ...), and for Sentinels
    `sentinel_username` and `sentinel_password`. Raises BadUrl.
    """
    try:
        connected = _connect(url, max_connections)
        if isinstance(connected.client, Redis):
            # Made and thrown away: so an option that is none is found here, not at the first call.
            pool = connected.client.connection_pool
            pool.connection_class(**pool.connection_kwargs)
    except (TypeError, ValueError, RedisError):
        # The library's words may have a part of the password.
        raise BadUrl("has an option that a connection of its kind does not take") from None
    return connected


def _connect(url: str, max_connections: int) -> Connected:
    scheme, _, rest = url.partition("://")
    transport, _, kind = scheme.partition("+")
    if kind == "sentinel":
        return _behind_sentinels(transport, rest, max_connections)
    if kind == "cluster":
        return _cluster(transport, rest, max_connections)
    options = _common(max_connections) | dict(parse_url(url))
    if transport == "unix":
        del options["socket_keepalive"], options["socket_connect_timeout"]
    redis = Redis.from_pool(ConnectionPool(**options))
    return Connected(cast(Client, redis), (redis,))


def _common(max_connections: int) -> dict[str, Any]:
    # Every wait has its deadline in link.py; reads have none of their own, for some are long.
    return {
        "max_connections": max_connections,
        "socket_connect_timeout": CONNECT_SECONDS,
        "socket_timeout": None,
        "socket_keepalive": True,
        **_PLAIN,
        "retry": _no_retry(),
    }


def _no_retry() -> Retry:
    # Trying again is for who asks, who knows whether there is time.
    return Retry(NoBackoff(), 0)


class _Several(NamedTuple):
    """A URL of several servers."""

    options: dict[str, Any]
    addresses: list[tuple[str, int | None]]
    path: str


def _split(transport: str, rest: str) -> _Several:
    before, _, query = rest.partition("?")
    credentials, at, place = before.rpartition("@")
    hosts, _, path = place.partition("/")
    options = dict(parse_url(f"{transport}://{credentials}{at}host?{query}"))
    del options["host"]
    return _Several(options, [_address(host) for host in hosts.split(",") if host], path)


def _address(text: str) -> tuple[str, int | None]:
    host, colon, port = text.rpartition(":")
    if not colon or text.endswith("]"):
        host, port = text, ""
    return host.strip("[]"), int(port) if port else None


def _behind_sentinels(transport: str, rest: str, max_connections: int) -> Connected:
    options, addresses, path = _split(transport, rest)
    master, _, database = path.partition("/")
    options.setdefault("db", int(database or 0))
    is_tls = options.pop("connection_class", None) is SSLConnection
    own = {
        name.removeprefix("sentinel_"): options.pop(name)
        for name in ("sentinel_username", "sentinel_password")
        if name in options
    }
    tls = {name: value for name, value in options.items() if name.startswith("ssl_")}
    if is_tls:
        tls["ssl"] = True
    sentinel = Sentinel(  # type: ignore[no-untyped-call]  # the library has no types there
        [(host, port or SENTINEL_PORT) for host, port in addresses],
        sentinel_kwargs={
            "socket_timeout": SENTINEL_SECONDS,
            "socket_connect_timeout": SENTINEL_SECONDS,
            **_PLAIN,
            "retry": _no_retry(),
            **tls,
            **own,
        },
    )
    redis = sentinel.master_for(
        unquote(master), **_common(max_connections) | options | {"ssl": is_tls}
    )
    return Connected(cast(Client, redis), (redis, sentinel))


def _cluster(transport: str, rest: str, max_connections: int) -> Connected:
    options, addresses, _ = _split(transport, rest)
    options.pop("db", None)  # a cluster has one
    is_tls = options.pop("connection_class", None) is SSLConnection
    cluster = RedisCluster(
        startup_nodes=[ClusterNode(host, port or SERVER_PORT) for host, port in addresses],
        # A part of the keys is better than none.
        require_full_coverage=False,
        ssl=is_tls,
        **_common(max_connections) | options,
    )
    return Connected(cast(Client, cluster), (cluster,))
