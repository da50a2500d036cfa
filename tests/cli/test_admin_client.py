"""Asking a proxy's admin listener."""

import asyncio
import socket

import pytest

from proxy.cli.admin_client import AdminClient, AdminError
from tests.conftest import StartProxy
from tests.fakes.upstream import ScriptedUpstream

TOKEN = "s3cret-token"
SETTINGS = f"admin: {{token: '{TOKEN}'}}"


async def fails(url: str, token: str, path: str = "/admin/top") -> str:
    """What is said of it."""
    with pytest.raises(AdminError) as caught:
        await asyncio.to_thread(AdminClient(url, token).get, path, "entries")
    assert caught.value.exit_code == 2
    assert not token or token not in caught.value.message
    return caught.value.message


async def test_what_the_listener_says_is_told(proxy: StartProxy) -> None:
    async with proxy(SETTINGS) as app:
        client = AdminClient(app.admin_url + "/", TOKEN)
        assert await asyncio.to_thread(client.get, "/admin/models", "models") == {"models": []}
        told = await asyncio.to_thread(client.post, "/admin/purge", "purged", b'{"all": true}', {})
        assert told == {"purged": 0}


async def test_a_refused_token_is_named(proxy: StartProxy) -> None:
    async with proxy(SETTINGS) as app:
        assert "none was given: name it with --token" in await fails(app.admin_url, "")
        assert "another was given" in await fails(app.admin_url, "wröng-token")
    async with proxy() as app:
        told = await fails(app.admin_url, "any")
        assert "has no admin.token" in told
        assert "REPRISE_ADMIN_TOKEN" in told


async def test_the_proxys_own_words_on_a_mistake_are_told(proxy: StartProxy) -> None:
    async with proxy(SETTINGS) as app:
        said = await fails(app.admin_url, TOKEN, "/admin/top?by=most")
        assert said == f"{app.admin_url}: by must be one of hits, seconds, tokens."


async def test_a_server_that_is_no_admin_listener_is_named(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    async with proxy(SETTINGS) as app:
        assert "is not the admin listener" in await fails(app.admin_url, TOKEN, "/admin/nothing")
        for path in ("/v1/models", "/livez"):
            assert "is not the admin listener" in await fails(app.url, TOKEN, path)
    assert "is not the admin listener" in await fails(upstream.url, TOKEN)


async def test_where_nobody_listens_the_remedy_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    said = await fails(f"http://127.0.0.1:{port}", TOKEN)
    assert f"no proxy answers at http://127.0.0.1:{port}: " in said
    assert "reprise serve" in said


@pytest.mark.parametrize(
    "url", ["", "127.0.0.1:8081", "ftp://x", "http://", "http://x:port", "http://x:0", "http://[x"]
)
def test_what_is_no_url_is_unusable(url: str) -> None:
    with pytest.raises(AdminError, match="is not a URL such as"):
        AdminClient(url, "")


@pytest.mark.parametrize("token", ["a\nb", "a\rb", "a\0b"])
def test_a_line_break_in_a_token_goes_nowhere(token: str) -> None:
    with pytest.raises(AdminError, match="line break") as caught:
        AdminClient("http://127.0.0.1:1", token).get("/admin/top", "entries")
    assert token not in caught.value.message
