"""`workers: 2` as real processes: one address, one admin listener, and no end of one is felt."""

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import h11
import pytest

from tests.conftest import Serve
from tests.fakes.answers import chat_stream
from tests.fakes.client import CHAT, Answer, Connection, call, connect, posting, question
from tests.fakes.process import ProxyProcess
from tests.fakes.redis import RedisServer
from tests.fakes.upstream import ScriptedUpstream, sse_reply

TOKEN = "s3cret-token"
SETTINGS = (
    f"workers: 2\nadmin: {{token: {TOKEN}}}\nsemantic: {{enabled: false}}\n"
    "persist: {disk: {enabled: false}}\n"
)
FRAMES = chat_stream(["bis", " zum", " Ende 完"])
DEADLINE = 20.0


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "workers.yaml"
    file.write_text(SETTINGS)
    return file


@pytest.fixture
async def process(
    serve: Serve, upstream: ScriptedUpstream, file: Path
) -> AsyncIterator[ProxyProcess]:
    """Two workers and their supervisor."""
    async with serve("--upstream", upstream.url, "--config", str(file)) as process:
        yield process


def children(pid: int) -> list[int]:
    """The processes that a process has begun and that have not ended."""
    return [
        int(child)
        for task in Path(f"/proc/{pid}/task").iterdir()
        for child in (task / "children").read_text().split()
    ]


