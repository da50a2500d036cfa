"""Real proxies that share a real Redis, while it fails in every way (C2, G1, B35, B37, B39)."""

import asyncio
import contextlib
import json
import signal
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import h11
import pytest

from tests.conftest import Serve
from tests.fakes.client import ask, call, question
from tests.fakes.process import ProxyProcess
from tests.fakes.redis import RedisServer, running_redis
from tests.fakes.relay import Relay
from tests.fakes.traffic import KNOWN_QUESTIONS, Traffic, echo, expected
from tests.fakes.upstream import Respond, ScriptedUpstream, error_reply

DEADLINE_SECONDS = 0.02
"""`persist.redis.deadline`."""
LONGEST_SECONDS = 2.0
"""No request takes so much longer, whatever Redis does: a hundred times the deadline."""
PROBES_A_SECOND = 1.0


def settings(url: str, directory: Path, deadline: str, **redis: Any) -> str:
    """A configuration of a replica: exact answers only, nothing on disk."""
    return json.dumps(
        {
            "semantic": {"enabled": False},
            "persist": {
                "disk": {"enabled": False, "path": str(directory)},
                "redis": {"url": url, "deadline": deadline, **redis},
            },
            "admin": {"token": "t"},
        }
    )


@dataclass(slots=True)
class Replicas:
    """Two real proxies before one upstream, and the Redis that they share by a relay."""

    one: ProxyProcess
    other: ProxyProcess
    redis: RedisServer
    relay: Relay

    @property
    def urls(self) -> list[str]:
        """Where the two listen."""
        return [self.one.url, self.other.url]

    async def figure(self, process: ProxyProcess, name: str) -> float:
        """A metric of one of them."""
        answer = await call(process.admin_url, "GET", "/metrics")
        for line in answer.body.decode().splitlines():
            if line.startswith((f"reprise_{name} ", f"reprise_{name}_total ")):
                return float(line.split()[1])
        raise AssertionError(name)

    async def attempts(self) -> float:
        """How often the two have asked Redis."""
        return sum([await self.figure(one, "redis_attempts") for one in (self.one, self.other)])

    async def share(self, text: str, *, within: float = 15.0) -> None:
        """Wait until a new answer of the one is the other's too; asks new questions for it."""
        async with asyncio.timeout(within):
            for number in range(1000):
                asked = question(f"{text} {number}")
                assert (await ask(self.one.url, asked)).status == 200
                for _ in range(10):
                    await asyncio.sleep(0.02)
                    only = [("Cache-Control", "only-if-cached")]
                    found = await ask(self.other.url, asked, fields=only)
                    if found.is_hit:
                        assert found.text == expected(f"{text} {number}", "key-a")
                        return
        raise AssertionError("they do not share")


@contextlib.asynccontextmanager
async def sharing(
    serve: Serve, upstream: ScriptedUpstream, directory: Path, deadline: str
) -> AsyncIterator[Replicas]:
    """Two replicas that have shared something already."""
    upstream.respond = echo
    async with running_redis() as redis, Relay(redis.port) as relay:
        file = directory / "replica.yaml"
        written = settings(f"redis://127.0.0.1:{relay.port}/0", directory, deadline)
        await asyncio.to_thread(file.write_text, written)

        def start() -> ProxyProcess:
            return serve("--upstream", upstream.url, "--config", str(file))

        async with start() as one, start() as other:
            both = Replicas(one, other, redis, relay)
            await both.share("at first")
            yield both


@pytest.fixture
async def replicas(
    serve: Serve, upstream: ScriptedUpstream, tmp_path: Path
) -> AsyncIterator[Replicas]:
    """Two who wait for Redis: this machine may be busy, and what they share is looked at."""
    async with sharing(serve, upstream, tmp_path, "2s") as both:
        yield both


@pytest.fixture
async def hasty(
    serve: Serve, upstream: ScriptedUpstream, tmp_path: Path
) -> AsyncIterator[Replicas]:
    """Two who wait no longer than they do as shipped, for a Redis that fails."""
    async with sharing(serve, upstream, tmp_path, "20ms") as both:
        yield both


def hold(upstream: ScriptedUpstream, gate: asyncio.Event) -> Respond:
    """Let no answer begin before the gate is open; how it answered until now."""
    plain = upstream.respond
    upstream.respond = lambda seen: replace(plain(seen), before_head=gate)
    return plain


