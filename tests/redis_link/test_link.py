"""The connection to Redis, against real servers and one that lies."""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Callable

import pytest

from proxy.redis_link.errors import LinkDown, Reason
from proxy.redis_link.link import RedisLink
from proxy.redis_link.urls import Client
from tests.conftest import RedisLinks
from tests.fakes.clock import FakeClock
from tests.fakes.lines import Lines
from tests.fakes.raw_redis import Cut, RawRedis
from tests.fakes.redis import (
    RedisServer,
    running_cluster,
    running_redis,
    running_sentinel,
    tls_front,
    until,
)

SOON = 2.0
"""Seconds that a call may take where time is not what is tested."""


async def ask(link: RedisLink, *words: str, deadline: float = SOON, **how: bool) -> object:
    """Send a command."""

    async def work(client: Client) -> object:
        answer: object = await client.execute_command(*words)
        return answer

    return await link.call(work, deadline=deadline, **how)


async def why(link: RedisLink, *words: str, deadline: float = SOON, **how: bool) -> Reason:
    """Why a command fails."""
    with pytest.raises(LinkDown) as caught:
        await ask(link, *words, deadline=deadline, **how)
    return caught.value.reason


def works(link: RedisLink) -> Callable[[], "asyncio.Future[bool]"]:
    """For `until`: whether it answers."""

    async def answers() -> bool:
        try:
            await ask(link, "GET", "reprise:x", deadline=0.5)
        except LinkDown:
            return False
        return True

    return answers  # type: ignore[return-value]  # a coroutine function is as good


@contextlib.asynccontextmanager
async def running_limited() -> AsyncIterator[tuple[RedisServer, str]]:
    """A server, and a URL by which one may touch our keys only."""
    async with running_redis(*["--user", "me", "on", ">secret", "~reprise*", "+@all"]) as server:
        yield server, server.url.replace("//", "//me:secret@")


async def silent(_: list[bytes]) -> bytes:
    """For RawRedis: never answers."""
    await asyncio.Event().wait()
    raise AssertionError


async def test_it_asks_and_gives_the_answer(redis_link: RedisLink, redis_prefix: str) -> None:
    await ask(redis_link, "SET", f"{redis_prefix}:a", "1")
    assert await ask(redis_link, "GET", f"{redis_prefix}:a") == b"1"


@pytest.mark.parametrize("protocol", [2, 3])
async def test_both_protocols_are_spoken(
    redis_links: RedisLinks, redis_server: RedisServer, protocol: int
) -> None:
    async with redis_links(f"{redis_server.url}?protocol={protocol}") as link:
        assert await ask(link, "GET", "reprise:nothing") is None


async def test_over_tls(redis_links: RedisLinks, redis_server: RedisServer) -> None:
    async with tls_front(redis_server) as (port, authority):
        url = f"rediss://localhost:{port}/0"
        async with redis_links(f"{url}?ssl_ca_certs={authority}") as link:
            assert await ask(link, "GET", "reprise:nothing") is None
        async with redis_links(url) as link:  # not trusted
            assert await why(link, "GET", "reprise:nothing") is Reason.REFUSED


async def test_over_a_unix_socket(redis_links: RedisLinks) -> None:
    async with running_redis() as server:
        await server.restart("--unixsocket", str(server.directory / "s"))
        async with redis_links(f"unix://{server.directory}/s") as link:
            assert await ask(link, "SET", "reprise:a", "1") is True


async def test_a_cluster_answers_for_every_key(redis_links: RedisLinks) -> None:
    async with running_cluster() as cluster, redis_links(cluster.url) as link:
        for number in range(30):
            await ask(link, "SET", f"reprise:{number}", str(number))
        assert [await ask(link, "GET", f"reprise:{number}") for number in range(30)] == [
            str(number).encode() for number in range(30)
        ]


async def test_a_new_master_is_found_by_its_sentinel(redis_links: RedisLinks) -> None:
    async with (
        running_sentinel() as (sentinel, master, replica),
        redis_links(sentinel.url) as link,
    ):
        await ask(link, "SET", "reprise:a", "1", writes=True)
        await master.kill()
        await sentinel.promoted(replica)

        async def writes() -> bool:
            try:
                await ask(link, "SET", "reprise:a", "2", writes=True)
            except LinkDown:
                return False
            return True

        await until(writes)
        assert await replica.command("GET", "reprise:a") == b"2"


