"""The rotator, with real handshakes that are verified as the API server does."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from proxy.clock import SystemClock
from proxy.k8s.certificates import (
    AUTHORITIES,
    CHAIN,
    DAY,
    KEY,
    PREVIOUS_CHAIN,
    VALID_SECONDS,
    Holding,
    renewed,
)
from proxy.k8s.trust import SETTLE_SECONDS
from tests.fakes.clock import FakeClock
from tests.fakes.cluster import CONFIGURATIONS, Asked, FakeCluster
from tests.k8s.replicas import NAMES, PLACE, Replica, Stream
from tests.watch import until

HINDERED = "certificate upkeep is hindered"
GOES_ON = "certificate upkeep goes on"
SECRET = PLACE.secret
NAME = PLACE.configuration
NOTHING = Holding((), ())


@pytest.fixture
def clock() -> FakeClock:
    """Begins now, for OpenSSL asks no other clock than the machine's."""
    return FakeClock(SystemClock().now())


@pytest.fixture
async def api(tmp_path: Path, clock: FakeClock) -> AsyncIterator[FakeCluster]:
    async with FakeCluster(tmp_path / "account", clock=clock) as server:
        server.configure(NAME, "by-namespace", "by-pod")
        yield server


def aged(api: FakeCluster, clock: FakeClock, days: float) -> Holding:
    """A Secret that was written days ago, and trusted since."""
    holding = renewed(NOTHING, NAMES, api.clock.now() - days * DAY)
    api.set_entries(SECRET, holding.entries())
    api.set_bundle(NAME, holding.entries()[AUTHORITIES])
    clock.advance(SETTLE_SECONDS)
    return holding


async def test_the_first_makes_all_and_serves_it(api: FakeCluster) -> None:
    async with Replica(api) as replica:
        await replica.looked()
        assert await replica.shows(api.entries(SECRET)[CHAIN])
        assert replica.events() == ["certificate written", "caBundle written", "certificate taken"]
        assert replica.taken == [replica.served.not_after]
        assert replica.served.not_after == pytest.approx(api.clock.now() + VALID_SECONDS, abs=2)
    secret = api.secrets[SECRET]
    assert secret["type"] == "kubernetes.io/tls"
    [owner] = secret["metadata"]["ownerReferences"]
    assert owner["uid"] == api.configurations[NAME]["metadata"]["uid"]


async def test_with_all_in_order_nothing_is_written(api: FakeCluster, clock: FakeClock) -> None:
    holding = aged(api, clock, 10)
    async with Replica(api) as replica:
        await replica.looked()
        assert await replica.shows(holding.leaves[0].chain)
        assert replica.events() == ["certificate taken"]
    assert {asked.verb for asked in api.calls} == {"get"}


async def test_it_waits_for_a_configuration_that_is_not_there_yet(api: FakeCluster) -> None:
    configuration = api.configurations.pop(NAME)
    async with Replica(api) as replica:
        await until(lambda: len(api.calls) > 2)
        assert replica.served.not_after is None
        assert not api.secrets
        api.configurations[NAME] = configuration
        await replica.looked()
        assert await replica.shows(api.entries(SECRET)[CHAIN])
        assert replica.events()[0] == HINDERED
        assert GOES_ON in replica.events()


async def test_two_that_begin_at_once_agree(api: FakeCluster) -> None:
    both = asyncio.Barrier(2)

    async def together(asked: Asked) -> None:
        if asked.verb == "create":
            await both.wait()

    api.before = together
    async with Replica(api) as one, Replica(api) as other:
        await one.looked()
        await other.looked()
        chain = api.entries(SECRET)[CHAIN]
        assert await one.shows(chain)
        assert await other.shows(chain)
        assert sorted([*one.events(), *other.events()]).count("certificate written") == 1
        assert HINDERED not in [*one.events(), *other.events()]


async def test_no_handshake_fails_while_the_certificate_changes(
    api: FakeCluster, clock: FakeClock, tmp_path: Path
) -> None:
    old = aged(api, clock, 61).leaves[0]
    lonely = tmp_path / "lonely"
    async with contextlib.AsyncExitStack() as stack:
        one, other = [await stack.enter_async_context(Replica(api)) for _ in range(2)]
        await one.looked()
        await other.looked()
        stream = await stack.enter_async_context(Stream(one, other))
        # Both have seen that it is near its end; the new one is there, and trusted by all.
        new = api.entries(SECRET)[CHAIN]
        assert api.entries(SECRET)[PREVIOUS_CHAIN] == old.chain
        assert old.authority.pem in api.bundles(NAME)[0] != old.authority.pem
        await stream.more()
        assert await one.shows(old.chain)
        assert await other.shows(old.chain)
        # One that begins meanwhile serves what surely all trust.
        third = await stack.enter_async_context(Replica(api))
        await third.looked()
        assert await third.shows(old.chain)
        stream.replicas.append(third)
        # And one that has been cut off goes on with what it has.
        await asyncio.to_thread(copy_account, api.account, lonely)
        fourth = await stack.enter_async_context(Replica(api, account=lonely))
        await fourth.looked()
        await asyncio.to_thread((lonely / "token").write_text, "no longer")
        stream.replicas.append(fourth)
        await until(lambda: HINDERED in fourth.events())
        await stream.more()
        clock.advance(SETTLE_SECONDS)
        for replica in (one, other, third):
            await replica.looked()
            assert await replica.shows(new)
        assert await fourth.shows(old.chain)
        await stream.more()
        assert [one.events(), other.events()].count([]) == 0
        assert sum("certificate written" in each.events() for each in (one, other, third)) == 1
        assert len(api.entries(SECRET)[AUTHORITIES].split(b"END CERT")) == 3