async def test_what_one_has_learnt_the_other_answers(
    replicas: Replicas, upstream: ScriptedUpstream
) -> None:
    async with Traffic(replicas.urls) as traffic:
        await traffic.asked(300)
    assert traffic.seen.failures == []
    # Twenty questions of two tenants come again and again: each was asked for once.
    known = [seen for seen in upstream.requests if b"known" in seen.body]
    once = {(seen.header("Authorization"), seen.json()["messages"][0]["content"]) for seen in known}
    assert len(once) == 2 * KNOWN_QUESTIONS * 3 // 4
    assert len(known) <= 1.5 * len(once)


async def test_the_same_question_to_both_at_once_costs_one_call(
    replicas: Replicas, upstream: ScriptedUpstream
) -> None:
    gate = asyncio.Event()
    hold(upstream, gate)
    before = upstream.calls
    async with asyncio.TaskGroup() as group:
        asked = [
            group.create_task(ask(url, question("together", stream=stream)))
            for url in replicas.urls
            for stream in (True, True)
        ]
        await upstream.received(before + 1)
        await asyncio.sleep(0.3)  # time for the other replica to make a call, if it would
        gate.set()
        answers = [await task for task in asked]
    assert {answer.text for answer in answers} == {expected("together", "key-a")}
    assert upstream.calls == before + 1


async def test_a_replica_that_dies_in_a_call_does_not_hold_the_others_up(
    replicas: Replicas, upstream: ScriptedUpstream
) -> None:
    gate = asyncio.Event()
    plain = hold(upstream, gate)
    before = upstream.calls
    async with asyncio.TaskGroup() as group:
        lost = group.create_task(_swallow(ask(replicas.one.url, question("doomed"))))
        await upstream.received(before + 1)
        upstream.respond = plain
        waiting = group.create_task(ask(replicas.other.url, question("doomed")))
        await asyncio.sleep(0.2)
        replicas.one.signal(signal.SIGKILL)
        assert (await waiting).text == expected("doomed", "key-a")
        await lost
    gate.set()


async def _swallow(asking: Any) -> None:
    with contextlib.suppress(OSError, AssertionError, h11.RemoteProtocolError):
        await asking


async def test_who_is_revoked_at_one_gets_nothing_at_any(
    replicas: Replicas, upstream: ScriptedUpstream
) -> None:
    await replicas.share("of one who is revoked")
    answer, upstream.respond = upstream.respond, lambda seen: error_reply(401)
    # The other one has never seen the caller accepted.
    assert (await ask(replicas.other.url, question("another"))).status == 401
    assert not (await ask(replicas.other.url, question("of one who is revoked 0"))).is_hit
    async with asyncio.timeout(5):
        while (await ask(replicas.one.url, question("of one who is revoked 0"))).is_hit:  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    upstream.respond = answer
    assert (await ask(replicas.one.url, question("again"))).status == 200


async def test_an_answer_on_its_way_at_one_falls_under_a_purge_at_the_other(
    replicas: Replicas, upstream: ScriptedUpstream
) -> None:
    gate = asyncio.Event()
    plain = hold(upstream, gate)
    before = upstream.calls
    headers = [("Authorization", "Bearer t"), ("Content-Type", "application/json")]
    async with asyncio.TaskGroup() as group:
        asking = group.create_task(ask(replicas.one.url, question("on its way")))
        await upstream.received(before + 1)
        purged = await call(
            replicas.other.admin_url, "POST", "/admin/purge", fields=headers, body=b'{"all": true}'
        )
        assert purged.status == 200
        gate.set()  # before the one has heard of it
        assert (await asking).text == expected("on its way", "key-a")
    upstream.respond = plain
    await replicas.share("after the purge")
    for url in replicas.urls:
        only = [("Cache-Control", "only-if-cached")]
        assert not (await ask(url, question("on its way"), fields=only)).is_hit


# How Redis fails, and how that ends.


async def frozen(replicas: Replicas) -> Callable[[], Any]:
    replicas.redis.pause()
    return replicas.redis.resume


async def killed_and_restarted_empty(replicas: Replicas) -> Callable[[], Any]:
    await replicas.redis.kill()
    return replicas.redis.restart


async def loading(replicas: Replicas) -> Callable[[], Any]:
    """It reads what it had kept, a key in 50 ms, and answers nothing else meanwhile."""
    await replicas.redis.command("SAVE")
    await replicas.redis.kill()
    slowly = ("--key-load-delay", "50000", "--loading-process-events-interval-bytes", "1024")
    await replicas.redis.begin(*slowly)
    return lambda: None


async def slow(replicas: Replicas) -> Callable[[], Any]:
    replicas.relay.delay = 0.2

    def end() -> None:
        replicas.relay.delay = 0.0

    return end


