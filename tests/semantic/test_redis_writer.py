"""Writing behind the requests: no offer is taken twice, nothing is lost while Redis is away."""

import asyncio

from proxy.clock import SystemClock
from proxy.redis_link.link import RedisLink
from proxy.semantic.redis_commands import Add, Names, Write
from proxy.semantic.redis_queue import Waiting
from proxy.semantic.redis_writer import Writer
from proxy.tasks import Tasks
from proxy.telemetry.log import StructLog
from tests.contracts.vector_index import HERE, key, vector
from tests.fakes.redis import RedisServer, running_redis

NAMES = Names("test", "model", 16)
SET = NAMES.vectors(HERE)


def add(number: int, *, like: int, is_offer: bool = False) -> Add:
    return Add(HERE, key(number), vector(like).tobytes(), 4e9, is_offer)


class Stage:
    """A writer that runs."""

    def __init__(self, server: RedisServer) -> None:
        self.server = server
        self.tasks = Tasks(lambda name, error: None)
        self.link = RedisLink(
            server.url,
            max_connections=4,
            deadline=5.0,
            prefix="test",
            clock=SystemClock(),
            tasks=self.tasks,
            log=StructLog(lambda line: None, form="json", level="error", wall=lambda: 0.0),
        )
        self.names: Names | None = NAMES
        self.written: list[Write] = []
        self.waiting = Waiting(100)
        self.writer = Writer(
            self.link,
            self.waiting,
            names=lambda: self.names,
            on_written=self.written.extend,
            on_unsupported=lambda: None,
        )
        self.stop = self.tasks.keep(self.writer.run, "writer", every=10.0)

    def put(self, *writes: Write) -> None:
        for write in writes:
            self.waiting.put(write)
        self.writer.wake()

    async def done(self) -> None:
        await self.writer.done(within=15.0)

    async def similarity(self, number: int, like: int) -> float:
        found = await self.server.command(
            "VSIM", SET, "FP32", vector(like).tobytes(), "WITHSCORES", "COUNT", 9
        )
        return 2 * float(found[key(number).hex().encode()]) - 1

    async def close(self) -> None:
        self.stop()
        await self.tasks.drain(1.0)
        await self.link.close()


async def test_an_offer_leaves_what_is_there_and_adds_what_is_not() -> None:
    async with running_redis() as server:
        stage = Stage(server)
        stage.put(add(1, like=1))
        await stage.done()
        stage.put(add(1, like=10, is_offer=True), add(2, like=20, is_offer=True))
        await stage.done()
        assert await server.command("VCARD", SET) == 2
        assert await stage.similarity(1, 1) > 0.999
        assert await stage.similarity(2, 20) > 0.999
        assert [write.key for write in stage.written] == [key(1), key(1), key(2)]
        await stage.close()


async def test_what_waits_is_written_when_redis_is_back_and_names_are_known() -> None:
    async with running_redis() as server:
        stage = Stage(server)
        stage.names = None
        stage.put(add(1, like=1))
        await asyncio.sleep(0)
        assert stage.written == []
        await server.kill()
        stage.names = NAMES
        stage.put(add(2, like=2))
        await server.start()
        await stage.done()
        assert await server.command("VCARD", SET) == 2
        await stage.close()


async def test_a_redis_that_takes_no_writes_is_waited_for() -> None:
    async with running_redis() as server:
        stage = Stage(server)
        await server.command("REPLICAOF", "127.0.0.1", 1)
        stage.put(add(1, like=1))
        await asyncio.sleep(0)
        await server.command("REPLICAOF", "NO", "ONE")
        await stage.done()
        assert (stage.waiting.left_out, await server.command("VCARD", SET)) == (0, 1)
        await stage.close()