async def test_a_late_answer_goes_to_nobody(redis_links: RedisLinks) -> None:
    release = asyncio.Event()

    async def late(words: list[bytes]) -> bytes:
        if words[1] == b"slow":
            await release.wait()
        return b"$%d\r\n%s\r\n" % (len(words[1]), words[1])

    async with RawRedis(late) as server, redis_links(server.url, max_connections=1) as link:
        assert await ask(link, "GET", "first") == b"first"
        assert await why(link, "GET", "slow", deadline=0.02) is Reason.TIMEOUT
        release.set()
        for number in range(20):
            assert await ask(link, "GET", f"next-{number}") == f"next-{number}".encode()
        assert server.connections == 2


async def test_the_answer_of_a_cancelled_call_goes_to_nobody(redis_links: RedisLinks) -> None:
    asked, release = asyncio.Event(), asyncio.Event()

    async def late(words: list[bytes]) -> bytes:
        if words[1] == b"slow":
            asked.set()
            await release.wait()
        return b"$%d\r\n%s\r\n" % (len(words[1]), words[1])

    async with RawRedis(late) as server, redis_links(server.url, max_connections=1) as link:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(ask(link, "GET", "slow"))
            await asked.wait()
            task.cancel()
        release.set()
        assert await ask(link, "GET", "next") == b"next"


async def test_a_late_welcome_is_no_answer(redis_links: RedisLinks) -> None:
    late = asyncio.Event()

    async def welcome(words: list[bytes]) -> bytes:
        if words[0] == b"SELECT":
            await late.wait()
        return b"+OK\r\n"

    async def echo(words: list[bytes]) -> bytes:
        return b"$%d\r\n%s\r\n" % (len(words[1]), words[1])

    async with RawRedis(echo, setup=welcome) as server:
        url = server.url.replace("//", "//:secret@").removesuffix("0") + "7"
        async with redis_links(url, max_connections=1) as link:
            assert await why(link, "GET", "first", deadline=0.05) is Reason.TIMEOUT
            late.set()
            assert await ask(link, "GET", "second") == b"second"
            assert await ask(link, "GET", "third") == b"third"


async def test_no_answer_goes_astray_whatever_is_cancelled(redis_links: RedisLinks) -> None:
    chance = random.Random(7)

    async def echo(words: list[bytes]) -> bytes:
        await asyncio.sleep(chance.choice((0.0, 0.0, 0.001, 0.003)))
        return b"$%d\r\n%s\r\n" % (len(words[1]), words[1])

    async with RawRedis(echo) as server, redis_links(server.url, max_connections=8) as link:
        asked: dict[str, asyncio.Task[object]] = {}
        async with asyncio.TaskGroup() as group:
            for number in range(400):
                asked[str(number)] = group.create_task(ask(link, "GET", str(number)))
                for _ in range(chance.randrange(8)):
                    await asyncio.sleep(0)
                if chance.random() < 0.5:
                    asked[str(chance.randrange(number + 1))].cancel()
        answers = {name: task.result() for name, task in asked.items() if not task.cancelled()}
        assert 100 < len(answers) < 400
        assert answers == {name: name.encode() for name in answers}
        # Every connection can be used again.
        again = await asyncio.gather(*(ask(link, "GET", str(number)) for number in range(20)))
        assert again == [str(number).encode() for number in range(20)]


async def test_a_late_answer_to_a_pipeline_goes_to_nobody(redis_links: RedisLinks) -> None:
    release = asyncio.Event()

    async def late(words: list[bytes]) -> bytes:
        if words[1] == b"second":
            await release.wait()
        return b"$%d\r\n%s\r\n" % (len(words[1]), words[1])

    async def two(client: Client) -> object:
        pipe = client.pipeline()
        pipe.execute_command("GET", "first")
        pipe.execute_command("GET", "second")
        return await pipe.execute()

    async with RawRedis(late) as server, redis_links(server.url, max_connections=1) as link:
        with pytest.raises(LinkDown):
            await link.call(two, deadline=0.05)
        release.set()
        assert await ask(link, "GET", "next") == b"next"


