"""Several commands in one round trip: all are answered, or the call has failed."""

import pytest

from proxy.clock import SystemClock
from proxy.redis_link.errors import LinkDown, Reason
from proxy.redis_link.link import RedisLink
from proxy.semantic.redis_batch import ask
from proxy.tasks import Tasks
from proxy.telemetry.log import StructLog
from tests.fakes.redis import running_redis


async def test_an_error_in_one_answer_fails_the_call() -> None:
    async with running_redis() as server:
        link = RedisLink(
            server.url,
            max_connections=2,
            deadline=5.0,
            prefix="test",
            clock=SystemClock(),
            tasks=Tasks(lambda name, error: None),
            log=StructLog(lambda line: None, form="json", level="error", wall=lambda: 0.0),
        )
        assert await ask(link, [], deadline=5.0) == []
        assert await ask(link, [("SET", "a", 1), ("GET", "a")], deadline=5.0) == [True, b"1"]
        with pytest.raises(LinkDown) as caught:
            await ask(link, [("GET", "a"), ("VCARD", "a"), ("GET", "a")], deadline=5.0)
        assert caught.value.reason is Reason.ERROR
        assert await ask(link, [("GET", "a")], deadline=5.0) == [b"1"]
        await link.close()
