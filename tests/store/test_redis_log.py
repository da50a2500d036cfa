"""The log gives what was written to it, and tells how far it reaches."""

import pytest

from proxy.core.cache.change import Change, Deleted
from proxy.redis_link.link import RedisLink
from proxy.redis_link.reading import ask_all
from proxy.redis_link.urls import Client
from proxy.store.codec import decode
from proxy.store.redis_log import (
    BEGIN,
    LEARNT,
    PUT,
    WHOLE,
    ChangeLog,
    LogState,
    parse_position,
    position_text,
)
from proxy.store.redis_names import digest_of
from tests.fakes.redis import RedisServer
from tests.store.changes import key, learnt, put

A, B, C, D = (1, 0), (2, 0), (2, 1), (3, 0)


async def add(link: RedisLink, log: ChangeLog, *changes: Change) -> None:
    """Write records."""
    commands = [log.command(change, b"me") for change in changes]

    async def work(client: Client) -> list[object]:
        return await ask_all(client, commands)

    await link.call(work, deadline=2)


async def test_records_tell_what_was_changed(redis_link: RedisLink, redis_prefix: str) -> None:
    log = ChangeLog(redis_prefix, max_entries=100)
    await add(redis_link, log, put(1), learnt(2), Deleted(key(3), 5.0))
    records = await redis_link.call(lambda client: log.read(client, BEGIN, 10), deadline=2)
    assert [record.kind for record in records] == [PUT, LEARNT, WHOLE]
    assert [record.digest for record in records[:2]] == [digest_of(key(1)), digest_of(key(2))]
    assert decode(records[2].data) == Deleted(key(3), 5.0)
    assert {record.writer for record in records} == {b"me"}
    after = records[0].position
    waited = await redis_link.call(lambda client: log.wait(client, after, 10, 1000), deadline=2)
    assert waited == records[1:]
    read = await redis_link.call(lambda client: log.read(client, after, 1), deadline=2)
    assert read == records[1:2]


async def test_nothing_comes_of_no_log(redis_link: RedisLink, redis_prefix: str) -> None:
    log = ChangeLog(redis_prefix, max_entries=100)
    assert await redis_link.call(lambda client: log.wait(client, BEGIN, 1, 10), deadline=2) == []
    assert await redis_link.call(lambda client: log.read(client, BEGIN, 1), deadline=2) == []
    assert await redis_link.call(log.state, deadline=2) is None


async def test_records_of_others_are_passed_over(
    redis_link: RedisLink, redis_server: RedisServer, redis_prefix: str
) -> None:
    log = ChangeLog(redis_prefix, max_entries=100)
    await redis_server.command("XADD", log.key, "*", "k", "p", "x", "short")
    await redis_server.command("XADD", log.key, "*", "other", "things")
    records = await redis_link.call(lambda client: log.read(client, BEGIN, 10), deadline=2)
    assert {record.kind for record in records} == {b""}


async def test_its_state_tells_what_was_trimmed(
    redis_link: RedisLink, redis_server: RedisServer, redis_prefix: str
) -> None:
    log = ChangeLog(redis_prefix, max_entries=100)
    await add(redis_link, log, *map(put, range(3)))
    state = await redis_link.call(log.state, deadline=2)
    assert state is not None
    assert (state.length, state.added, state.is_whole) == (3, 3, True)
    await redis_server.command("XTRIM", log.key, "MAXLEN", 0)
    state = await redis_link.call(log.state, deadline=2)
    assert state is not None
    assert (state.length, state.is_whole, state.first) == (0, False, state.last)


@pytest.mark.parametrize(
    ("state", "position", "has_all"),
    [
        (LogState(2, A, B, 2), BEGIN, True),
        (LogState(2, A, B, 3), BEGIN, False),
        (LogState(2, A, B, None), BEGIN, False),
        (LogState(2, A, B, 2), A, True),
        (LogState(2, B, C, 3), A, False),
        (LogState(2, B, C, 2), A, False),
        (LogState(2, A, B, 2), C, False),
        (LogState(0, D, D, 9), D, True),
        (LogState(0, D, D, 9), C, False),
    ],
)
def test_a_place_is_worth_something_while_the_log_has_it(
    state: LogState, position: tuple[int, int], has_all: bool
) -> None:
    assert state.has_all_after(position) is has_all


def test_positions_are_written_as_redis_does() -> None:
    assert parse_position(position_text((17, 4))) == (17, 4)
    with pytest.raises(ValueError, match="no position"):
        parse_position("17")
