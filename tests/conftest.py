"""The few things that many tests need. Everything here is real but the clock."""

import asyncio
import contextlib
import gc
import itertools
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

import pytest
from blockbuster import blockbuster_ctx
from hypothesis import settings

from proxy.app import App
from proxy.clock import SystemClock
from proxy.config import Config, load
from proxy.ports import Clock
from proxy.redis_link.link import RedisLink
from proxy.tasks import Tasks
from tests.fakes.clock import FakeClock
from tests.fakes.lines import Lines
from tests.fakes.llama import running_llama
from tests.fakes.models import prepared_models
from tests.fakes.process import ProxyProcess
from tests.fakes.redis import RedisServer
from tests.fakes.upstream import ScriptedUpstream

StartProxy: TypeAlias = Callable[..., AbstractAsyncContextManager[App]]
"""`async with proxy("ttl: ...", upstream=URL) as app`; the arguments have defaults."""
Serve: TypeAlias = Callable[..., ProxyProcess]
"""`async with serve("--upstream", URL) as process`; both listeners take free ports."""
RedisLinks: TypeAlias = Callable[..., AbstractAsyncContextManager[RedisLink]]
"""`async with redis_links(URL) as link`; the arguments have defaults."""

settings.register_profile("shared machine", deadline=None)  # the time of one example says nothing
settings.load_profile("shared machine")


def pytest_collection_finish() -> None:
    """Ten thousand tests are a large heap: nobody is to pause for walking through it again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def _blocking_calls_fail() -> Iterator[None]:
    """A call of the proxy's own code that blocks the event loop raises."""
    with blockbuster_ctx("proxy") as blockbuster:
        for function in blockbuster.functions.values():
            function.can_block_in("proxy/app.py", "__init__")  # nothing is served yet
            function.can_block_in("proxy/telemetry/exporter.py", "__init__")  # nor here
            function.can_block_in("proxy/cli/evaluate.py", "_progress")  # nobody is served
            function.can_block_in("proxy/cli/warm.py", "_track")  # nor here
            function.can_block_in("proxy/telemetry/process.py", "collect")  # /proc is no disk
        yield


@pytest.fixture(scope="session", autouse=True)
def _the_users_own_data_is_left_alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What keeps things in the user's data directory keeps them elsewhere."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REPRISE_MODELS", str(prepared_models()))
        patch.setenv("XDG_DATA_HOME", str(tmp_path_factory.mktemp("data")))
        yield


@pytest.fixture
def clock() -> FakeClock:
    """A clock that stands still until the test moves it."""
    return FakeClock()


@pytest.fixture
async def upstream() -> AsyncIterator[ScriptedUpstream]:
    """A server that answers as the test tells it; untouched, every question gets an answer."""
    async with ScriptedUpstream() as server:
        yield server


@pytest.fixture(scope="session")
def llama() -> Iterator[str]:
    """The URL of a real llama.cpp server."""
    with running_llama() as url:
        yield url


@pytest.fixture(scope="session")
def redis_server() -> Iterator[RedisServer]:
    """A real Redis that all tests share: use `redis_prefix`, and break another one."""
    server = RedisServer()
    # In a thread, which has no event loop yet.
    with ThreadPoolExecutor(1) as thread:
        try:
            thread.submit(asyncio.run, server.start()).result()
            yield server
        finally:
            thread.submit(asyncio.run, server.stop()).result()


_PREFIXES = itertools.count()


@pytest.fixture
def redis_prefix() -> str:
    """What begins the names of this test's keys, and of no other's."""
    return f"reprise-test-{next(_PREFIXES)}"


@pytest.fixture
def redis_log() -> Lines:
    """What the connections of `redis_links` log."""
    return Lines()


@pytest.fixture
def redis_links(redis_log: Lines) -> RedisLinks:
    """Connect to a Redis of the test's own; a task that dies fails the test."""

    @contextlib.asynccontextmanager
    async def make(
        url: str,
        *,
        clock: Clock | None = None,
        deadline: float = 0.5,
        max_connections: int = 4,
        prefix: str = "reprise",
    ) -> AsyncIterator[RedisLink]:
        died: list[str] = []
        tasks = Tasks(lambda name, error: died.append(f"{name}: {error!r}"))
        link = RedisLink(
            url,
            max_connections=max_connections,
            deadline=deadline,
            prefix=prefix,
            clock=clock or SystemClock(),
            tasks=tasks,
            log=redis_log,
        )
        try:
            yield link
        finally:
            await tasks.drain(1.0)
            await link.close()
            assert not died  # besides what the test itself failed of, which it may have caused

    return make


@pytest.fixture
async def redis_link(
    redis_server: RedisServer, redis_links: RedisLinks, redis_prefix: str
) -> AsyncIterator[RedisLink]:
    """A connection to the server that all tests share."""
    async with redis_links(redis_server.url, prefix=redis_prefix) as link:
        yield link


@pytest.fixture
def proxy(tmp_path: Path, upstream: ScriptedUpstream) -> StartProxy:
    """Start the app in this process, before the scripted upstream unless told otherwise.

    Settings are the YAML of a configuration file; those that do not speak of `semantic` load no
    encoder, and those without `persist.disk.path` keep nothing on disk. `log` receives the log
    lines. Several may run at once.
    """
    numbers = itertools.count()

    @contextlib.asynccontextmanager
    async def start(
        settings: str = "{}",
        *,
        upstream: str | None = upstream.url,
        clock: Clock | None = None,
        log: list[bytes] | None = None,
    ) -> AsyncIterator[App]:
        file = tmp_path / f"reprise-{next(numbers)}.yaml"

        def configure() -> Config:
            file.write_text(settings)
            config = load(
                file, upstream=upstream, listen="127.0.0.1:0", admin_listen="127.0.0.1:0", env={}
            )
            static = config.static
            if "semantic" not in settings:
                static = replace(static, encoders=())
            if not static.disk_path:
                static = replace(static, disk_enabled=False)
            return replace(config, static=static)

        config = await asyncio.to_thread(configure)
        lines: list[bytes] = [] if log is None else log
        app = App(config, write=lines.append, clock=clock)
        await app.start()
        try:
            yield app
        finally:
            await app.stop()

    return start


@pytest.fixture
def serve(tmp_path: Path) -> Serve:
    """The real command, `python -m proxy serve`, as a child process.

    Without a configuration file of the test's own it loads encoders only with `semantic`.
    """
    models = {"REPRISE_MODELS": str(prepared_models()), "XDG_DATA_HOME": str(tmp_path / "data")}
    plain = tmp_path / "plain.yaml"
    plain.write_text("semantic: {enabled: false}")

    def start(
        *arguments: str, environment: dict[str, str] | None = None, semantic: bool = False
    ) -> ProxyProcess:
        listeners = ("--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0")
        environment = models | (environment or {})
        if not semantic and "--config" not in arguments:
            arguments = (*arguments, "--config", str(plain))
        return ProxyProcess("serve", *listeners, *arguments, environment=environment)

    return start