@pytest.mark.parametrize("begun", [b"", b"$5\r\nab", b"$5\r", b"*2\r\n$1\r\na\r\n"])
async def test_a_connection_cut_in_the_midst_of_an_answer(
    redis_links: RedisLinks, begun: bytes
) -> None:
    cuts = [True]

    async def half(words: list[bytes]) -> bytes | Cut:
        return Cut(begun) if cuts else b"$1\r\nx\r\n"

    async with RawRedis(half) as server, redis_links(server.url) as link:
        assert await why(link, "GET", "a") is Reason.CLOSED
        cuts.clear()
        assert await ask(link, "GET", "a") == b"x"


async def test_a_server_that_became_read_only_is_looked_up_anew(redis_links: RedisLinks) -> None:
    async def demoted(words: list[bytes]) -> bytes:
        return b"-READONLY You can't write against a read only replica.\r\n"

    async with RawRedis(demoted) as server, redis_links(server.url) as link:
        await why(link, "SET", "a", "1", writes=True)

        async def is_anew() -> bool:
            await why(link, "GET", "a")
            return server.connections > 1

        await until(is_anew)


async def test_what_is_not_redis_is_told_as_such(redis_links: RedisLinks) -> None:
    async def web(words: list[bytes]) -> bytes:
        return b"HTTP/1.1 400 Bad Request\r\n\r\n"

    async with RawRedis(web) as server, redis_links(server.url) as link:
        assert await why(link, "GET", "a") is Reason.PROTOCOL


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("LOADING Redis is loading the dataset in memory", Reason.LOADING),
        ("MASTERDOWN Link with MASTER is down", Reason.LOADING),
        ("ERR max number of clients reached", Reason.MAXCLIENTS),
        ("NOAUTH Authentication required.", Reason.AUTH),
        ("WRONGPASS invalid username-password pair", Reason.AUTH),
        ("NOPERM User x has no permissions", Reason.DENIED),
        ("BUSY Redis is busy running a script.", Reason.BUSY),
        ("CLUSTERDOWN Hash slot not served", Reason.CLUSTER),
        ("OOM command not allowed when used memory > 'maxmemory'.", Reason.OOM),
        ("ERR Error running script: @user_script:1: -OOM command not allowed", Reason.OOM),
        ("READONLY You can't write against a read only replica.", Reason.READONLY),
        ("MISCONF Redis is configured to save RDB snapshots", Reason.MISCONF),
        ("NOREPLICAS Not enough good replicas to write.", Reason.MISCONF),
        ("WRONGTYPE Operation against a key", Reason.ERROR),
    ],
)
async def test_what_it_answers_is_told_by_its_reason(
    redis_links: RedisLinks, answer: str, reason: Reason
) -> None:
    async def refuse(words: list[bytes]) -> bytes:
        return f"-{answer}\r\n".encode()

    async with RawRedis(refuse) as server, redis_links(server.url) as link:
        assert await why(link, "GET", "a") is reason
        assert link.failures[reason] == 1


async def test_nobody_there_is_refused(redis_links: RedisLinks) -> None:
    async with running_redis() as server:
        await server.kill()
        async with redis_links(server.url) as link:
            assert await why(link, "GET", "a") is Reason.REFUSED


async def test_a_wrong_password(redis_links: RedisLinks) -> None:
    async with running_redis("--requirepass", "right", password="right") as server:
        wrong = server.url.replace("//", "//:wrong@")
        async with redis_links(wrong) as link:
            assert await why(link, "GET", "reprise:a") is Reason.AUTH
        async with redis_links(server.url) as link:
            assert await why(link, "GET", "reprise:a") is Reason.AUTH
        async with redis_links(wrong.replace("wrong", "right")) as link:
            assert await ask(link, "GET", "reprise:a") is None


async def test_a_user_who_may_use_our_keys_only(redis_links: RedisLinks) -> None:
    async with running_limited() as (_, url), redis_links(url) as link:
        await link.start()
        assert await ask(link, "SET", "reprise:a", "1") is True
        assert await why(link, "GET", "other:a") is Reason.DENIED