async def a_hole(replicas: Replicas) -> Callable[[], Any]:
    replicas.relay.is_hole = True

    def end() -> None:
        replicas.relay.is_hole = False

    return end


async def cut_in_mid_answer(replicas: Replicas) -> Callable[[], Any]:
    replicas.relay.cuts_answers = True
    replicas.relay.cut()

    def end() -> None:
        replicas.relay.cuts_answers = False

    return end


async def full_and_refusing_writes(replicas: Replicas) -> Callable[[], Any]:
    await replicas.redis.configure("maxmemory-policy", "noeviction")
    await replicas.redis.configure("maxmemory", "1")
    return lambda: replicas.redis.configure("maxmemory", "0")


async def read_only(replicas: Replicas) -> Callable[[], Any]:
    await replicas.redis.command("REPLICAOF", "127.0.0.1", "1")
    return lambda: replicas.redis.command("REPLICAOF", "NO", "ONE")


async def full_of_clients(replicas: Replicas) -> Callable[[], Any]:
    mine = contextlib.AsyncExitStack()
    client = await mine.enter_async_context(replicas.redis.client())
    await client.config_set("maxclients", "1")
    replicas.relay.cut()

    async def end() -> None:
        await client.config_set("maxclients", "1000")
        await mine.aclose()

    return end


async def wrong_password(replicas: Replicas) -> Callable[[], Any]:
    await replicas.redis.configure("requirepass", "another")
    replicas.relay.cut()
    secured = RedisServer(port=replicas.redis.port, password="another")
    return lambda: secured.configure("requirepass", "")


async def flushed(replicas: Replicas) -> Callable[[], Any]:
    await replicas.redis.command("FLUSHALL")
    return lambda: None


FAULTS = [
    frozen,
    killed_and_restarted_empty,
    loading,
    slow,
    a_hole,
    cut_in_mid_answer,
    full_and_refusing_writes,
    read_only,
    full_of_clients,
    wrong_password,
    flushed,
]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
async def test_no_request_notices(hasty: Replicas, fault: Callable[..., Any]) -> None:
    async with Traffic(hasty.urls) as traffic:
        await traffic.asked(100)
        before_it = traffic.seen.slowest()  # what this machine costs
        heal = await fault(hasty)
        await traffic.asked(100)
        before, began = await hasty.attempts(), asyncio.get_running_loop().time()
        await traffic.asked(300)
        lasted = asyncio.get_running_loop().time() - began
        attempts = await hasty.attempts() - before
        ended = heal()
        if ended is not None:
            await ended
        await hasty.share(f"after {fault.__name__}")
        await traffic.asked(100)
    assert traffic.seen.failures == []
    assert traffic.seen.slowest() - before_it < LONGEST_SECONDS
    if fault in (frozen, killed_and_restarted_empty, a_hole, wrong_password):
        # Each of the two tries once a second for clients, and once for its journal.
        assert attempts <= 2 * (4 * PROBES_A_SECOND * lasted + 6)
    for process in (hasty.one, hasty.other):
        assert len(process.events("redis")) <= 10
        assert process.events("background task died") == []


async def test_hits_are_served_while_redis_is_frozen(hasty: Replicas) -> None:
    await ask(hasty.one.url, question("mine"))
    hasty.redis.pause()
    for _ in range(20):
        assert (await ask(hasty.one.url, question("mine"))).is_hit
    ready = await call(hasty.one.admin_url, "GET", "/readyz")
    assert ready.status == 200
    hasty.redis.resume()


async def test_a_new_replica_starts_warm(
    replicas: Replicas, serve: Serve, upstream: ScriptedUpstream, tmp_path: Path
) -> None:
    for number in range(30):
        await ask(replicas.one.url, question(f"warm {number}"))
    await replicas.share("then")
    file = tmp_path / "replica.yaml"
    async with serve("--upstream", upstream.url, "--config", str(file)) as third:
        await third.ready()
        calls = upstream.calls
        for number in range(30):
            assert (await ask(third.url, question(f"warm {number}"))).is_hit
        assert upstream.calls == calls


async def test_nothing_but_our_own_keys_is_touched(replicas: Replicas) -> None:
    await replicas.redis.command("SET", "another", "application")
    headers = [("Authorization", "Bearer t"), ("Content-Type", "application/json")]
    purged = await call(
        replicas.one.admin_url, "POST", "/admin/purge", fields=headers, body=b'{"all": true}'
    )
    assert purged.status == 200
    await replicas.share("after the purge")
    names = await replicas.redis.command("KEYS", "*")
    assert {name for name in names if not name.startswith(b"reprise:")} == {b"another"}