def copy_account(account: Path, place: Path) -> None:
    place.mkdir()
    for name in ("token", "ca.crt"):
        (place / name).write_bytes((account / name).read_bytes())


async def test_many_that_renew_at_once_agree(api: FakeCluster, clock: FakeClock) -> None:
    both = asyncio.Barrier(2)
    updates = 0

    async def together(asked: Asked) -> None:
        nonlocal updates
        if asked.verb == "update":
            updates += 1
            if updates <= 2:
                await both.wait()

    api.before = together
    aged(api, clock, 61)
    async with Replica(api) as one, Replica(api) as other:
        await one.looked()
        await other.looked()
        assert updates == 2
        clock.advance(SETTLE_SECONDS)
        for replica in (one, other):
            await replica.looked()
            assert await replica.shows(api.entries(SECRET)[CHAIN])
            assert HINDERED not in replica.events()


@pytest.mark.parametrize("bundle", [b"", b"rubbish", None], ids=["empty", "rubbish", "absent"])
async def test_a_bundle_that_was_wiped_is_written_again(
    api: FakeCluster, bundle: bytes | None
) -> None:
    async with Replica(api) as one, Replica(api) as other:
        await one.looked()
        await other.looked()
        chain = api.entries(SECRET)[CHAIN]
        api.configure(NAME, "by-namespace", "by-pod", bundle=bundle)
        for replica in (one, other):
            await replica.looked()
            assert await replica.shows(chain)
        assert [*one.events(), *other.events()].count("certificate written") == 1


@pytest.mark.parametrize(
    "entries",
    [
        None,
        {CHAIN: b"rubbish", KEY: b"rubbish"},
        {CHAIN: b"", KEY: b"", AUTHORITIES: b""},
        renewed(NOTHING, NAMES, SystemClock().now() - VALID_SECONDS).entries(),
    ],
    ids=["deleted", "rubbish", "empty", "ended"],
)
async def test_a_secret_that_was_spoilt_is_as_before_again(
    api: FakeCluster, clock: FakeClock, entries: dict[str, bytes] | None
) -> None:
    async with Replica(api) as one, Replica(api) as other:
        await one.looked()
        await other.looked()
        before = api.entries(SECRET)
        clock.advance(SETTLE_SECONDS)
        async with Stream(one, other) as stream:
            if entries is None:
                del api.secrets[SECRET]
            else:
                api.set_entries(SECRET, entries)
            await one.looked()
            await other.looked()
            await stream.more()
        assert api.entries(SECRET) == before


async def test_who_begins_with_a_spoilt_secret_makes_another_and_breaks_nobody(
    api: FakeCluster, clock: FakeClock, tmp_path: Path
) -> None:
    # The one is cut off before the Secret is spoilt, so that only the other can mend it.
    lonely = tmp_path / "lonely"
    await asyncio.to_thread(copy_account, api.account, lonely)
    async with Replica(api, account=lonely) as one:
        await one.looked()
        before = api.entries(SECRET)
        await asyncio.to_thread((lonely / "token").write_text, "no longer")
        await until(lambda: HINDERED in one.events())
        api.set_entries(SECRET, {CHAIN: b"rubbish", KEY: b"rubbish", "mine": b"stays"})
        clock.advance(SETTLE_SECONDS)
        async with Stream(one) as stream, Replica(api) as other:
            await other.looked()
            await stream.more()
            assert await one.shows(before[CHAIN])
            after = api.entries(SECRET)
            assert after["mine"] == b"stays"
            assert await other.shows(after[CHAIN])
            assert not await other.shows(before[CHAIN])
            # It follows when it can again.
            await asyncio.to_thread((lonely / "token").write_text, api.token)
            await one.looked()
            clock.advance(SETTLE_SECONDS)
            await one.looked()
            assert await one.shows(after[CHAIN])
            stream.replicas.append(other)
            await stream.more()