async def test_a_server_full_of_clients(redis_links: RedisLinks) -> None:
    async with (
        running_redis("--maxclients", "1") as server,
        server.client() as first,
        redis_links(server.url) as link,
    ):
        await first.ping()
        assert await why(link, "GET", "reprise:a") is Reason.MAXCLIENTS


async def test_a_frozen_server_costs_the_deadline_and_is_then_spared(
    redis_links: RedisLinks, redis_log: Lines
) -> None:
    async with running_redis() as server, redis_links(server.url) as link:
        await link.start()
        server.pause()
        assert [await why(link, "GET", "reprise:a", deadline=0.02) for _ in range(4)] == [
            *([Reason.TIMEOUT] * 3),
            Reason.OPEN,
        ]
        server.resume()
        await until(works(link))
        assert redis_log.told("state") == ["slow", "up"]
        assert link.figures()["redis_up"] == 1


async def test_a_server_that_was_killed_is_found_again(
    redis_links: RedisLinks, redis_log: Lines
) -> None:
    async with running_redis() as server, redis_links(server.url) as link:
        await ask(link, "SET", "reprise:a", "1")
        await server.kill()
        for _ in range(5):
            await why(link, "GET", "reprise:a")
        assert link.is_open
        await server.start()
        await until(works(link))
        assert redis_log.told("state") == ["down", "up"]


async def test_a_restarted_server_costs_no_failure(redis_links: RedisLinks) -> None:
    async with running_redis() as server, redis_links(server.url) as link:
        await ask(link, "SET", "reprise:a", "1")
        await server.restart()
        assert await ask(link, "GET", "reprise:a") is None


async def test_a_server_that_loads_its_data_is_waited_for(redis_links: RedisLinks) -> None:
    slowly = ("--key-load-delay", "2000", "--loading-process-events-interval-bytes", "1024")
    async with running_redis() as server, redis_links(server.url) as link:
        await server.command("DEBUG", "POPULATE", 1000, "reprise")
        await server.command("SAVE")

        async def is_loading() -> bool:
            await asyncio.gather(ask(link, "GET", "reprise:0"), return_exceptions=True)
            return link.failures["loading"] > 0

        async with asyncio.TaskGroup() as group:
            group.create_task(server.restart(*slowly))
            await until(is_loading)
        await until(works(link))
        assert await ask(link, "GET", "reprise:0") == b"value:0"


async def test_attempts_while_open_keep_to_the_rate(
    redis_links: RedisLinks, redis_log: Lines
) -> None:
    clock = FakeClock()
    async with RawRedis(silent) as server, redis_links(server.url, clock=clock) as link:
        for _ in range(3):
            clock.advance(0.02)
            assert await why(link, "GET", "a", deadline=0.01) is Reason.TIMEOUT
        before = len(server.commands)
        for _ in range(500):  # five seconds at a hundred a second
            clock.advance(0.01)
            assert await why(link, "GET", "a", deadline=0.01) is Reason.OPEN
            await asyncio.sleep(0)
        assert link.figures()["redis_attempts"] - before <= 5
        assert len(server.commands) - before <= 5
    assert redis_log.told("state") == ["slow", "down"]


async def test_a_slow_server_serves_the_background_only(
    redis_links: RedisLinks, redis_log: Lines
) -> None:
    # So far apart that a pause of this process is not taken for a slow server.
    deadline, delay = 0.25, 0.9

    async def slow(words: list[bytes]) -> bytes:
        await asyncio.sleep(delay)
        return b"$1\r\nx\r\n"

    async with RawRedis(slow) as server, redis_links(server.url, deadline=deadline) as link:
        for _ in range(3):
            assert await why(link, "GET", "a", deadline=deadline) is Reason.TIMEOUT
        assert await why(link, "GET", "a", deadline=deadline) is Reason.OPEN
        assert await ask(link, "GET", "a", important=True) == b"x"
        assert link.is_open
        assert redis_log.told("state") == ["slow"]
        delay = 0.0
        await until(works(link))
        assert redis_log.told("state") == ["slow", "up"]


