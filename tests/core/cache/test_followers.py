"""What question follows what."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.core.cache import followers as module
from proxy.core.cache.followers import PAIR_BYTES, Follower, Followers

HOUR = 3600.0


def asked(name: str, body: bytes = b"{}") -> Follower:
    return Follower(name.encode(), "/v1", body)


def converse(
    known: Followers, *names: str, group: bytes = b"g", caller: bytes = b"c", at: float = 0.0
) -> None:
    """One caller's questions, one a second, long after all earlier ones of the same caller."""
    for number, name in enumerate(names):
        known.note(group, caller, asked(name), at + number)


def likely(known: Followers, name: str, *, group: bytes = b"g", now: float = 0.0) -> list[str]:
    return [one.key.decode() for one in known.likely(group, name.encode(), now)]


def test_what_was_seen_twice_is_likely_and_the_most_frequent_first() -> None:
    known = Followers()
    for at, name in enumerate(["b", "c", "b", "c", "c", "d"]):
        converse(known, "a", name, at=at * 1000.0)
    assert likely(known, "a", now=6000) == ["c", "b"]
    assert likely(known, "b", now=6000) == []


def test_counts_decay() -> None:
    known = Followers()
    for at in (0.0, 1000.0):
        converse(known, "a", "b", at=at)
    assert likely(known, "a", now=5 * HOUR) == ["b"]
    assert likely(known, "a", now=6 * HOUR) == []
    converse(known, "a", "b", at=6 * HOUR)
    assert likely(known, "a", now=6 * HOUR) == ["b"]


def test_tenants_and_callers_are_apart() -> None:
    known = Followers()
    for at in (0.0, 1000.0):
        converse(known, "a", "b", group=b"g", at=at)
    assert likely(known, "a", group=b"h") == []
    for number in range(4):
        known.note(b"x", b"one", asked("a"), number)
        known.note(b"x", b"two", asked("b"), number)
    assert likely(known, "a", group=b"x") == []


def test_what_comes_late_or_again_or_is_long_does_not_follow() -> None:
    known = Followers()
    for at in (0.0, 1000.0, 2000.0):
        known.note(b"g", b"c", asked("a"), at)
        known.note(b"g", b"c", asked("a"), at + 1)
        known.note(b"g", b"c", asked("b"), at + 302)
        known.note(b"g", b"c", asked("l", bytes(16 * 1024 + 1)), at + 303)
    assert known.pairs == 0


def test_what_could_not_be_had_counts_anew() -> None:
    known = Followers()
    for at in (0.0, 1000.0):
        converse(known, "a", "b", at=at)
    known.discourage(b"g", b"a", b"b")
    known.discourage(b"g", b"a", b"none")
    known.discourage(b"none", b"a", b"b")
    assert likely(known, "a") == []
    converse(known, "a", "b", at=2000)
    assert likely(known, "a", now=2000) == []
    converse(known, "a", "b", at=3000)
    assert likely(known, "a", now=3000) == ["b"]


def test_everything_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_GROUPS", 3)
    monkeypatch.setattr(module, "MAX_FIRSTS", 5)
    monkeypatch.setattr(module, "MAX_CALLERS", 4)
    known = Followers()
    for number in range(40):
        group = b"%d" % (number % 5)
        caller = b"%d" % number
        known.note(group, caller, asked(f"a{number % 9}"), number)
        known.note(group, caller, asked(f"b{number}"), number)
    assert len(known._groups) == 3
    assert all(len(group.firsts) <= 5 for group in known._groups.values())
    assert len(known._last) <= 4
    for number in range(20):
        converse(known, "a", f"f{number}", caller=b"%d" % number, at=number)
    assert len(known._groups[b"g"].firsts[b"a"]) == module.MAX_FOLLOWERS
    known.clear()
    assert (known.pairs, known.size_bytes) == (0, 0)


names = st.sampled_from("abcdefgh")


@given(st.lists(st.tuples(names, names, names, st.integers(0, 900)), max_size=80))
def test_bytes_are_counted_and_bounded(steps: list[tuple[str, str, str, int]]) -> None:
    known = Followers(max_bytes=4000)
    for now, (group, caller, name, size) in enumerate(steps):
        body = bytes(size)
        known.note(group.encode(), caller.encode(), asked(name, body), float(now))
    pairs = [
        pair
        for group in known._groups.values()
        for first in group.firsts.values()
        for pair in first.values()
    ]
    assert known.pairs == len(pairs)
    sizes = sum(PAIR_BYTES + len(pair.follower.body) + len("/v1") for pair in pairs)
    assert known.size_bytes == sizes <= 4000