async def test_what_has_ended_by_the_api_servers_clock_is_replaced_at_once(
    api: FakeCluster, clock: FakeClock
) -> None:
    async with Replica(api) as replica:
        await replica.looked()
        before = api.entries(SECRET)[CHAIN]
        clock.advance(VALID_SECONDS + 1)
        await replica.looked()
        after = api.entries(SECRET)[CHAIN]
        shown = await replica.handshake(checks_time=False)
        assert shown == ssl.PEM_cert_to_DER_cert(after.decode("ascii"))
        assert after != before
        assert len(api.bundles(NAME)[0].split(b"END CERT")) == 2


@pytest.mark.parametrize("days", [-400, 400])
async def test_a_clock_that_is_wrong_does_no_harm(
    api: FakeCluster, clock: FakeClock, days: int
) -> None:
    wrong = FakeClock(clock.now() + days * DAY)
    async with Replica(api) as right, Replica(api, clock=wrong) as replica:
        await right.looked()
        await replica.looked(4)
        chain = api.entries(SECRET)[CHAIN]
        assert await right.shows(chain)
        assert await replica.shows(chain)
        told = [line for line in replica.log.lines if line[0] == "warning"]
        assert [event for _, event, _ in told] == ["clock differs from the API server's"]
        assert told[0][2]["ahead_seconds"] == pytest.approx(days * DAY, abs=2)
        assert [*right.events(), *replica.events()].count("certificate written") == 1


@pytest.mark.parametrize(
    ("verb", "resource", "name"),
    [
        ("get", "secrets", SECRET),
        ("create", "secrets", SECRET),
        ("get", CONFIGURATIONS, NAME),
        ("patch", CONFIGURATIONS, NAME),
    ],
)
async def test_a_missing_right_is_told_once_and_nothing_is_served_that_nobody_trusts(
    api: FakeCluster, verb: str, resource: str, name: str
) -> None:
    api.forbidden = {(verb, resource)}
    async with Replica(api) as replica:
        await until(lambda: len(api.calls) > 8)
        assert replica.served.not_after is None
        [told] = [line for line in replica.log.lines if line[0] == "warning"]
        assert told[1] == HINDERED
        assert f'the service account may not {verb} {resource} "{name}"' in told[2]["reason"]
        api.forbidden = set()
        await replica.looked()
        assert await replica.shows(api.entries(SECRET)[CHAIN])
        assert GOES_ON in replica.events()


async def test_without_the_right_to_renew_what_there_is_is_served_and_trusted(
    api: FakeCluster,
    clock: FakeClock,
) -> None:
    old = aged(api, clock, 61).leaves[0]
    api.forbidden = {("update", "secrets")}
    async with Replica(api) as replica:
        await until(lambda: HINDERED in replica.events() and replica.taken)
        assert await replica.shows(old.chain)
        api.set_bundle(NAME, b"")
        await until(lambda: api.bundles(NAME)[0] != b"")
        assert await replica.shows(old.chain)
        api.forbidden = set()
        await replica.looked()
        assert api.entries(SECRET)[PREVIOUS_CHAIN] == old.chain


async def test_out_of_reach_it_serves_on_and_says_so_once(api: FakeCluster) -> None:
    async with Replica(api) as replica:
        await replica.looked()
        chain = api.entries(SECRET)[CHAIN]
        await api.stop()
        await until(lambda: HINDERED in replica.events())
        assert await replica.shows(chain)
        api.is_cut = True
        await api.listen()
        seen = len(api.calls)
        await until(lambda: len(api.calls) > seen + 2)
        assert await replica.shows(chain)
        api.is_cut = False
        await replica.looked()
        assert replica.events()[3:] == [HINDERED, GOES_ON]
        assert replica.log.told("part") == ["API server"] * 2


async def test_who_is_always_second_tries_again_later(api: FakeCluster, clock: FakeClock) -> None:
    async def first(asked: Asked) -> None:
        if asked.verb == "patch":
            api.set_bundle(NAME, b"rubbish")

    aged(api, clock, 1)
    api.set_bundle(NAME, b"")
    api.before = first
    async with Replica(api) as replica:
        await until(lambda: HINDERED in replica.events())
        assert replica.log.told("reason") == [
            "others change the webhook configuration all the time"
        ]
        api.before = None
        await replica.looked()
        assert await replica.shows(api.entries(SECRET)[CHAIN])


async def test_a_secret_that_others_write_all_the_time_is_left_to_them(
    api: FakeCluster, clock: FakeClock
) -> None:
    entries = aged(api, clock, 61).entries()

    async def first(asked: Asked) -> None:
        if asked.verb == "update":
            api.set_entries(SECRET, entries)

    api.before = first
    async with Replica(api) as replica:
        await until(lambda: HINDERED in replica.events() and replica.taken)
        assert replica.log.told("reason") == ["others change the Secret all the time"]
        assert await replica.shows(entries[CHAIN])