async def test_one_try_is_one_command(redis_links: RedisLinks) -> None:
    clock, tried = FakeClock(), asyncio.Event()

    async def slow(words: list[bytes]) -> bytes:
        tried.set()
        await asyncio.sleep(0.1)
        return b"$-1\r\n"

    async with (
        RawRedis(slow) as server,
        redis_links(server.url, deadline=0.02, clock=clock) as link,
    ):
        for _ in range(3):
            clock.advance(0.02)
            await why(link, "GET", "a", deadline=0.02)
        for _ in range(5):
            before = len(server.commands)
            clock.advance(1.0)
            tried.clear()
            await why(link, "GET", "a", deadline=0.02)
            async with asyncio.timeout(SOON):
                await tried.wait()
            assert len(server.commands) == before + 1


@pytest.mark.parametrize("reason", [Reason.OOM, Reason.READONLY, Reason.DENIED])
async def test_a_server_that_takes_no_writes_is_still_read(
    redis_links: RedisLinks, redis_log: Lines, reason: Reason
) -> None:
    clock = FakeClock()
    async with running_limited() as (server, url), redis_links(url, clock=clock) as link:
        await ask(link, "SET", "reprise:a", "1", writes=True)
        await _refuse_writes(server, reason)
        for _ in range(5):
            assert await why(link, "SET", "reprise:b", "1", writes=True) is reason
            assert await ask(link, "GET", "reprise:a") == b"1"
        assert link.figures()["redis_write_errors"] == 1  # the others were not tried
        assert link.figures()["redis_writes_refused"] == 1
        await _take_writes(server)
        clock.advance(1.0)
        await ask(link, "SET", "reprise:b", "1", writes=True)
        await ask(link, "SET", "reprise:b", "1", writes=True)
    assert redis_log.told("state") == ["takes no writes", "up"]
    assert redis_log.told("reason") == [str(reason)]


async def _refuse_writes(server: RedisServer, reason: Reason) -> None:
    if reason is Reason.OOM:
        await server.configure("maxmemory-policy", "noeviction")
        await server.configure("maxmemory", "1")
    elif reason is Reason.READONLY:
        await server.command("REPLICAOF", "127.0.0.1", "1")
    else:
        await server.command("ACL", "SETUSER", "me", "-set")


async def _take_writes(server: RedisServer) -> None:
    await server.configure("maxmemory", "0")
    await server.command("REPLICAOF", "NO", "ONE")
    await server.command("ACL", "SETUSER", "me", "+set")


async def test_the_background_leaves_connections_to_requests(redis_links: RedisLinks) -> None:
    async with (
        running_redis() as server,
        redis_links(server.url, max_connections=4) as link,
        asyncio.TaskGroup() as group,
    ):
        waiting = [
            group.create_task(
                ask(link, "BLPOP", "reprise:none", "10", deadline=20.0, important=True)
            )
            for _ in range(5)
        ]
        assert await ask(link, "GET", "reprise:a") is None
        for task in waiting:
            task.cancel()


async def test_a_call_that_finds_no_free_connection_is_late(redis_links: RedisLinks) -> None:
    async with RawRedis(silent) as server, redis_links(server.url, max_connections=1) as link:
        async with asyncio.TaskGroup() as group:
            first = group.create_task(ask(link, "GET", "a"))
            await asyncio.sleep(0)
            assert await why(link, "GET", "b", deadline=0.02) is Reason.TIMEOUT
            first.cancel()
        assert link.figures()["redis_attempts"] == 1


async def test_a_mistake_of_our_own_is_not_hidden(redis_link: RedisLink) -> None:
    async def work(_: Client) -> None:
        raise KeyError("ours")

    with pytest.raises(KeyError):
        await redis_link.call(work, deadline=SOON)


async def test_no_line_has_the_password(redis_links: RedisLinks, redis_log: Lines) -> None:
    async with redis_links("redis://user:hunter2@127.0.0.1:1/0") as link:
        for _ in range(4):
            error = await why(link, "GET", "a")
            assert "hunter2" not in repr(error)
    assert redis_log.lines
    assert "hunter2" not in repr(redis_log.lines)


async def test_what_was_asked_is_counted(redis_link: RedisLink) -> None:
    await ask(redis_link, "PING")
    assert redis_link.figures()["redis_attempts"] == 1
    assert set(redis_link.failures) == set(Reason)
