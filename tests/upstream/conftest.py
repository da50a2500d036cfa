"""The adapter under test, with two connections."""

from collections.abc import AsyncIterator

import pytest

from proxy.tasks import Tasks
from proxy.telemetry.load import UpstreamLoad
from proxy.upstream.client import AiohttpUpstream
from tests.fakes.clock import FakeClock


@pytest.fixture
def load() -> UpstreamLoad:
    """What is counted of calls; no time passes."""
    return UpstreamLoad(FakeClock().monotonic)


@pytest.fixture
async def client(load: UpstreamLoad) -> AsyncIterator[AiohttpUpstream]:
    """The adapter with two connections."""
    died: list[str] = []
    tasks = Tasks(lambda name, error: died.append(f"{name}: {error!r}"))
    upstream = AiohttpUpstream(
        max_connections=2, max_header_bytes=16384, via=b"1.1 test", tasks=tasks, load=load
    )
    yield upstream
    await tasks.drain(1.0)
    await upstream.close()
    assert died == []
