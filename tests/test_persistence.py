"""What outlasts the process is put together as the configuration says."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from proxy.app import App
from proxy.config import Config, load
from proxy.store import secret
from tests.conftest import StartProxy
from tests.fakes.client import ask, question
from tests.fakes.redis import RedisServer, running_redis
from tests.fakes.upstream import ScriptedUpstream
from tests.watch import figure, until


def shared(server: RedisServer, prefix: str, more: str = "") -> str:
    """Settings of a replica."""
    return f"persist: {{redis: {{url: '{server.url}', prefix: '{prefix}'}}{more}}}"


async def test_without_disk_and_redis_nothing_is_kept(proxy: StartProxy) -> None:
    async with proxy() as app:
        await until(lambda: not app._persistence.is_loading)
        assert app._persistence.states() == {}
        assert app._persistence.figures() == {}
        assert app._persistence.vectors() is None


async def test_both_tell_how_they_are(
    proxy: StartProxy, redis_server: RedisServer, redis_prefix: str, tmp_path: Path
) -> None:
    disk = f", disk: {{path: '{tmp_path / 'kept'}'}}"
    async with proxy(shared(redis_server, redis_prefix, disk)) as app:
        await ask(app.url, question())
        await until(lambda: figure(app, "disk_queue") == 0)
        await until(lambda: figure(app, "redis_written_total") >= 1)
        assert app._persistence.states() == {"disk": "ok", "redis": "ok"}


async def test_the_secret_of_all_replicas_is_kept_on_disk(
    proxy: StartProxy, redis_server: RedisServer, redis_prefix: str, tmp_path: Path
) -> None:
    kept = tmp_path / "kept"
    async with proxy(shared(redis_server, redis_prefix)) as first:
        common = first._secret
    async with proxy(shared(redis_server, redis_prefix, f", disk: {{path: '{kept}'}}")) as second:
        assert second._secret == common
        path = kept / secret.FILE
        await until(lambda: path.read_bytes() == common)
    async with proxy(f"persist: {{disk: {{path: '{kept}'}}}}") as alone:
        assert alone._secret == common


async def test_a_configured_secret_stays(
    proxy: StartProxy, redis_server: RedisServer, redis_prefix: str
) -> None:
    async with proxy(shared(redis_server, redis_prefix)):
        settings = shared(redis_server, redis_prefix) + "\ntenancy: {secret: ours}"
        async with proxy(settings) as app:
            assert app._secret == b"ours"


async def test_a_redis_that_has_lost_the_secret_is_told_it_again(
    proxy: StartProxy, redis_prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("proxy.persistence.SECRET_SECONDS", 0.05)
    async with running_redis() as server, proxy(shared(server, redis_prefix)) as app:
        await server.command("FLUSHALL")
        await until_there(server, f"{redis_prefix}:secret")
        async with proxy(shared(server, redis_prefix)) as later:
            assert later._secret == app._secret


async def until_there(server: RedisServer, name: str) -> None:
    """Wait until a key is there."""
    async with asyncio.timeout(10):
        while not await server.command("EXISTS", name):  # noqa: ASYNC110
            await asyncio.sleep(0.02)


async def test_a_redis_that_comes_later_tells_its_secret_then(
    proxy: StartProxy, redis_prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("proxy.persistence.SECRET_SECONDS", 0.05)
    server = RedisServer()
    try:
        async with proxy(shared(server, redis_prefix)) as app:
            own = app._secret
            assert app._persistence.states() == {"redis": "down"}
            await server.start()
            await server.command("SET", f"{redis_prefix}:secret", b"x" * 32)
            await until(lambda: app._secret != own)
            assert app._secret == b"x" * 32
    finally:
        await server.stop()


async def test_by_default_it_is_kept_in_the_users_data_directory(
    upstream: ScriptedUpstream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))

    def configure() -> Config:
        listen = "127.0.0.1:0"
        config = load(None, upstream=upstream.url, listen=listen, admin_listen=listen, env={})
        return replace(config, static=replace(config.static, encoders=()))

    app = App(await asyncio.to_thread(configure))
    await app.start()
    await ask(app.url, question())
    await app.stop()
    names = sorted(path.name for path in (tmp_path / "reprise").iterdir())
    assert "entries.sqlite" in names
    assert "secret" in names


async def test_a_secret_that_is_lost_is_told_of(proxy: StartProxy, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    settings = f"persist: {{disk: {{path: '{kept}'}}}}"
    log: list[bytes] = []
    async with proxy(settings, log=log) as app:
        await ask(app.url, question())
    assert not any(b"is lost" in line for line in log)
    (kept / secret.FILE).unlink()
    async with proxy(settings, log=log) as app:
        assert not (await ask(app.url, question())).is_hit
    assert sum(b"is lost" in line for line in log) == 1
