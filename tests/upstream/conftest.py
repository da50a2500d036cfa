"""The adapter under test, with two connections."""

from collections.abc import AsyncIterator

import pytest

from proxy.tasks import Tasks
from proxy.upstream.client import AiohttpUpstream


@pytest.fixture
async def client() -> AsyncIterator[AiohttpUpstream]:
    """The adapter with two connections."""
    died: list[str] = []
    tasks = Tasks(lambda name, error: died.append(f"{name}: {error!r}"))
    upstream = AiohttpUpstream(
        max_connections=2, max_header_bytes=16384, via=b"1.1 test", tasks=tasks
    )
    yield upstream
    await tasks.drain(1.0)
    await upstream.close()
    assert died == []
