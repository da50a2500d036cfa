"""URLs of proxies on the command line."""

import http.client

import pytest

from proxy.cli.http_url import connection, split


@pytest.mark.parametrize("url", ["", "localhost", "ftp://h", "http://", "http://h:0", "http://h:x"])
def test_what_cannot_be_connected_to_is_none(url: str) -> None:
    assert split(url) is None


@pytest.mark.parametrize(
    ("url", "kind", "port"),
    [
        ("http://127.0.0.1:8080/prefix", http.client.HTTPConnection, 8080),
        ("https://[::1]", http.client.HTTPSConnection, 443),
    ],
)
def test_a_connection_is_to_the_urls_host(
    url: str, kind: type[http.client.HTTPConnection], port: int
) -> None:
    parts = split(url)
    assert parts is not None
    made = connection(parts, 3.0)
    assert (type(made), made.host, made.port, made.timeout) == (kind, parts.hostname, port, 3.0)
