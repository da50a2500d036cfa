"""The journal in Redis does what every journal must, and lives with whatever Redis does."""

from collections.abc import AsyncIterator

import pytest

from proxy.ports import Journal
from tests.contracts.journal import JournalContract
from tests.fakes.redis import RedisServer
from tests.store.redis_replicas import Replica


class TestRedisJournal(JournalContract):
    """Against a real server."""

    @pytest.fixture(autouse=True)
    async def _place(self, redis_server: RedisServer, redis_prefix: str) -> AsyncIterator[None]:
        self._url, self._prefix = redis_server.url, redis_prefix
        self._made: list[Replica] = []
        yield
        for one in self._made:
            await one.close()

    def make(self) -> Journal:
        """A journal of a new process."""
        self._made.append(Replica(self._url, self._prefix))
        return self._made[-1].journal
