"""What is made of a URL; test_link.py connects by each kind."""

from typing import Any, cast

import pytest
from redis.asyncio import Redis, RedisCluster, SSLConnection
from redis.asyncio.sentinel import SentinelConnectionPool, SentinelManagedSSLConnection

from proxy.redis_link.errors import BadUrl
from proxy.redis_link.urls import connect


def single(url: str) -> Redis:
    """The client of a URL that is of one server, or of Sentinels."""
    client = connect(url, max_connections=5).client
    assert isinstance(client, Redis)
    return client


def options(url: str) -> dict[str, Any]:
    """How the connections of a URL are made."""
    return single(url).connection_pool.connection_kwargs


def cluster(url: str) -> RedisCluster:
    """The client of a URL of a cluster."""
    client = connect(url, max_connections=5).client
    assert isinstance(client, RedisCluster)
    return client


def test_one_server() -> None:
    made = options("redis://me:se%40cret@redis.example:7000/3?protocol=3")
    assert (made["host"], made["port"], made["db"]) == ("redis.example", 7000, 3)
    assert (made["username"], made["password"], made["protocol"]) == ("me", "se@cret", 3)
    assert options("redis://redis.example")["protocol"] == 2
    assert single("redis://redis.example").connection_pool.max_connections == 5


def test_one_server_with_tls() -> None:
    client = single("rediss://redis.example?ssl_ca_certs=/ca.pem")
    assert client.connection_pool.connection_class is SSLConnection
    assert client.connection_pool.connection_kwargs["ssl_ca_certs"] == "/ca.pem"


def test_a_socket() -> None:
    made = options("unix://me:secret@/run/redis.sock?db=2")
    assert (made["path"], made["db"], made["password"]) == ("/run/redis.sock", 2, "secret")


@pytest.mark.parametrize("tls", [False, True])
def test_sentinels(tls: bool) -> None:
    url = (
        f"{'rediss' if tls else 'redis'}+sentinel://me:secret@a:1,b,[::1]:3/main/4"
        f"?sentinel_password=other{'&ssl_ca_certs=/ca.pem' if tls else ''}"
    )
    client = single(url)
    pool = client.connection_pool
    assert isinstance(pool, SentinelConnectionPool)
    assert (pool.service_name, pool.connection_kwargs["db"]) == ("main", 4)
    assert pool.connection_kwargs["password"] == "secret"
    assert (pool.connection_class is SentinelManagedSSLConnection) is tls
    asked = [
        cast(Redis, sentinel).connection_pool.connection_kwargs
        for sentinel in pool.sentinel_manager.sentinels
    ]
    assert [(one["host"], one["port"]) for one in asked] == [("a", 1), ("b", 26379), ("::1", 3)]
    assert all(one["password"] == "other" and one["username"] is None for one in asked)
    assert all(("ssl_ca_certs" in one) is tls for one in asked)


def test_the_database_behind_sentinels_is_the_first_unless_told() -> None:
    assert options("redis+sentinel://a/main")["db"] == 0
    assert options("redis+sentinel://a/2")["db"] == 0  # a master of that name


@pytest.mark.parametrize("tls", [False, True])
def test_a_cluster(tls: bool) -> None:
    client = cluster(f"{'rediss' if tls else 'redis'}+cluster://me:secret@a:1,b")
    assert [(node.host, node.port) for node in client.nodes_manager.startup_nodes.values()] == [
        ("a", 1),
        ("b", 6379),
    ]
    made = client.connection_kwargs
    assert (made["username"], made["password"]) == ("me", "secret")
    assert (made.get("connection_class") is SSLConnection) is tls


@pytest.mark.parametrize(
    "url",
    [
        *("redis://host:port", "redis+cluster://a:b", "redis+sentinel://a/main/x", "http://a"),
        *("redis://a?nonsense=1", "redis://a?ssl_ca_certs=/ca.pem", "redis+cluster://a?nonsense=1"),
        "redis+sentinel://a/main?nonsense=1",
    ],
)
def test_what_is_no_url_is_refused(url: str) -> None:
    with pytest.raises(BadUrl, match=r".+"):
        connect(url, max_connections=5)