def lives(pid: int) -> bool:
    """Whether a process runs; one that has ended and that nobody has asked after does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


async def gone(*pids: int) -> None:
    """Wait until processes have ended."""
    async with asyncio.timeout(DEADLINE):
        while any(map(lives, pids)):  # noqa: ASYNC110 - not our children: nothing tells
            await asyncio.sleep(0.01)


async def admin(process: ProxyProcess, method: str, path: str, body: bytes | None = None) -> Answer:
    shown = [("Authorization", f"Bearer {TOKEN}")]
    return await call(process.admin_url, method, path, fields=shown, body=body)


async def metric(process: ProxyProcess, name: str) -> float:
    """A sample as all workers together have it."""
    for line in (await admin(process, "GET", "/metrics")).body.decode().splitlines():
        if line.startswith(f"{name} "):
            return float(line.rpartition(" ")[2])
    raise AssertionError(name)


async def asked(client: Connection, text: str = "Why?") -> Answer:
    return await client.ask("POST", CHAT, fields=posting(), body=question(text))


@contextlib.asynccontextmanager
async def one_of_each(process: ProxyProcess) -> AsyncIterator[list[Connection]]:
    """A connection to every worker; ids of requests tell them apart."""
    async with contextlib.AsyncExitStack() as stack:
        found: dict[str, Connection] = {}
        for _ in range(100):
            client = await stack.enter_async_context(connect(process.url))
            answer = await client.ask("GET", "/v1/models")
            found.setdefault((answer.header("x-request-id") or "")[:12], client)
            if len(found) == 2:
                break
        assert len(found) == 2
        yield list(found.values())


async def test_workers_share_the_address_and_are_one_to_the_operator(
    process: ProxyProcess,
) -> None:
    async with one_of_each(process) as clients:
        for number, client in enumerate((*clients, *clients)):
            assert (await asked(client)).is_hit is (number > 1)
        hit = await asked(clients[0])
        assert (await admin(process, "GET", "/livez")).body == b"ok\n"
        assert (await admin(process, "GET", "/readyz")).body == b"ok\n"
        detail = (await admin(process, "GET", "/readyz?verbose")).json()
        assert {one["state"] for one in detail["workers"].values()} == {"ok"}
        labels = 'cache="exact",operation="chat",status_class="2xx"'
        assert await metric(process, f"reprise_requests_total{{{labels}}}") == 3
        assert await metric(process, "reprise_entries") == 1
        assert await metric(process, "reprise_workers") == 2
        (row,) = (await admin(process, "GET", "/admin/top")).json()["entries"]
        assert (row["hits"], row["entry"]) == (3, row["entry"] or "")
        (row,) = (await admin(process, "GET", "/admin/misses")).json()["misses"]
        assert row["count"] == 2
        models = (await admin(process, "GET", "/admin/models")).json()
        assert models == {"models": [{"model": "m1", "entries": 1}]}
        opinion = (
            b'{"entry": "%s", "verdict": "right"}' % (hit.header("x-cache-entry") or "").encode()
        )
        assert (await admin(process, "POST", "/admin/feedback", opinion)).status == 200
        purged = await admin(process, "POST", "/admin/purge", b'{"all": true}')
        assert purged.json() == {"purged": 1}
        for client in clients:
            assert not (await asked(client)).is_hit
    for request in process.events("request"):
        assert request["worker"] in {1, 2}
    assert {line["worker"] for line in process.events("worker listening")} == {1, 2}
    assert process.stderr == ""


async def test_without_the_token_nothing_is_allowed(process: ProxyProcess) -> None:
    for method, path in (("POST", "/admin/purge"), ("GET", "/admin/top"), ("GET", "/admin/x")):
        assert (await call(process.admin_url, method, path, body=b"{}")).status == 401


async def test_a_killed_worker_costs_only_what_it_was_at_and_comes_back(
    process: ProxyProcess, upstream: ScriptedUpstream
) -> None:
    clients = 8
    failed, answered, stop = 0, 0, asyncio.Event()

    async def load() -> None:
        nonlocal failed, answered
        while not stop.is_set():
            try:
                async with connect(process.url) as client:
                    while not stop.is_set():
                        assert (await asked(client)).status == 200
                        answered += 1
            except (OSError, h11.RemoteProtocolError):
                failed += 1

    url, victim = process.url, children(process.pid)[0]
    async with asyncio.TaskGroup() as group:
        for _ in range(clients):
            group.create_task(load())
        await process.logged("request", times=50)
        os.kill(victim, signal.SIGKILL)
        died = await process.logged("worker died")
        await process.logged("worker listening", times=3)
        before = answered
        await process.logged("request", times=len(process.events("request")) + 50)
        assert (await admin(process, "GET", "/livez")).status == 200
        stop.set()
    assert answered > before
    assert failed <= clients
    assert (died["why"], died["level"]) == ("SIGKILL", "error")
    assert await metric(process, "reprise_worker_restarts_total") == 1
    back = process.events("worker listening")[2]
    assert back["worker"] == died["worker"]
    assert back["url"] == url
    assert back["timestamp"] - died["timestamp"] < 10  # 2 s where the machine is not shared
    async with one_of_each(process):
        pass


async def test_a_worker_comes_back_though_the_file_is_broken_meanwhile(
    process: ProxyProcess, file: Path
) -> None:
    await asyncio.to_thread(file.write_text, "workers: many")
    process.signal(signal.SIGHUP)
    await process.logged("configuration failed", times=2)
    os.kill(children(process.pid)[1], signal.SIGKILL)
    await process.logged("worker listening", times=3)
    await process.logged("configuration failed", times=3)
    async with one_of_each(process) as clients:
        for client in clients:
            assert (await asked(client)).status == 200
    assert await metric(process, "reprise_config_last_reload_successful") == 0


async def test_running_streams_end_whole(process: ProxyProcess, upstream: ScriptedUpstream) -> None:
    gate = asyncio.Event()
    async with contextlib.AsyncExitStack() as stack:
        clients = await stack.enter_async_context(one_of_each(process))
        for number, client in enumerate(clients):
            upstream.will(sse_reply(FRAMES[0], gate, *FRAMES[1:]))
            body = question(f"Q{number}", stream=True)
            await client.send("POST", CHAT, fields=posting(), body=body)
            await client.head()
        process.signal(signal.SIGTERM)
        await process.logged("draining", times=2)
        with pytest.raises(OSError):  # noqa: PT011 - refused or reset, as the system likes
            async with connect(process.url):
                pass
        ready = await admin(process, "GET", "/readyz")
        assert (ready.status, ready.body) == (503, b"draining\n")
        gate.set()
        for client in clients:
            assert await client.rest() == b"".join(FRAMES)
    assert await process.wait() == 0
    assert len(process.events("stopped")) == 3
    assert process.events("worker died") == []


async def test_a_second_signal_ends_all_at_once(
    serve: Serve, upstream: ScriptedUpstream, file: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "tmp"
    folder.mkdir()
    process = serve(
        *("--upstream", upstream.url, "--config", str(file)), environment={"TMPDIR": str(folder)}
    )
    async with process:
        await _end_twice(process, upstream)
    assert list(folder.iterdir()) == []


async def _end_twice(process: ProxyProcess, upstream: ScriptedUpstream) -> None:
    workers = children(process.pid)
    upstream.will(sse_reply(FRAMES[0], asyncio.Event()))
    async with connect(process.url) as client:
        await client.send("POST", CHAT, fields=posting(), body=question(stream=True))
        await client.head()
        process.signal(signal.SIGTERM)
        await process.logged("draining", times=2)
        process.signal(signal.SIGTERM)
        assert await process.wait() == 1
    await gone(*workers)


async def test_a_worker_that_does_not_obey_is_ended(
    serve: Serve, upstream: ScriptedUpstream, file: Path
) -> None:
    await asyncio.to_thread(file.write_text, SETTINGS + "shutdown: {grace: 100ms}\n")
    async with serve("--upstream", upstream.url, "--config", str(file)) as process:
        stuck = children(process.pid)[0]
        os.kill(stuck, signal.SIGSTOP)
        process.signal(signal.SIGTERM)
        try:
            assert await process.wait() == 1
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(stuck, signal.SIGKILL)
        await gone(stuck)


async def test_no_worker_outlives_a_killed_supervisor(process: ProxyProcess) -> None:
    workers = children(process.pid)
    assert len(workers) == 2
    process.signal(signal.SIGKILL)
    assert await process.wait() == -signal.SIGKILL
    await gone(*workers)


async def test_all_reload_at_a_signal_and_at_a_call(process: ProxyProcess, file: Path) -> None:
    process.signal(signal.SIGHUP)
    await process.logged("configuration unchanged", times=2)
    await asyncio.to_thread(file.write_text, SETTINGS + "ttl: {exact: 1h}\n")
    answer = await admin(process, "POST", "/admin/reload", b"")
    assert (answer.status, answer.json()["problems"]) == (200, [])
    assert (await admin(process, "GET", "/admin/config")).json()["ttl"]["exact"] == "1h"
    async with one_of_each(process) as clients:
        for client in clients:
            await asked(client)
            assert "ttl=3" in (await asked(client)).cache


async def test_a_taken_port_is_named_once(
    serve: Serve, process: ProxyProcess, upstream: ScriptedUpstream, file: Path
) -> None:
    address = process.url.removeprefix("http://")
    other = serve("--upstream", upstream.url, "--config", str(file), "--listen", address)
    await other.start()
    assert await other.wait() == 2
    await other.stop()
    assert other.stderr.count("Cannot listen on listen 127.0.0.1") == 1
    assert other.stdout == ""


async def test_workers_that_cannot_begin_are_told_of_once(
    serve: Serve, upstream: ScriptedUpstream, file: Path, tmp_path: Path
) -> None:
    folder = tmp_path / ("long" * 30)  # longer than the name of a socket may be
    folder.mkdir()
    process = serve(
        *("--upstream", upstream.url, "--config", str(file)),
        environment={"TMPDIR": str(folder)},
    )
    await process.start()
    assert await process.wait() == 2
    await process.stop()
    assert process.stderr.count("too long") == 1
    assert process.events("worker died") == []
    assert list(folder.iterdir()) == []


async def test_a_signal_at_the_start_ends_all(
    serve: Serve, upstream: ScriptedUpstream, file: Path
) -> None:
    process = serve("--upstream", upstream.url, "--config", str(file))
    await process.start()
    async with asyncio.timeout(DEADLINE):
        while not (workers := children(process.pid)):  # noqa: ASYNC110 - nothing tells
            await asyncio.sleep(0.01)
    process.signal(signal.SIGTERM)
    assert await process.wait() in {0, -signal.SIGTERM}
    await process.stop()
    await gone(*workers)


@pytest.mark.parametrize("kept_by", ["redis", "disk"])
async def test_what_one_worker_has_learnt_the_other_serves(
    serve: Serve,
    upstream: ScriptedUpstream,
    tmp_path: Path,
    redis_server: RedisServer,
    redis_prefix: str,
    kept_by: str,
) -> None:
    persist = {
        "disk": f"{{disk: {{path: '{tmp_path}/disk'}}}}",
        "redis": f"{{disk: {{enabled: false}}, "
        f"redis: {{url: '{redis_server.url}', prefix: {redis_prefix}}}}}",
    }
    file = tmp_path / "shared.yaml"
    file.write_text(f"workers: 2\nsemantic: {{enabled: false}}\npersist: {persist[kept_by]}\n")
    lookup = [*posting(), ("Cache-Control", "only-if-cached")]
    async with (
        serve("--upstream", upstream.url, "--config", str(file)) as process,
        one_of_each(process) as (one, other),
    ):
        first = await asked(one)
        async with asyncio.timeout(DEADLINE):  # docs/benchmarks.md has how long it takes
            again = await other.ask("POST", CHAT, fields=lookup, body=question("Why?"))
            while not again.is_hit:
                again = await other.ask("POST", CHAT, fields=lookup, body=question("Why?"))
        assert again.body == first.body
    assert sum(seen.target == CHAT for seen in upstream.requests) == 1
