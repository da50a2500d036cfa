"""Questions that were answered with what is stored for another one."""

import pytest

from proxy.core.cache.thread import Thread
from proxy.pipeline import aliases
from proxy.pipeline.aliases import Alias, Aliases


def alias(target: bytes = b"T", answer: bytes = b"A") -> Alias:
    return Alias(target, 0.9, b"D", answer)


def test_what_was_put_is_got_until_it_is_popped() -> None:
    known = Aliases()
    assert known.get(b"k") is None
    assert known.pop(b"k") is None
    known.put(b"k", alias())
    assert (known.get(b"k"), len(known)) == (alias(), 1)
    known.put(b"k", alias(b"U"))
    assert (known.pop(b"k"), len(known)) == (alias(b"U"), 0)
    assert known.get(b"k") is None


def test_the_longest_unused_goes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aliases, "MAX_ALIASES", 3)
    known = Aliases()
    for key in (b"1", b"2", b"3"):
        known.put(key, alias())
    known.use(b"1")
    known.use(b"no such")
    known.get(b"2")
    known.thread(b"2", 0.0)
    known.put(b"4", alias())
    known.put(b"3", alias(b"new"))
    known.put(b"5", alias())
    kept = [number for number in range(1, 6) if known.get(b"%d" % number) is not None]
    assert kept == [3, 4, 5]
    assert len(known) == 3


def test_a_look_is_no_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aliases, "MAX_ALIASES", 2)
    known = Aliases()
    for key in (b"1", b"2"):
        known.put(key, alias())
    known.get(b"1")
    known.use(b"1")
    known.get(b"2")
    known.put(b"3", alias())
    assert known.get(b"1") is not None
    assert known.get(b"2") is None


def test_all_of_one_entry_are_popped_at_once() -> None:
    known = Aliases()
    for key, target in ((b"1", b"T"), (b"2", b"U"), (b"3", b"T")):
        known.put(key, Alias(target, 0.9, b"D" + key, b""))
    known.follow([b"1", b"2", b"none"], b"F")
    known.follow([b"3"], b"G")
    popped, followers = known.pop_all(b"T")
    assert [each.asked for each in popped] == [b"D1", b"D3"]
    assert followers == {b"F", b"G"}
    assert (len(known), known.pop_all(b"T")) == (1, ([], set()))
    assert known.get(b"2") is not None


def test_a_conversation_goes_on_only_from_an_answer_of_text() -> None:
    known = Aliases()
    known.put(b"1", alias(b"T", b"A"))
    known.put(b"2", alias(b"T", b""))
    assert known.thread(b"1", 0.9) == Thread(b"T", b"A")
    assert known.thread(b"1", 0.99) is None
    assert known.thread(b"2", 0.0) is None
    assert known.thread(b"3", 0.0) is None


def test_what_is_no_more_is_counted() -> None:
    known = Aliases()
    known.put(b"1", alias())
    known.pop(b"none")
    assert known.losses == 0
    known.pop(b"1")
    assert known.losses == 1
    known.put(b"2", alias())
    known.clear()
    assert (len(known), known.losses) == (0, 2)


def test_the_latest_entries_of_a_conversation_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aliases, "MAX_FOLLOWERS", 2)
    known = Aliases()
    known.put(b"1", alias())
    for stored in (b"A", b"B", b"B", b"C"):
        known.follow([b"1"], stored)
    assert known.pop_all(b"T")[1] == {b"B", b"C"}
