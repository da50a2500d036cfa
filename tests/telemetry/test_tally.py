"""Which answers are given most, and which questions are missed most."""

import tracemalloc
from dataclasses import replace

import pytest

from proxy.core.exchange import Exchange, Fwd, Level
from proxy.telemetry import tally as module
from proxy.telemetry.tally import MAX_CHARACTERS, By, Tally

ASKED = Exchange(started=0.0, method="POST", path="/v1/chat/completions", model="m1", tenant="t1")


def key(number: int) -> bytes:
    return number.to_bytes(32, "big")


def hit(number: int, *, at: float = 0.0, level: Level = Level.EXACT, **changes: float) -> Exchange:
    asked = replace(ASKED, level=level, entry=key(number), ended_at=at)
    return replace(asked, saved_seconds=changes.get("seconds", 1.0), saved_tokens=5)


def miss(number: int, *, at: float = 0.0, **changes: object) -> Exchange:
    asked = replace(ASKED, fwd=Fwd.MISS, missed=key(number), ended_at=at)
    return replace(asked, **changes)  # type: ignore[arg-type]  # whichever the test names


def tally_of(*exchanges: Exchange, keep_prompts: bool = False) -> Tally:
    found = Tally(keep_prompts=keep_prompts)
    for exchange in exchanges:
        found.note(exchange)
    return found


def test_hits_of_one_answer_are_added_up() -> None:
    tally = tally_of(hit(1, at=5.0), hit(1, at=7.0, level=Level.SEMANTIC), hit(1, at=9.0), hit(2))
    first, second = tally.top(By.HITS, 10)
    assert (first.key, first.model, first.tenant) == (key(1), "m1", "t1")
    assert (first.hits, first.seconds, first.tokens, first.last) == (3, 3.0, 15, 9.0)
    assert first.levels == {Level.EXACT: 2, Level.SEMANTIC: 1}
    assert second.hits == 1


@pytest.mark.parametrize(("by", "order"), [(By.HITS, [1, 2]), (By.SECONDS, [2, 1])])
def test_most_is_by_what_is_asked_for(by: By, order: list[int]) -> None:
    tally = tally_of(hit(1), hit(1), hit(2, seconds=60.0))
    assert [given.key for given in tally.top(by, 10)] == [key(number) for number in order]
    assert len(tally.top(by, 1)) == 1


def test_a_miss_tells_of_the_last_time() -> None:
    tally = tally_of(
        miss(1, at=1.0, meaning="guard", guard="numbers", similarity=0.9),
        miss(2, at=2.0),
        miss(1, at=3.0, meaning="verifier", similarity=0.95),
    )
    first, second = tally.misses(10)
    assert (first.key, first.count, first.last) == (key(1), 2, 3.0)
    assert (first.reason, first.guard, first.nearest) == ("verifier", "", 0.95)
    assert (second.reason, second.nearest) == ("absent", None)


def test_of_misses_as_frequent_the_latest_comes_first() -> None:
    tally = tally_of(miss(1, at=1.0), miss(2, at=2.0), miss(3, at=0.0), miss(3, at=0.5))
    assert [missed.key for missed in tally.misses(2)] == [key(3), key(2)]


@pytest.mark.parametrize("reason", ["stale", "credential"])
def test_why_the_key_was_missed_goes_before_why_meaning_did(reason: str) -> None:
    (missed,) = tally_of(miss(1, detail=reason, meaning="absent")).misses(1)
    assert missed.reason == reason


def test_what_was_served_all_the_same_is_a_hit() -> None:
    tally = tally_of(replace(hit(1), missed=key(1)))
    assert (len(tally.top(By.HITS, 9)), tally.misses(9)) == (1, [])


def test_what_is_no_question_is_not_counted() -> None:
    tally = tally_of(replace(ASKED, fwd=Fwd.BYPASS))
    assert (tally.top(By.HITS, 9), tally.misses(9)) == ([], [])


def test_no_text_is_kept_unless_prompts_are() -> None:
    (missed,) = tally_of(miss(1, question="Who?")).misses(1)
    assert missed.question == ""
    (missed,) = tally_of(miss(1, question="Who?"), keep_prompts=True).misses(1)
    assert missed.question == "Who?"


def test_texts_are_gone_at_once_when_they_are_no_longer_kept() -> None:
    tally = tally_of(miss(1, question="Who?"), miss(1, question="Who?"), keep_prompts=True)
    tally.keeps_prompts = False
    tally.note(miss(2, question="What?"))
    tally.keeps_prompts = True
    assert [(missed.count, missed.question) for missed in tally.misses(9)] == [(2, ""), (1, "")]


def test_a_long_text_is_counted_without_its_words() -> None:
    (missed,) = tally_of(
        miss(1, question="w" * (MAX_CHARACTERS + 1), model="m" * 500), keep_prompts=True
    ).misses(1)
    assert (missed.question, len(missed.model)) == ("", 128)


def test_there_are_no_more_than_so_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_KEYS", 8)
    tally = tally_of(*(miss(number, at=float(number)) for number in range(100)))
    tally.note(hit(1))
    kept = tally.misses(100)
    assert len(kept) <= 8
    assert kept[0].key == key(99)


def test_a_newcomer_finds_room_among_the_great_and_the_great_stay(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "MAX_KEYS", 8)
    great = [hit(number) for number in range(8) for _ in range(100)]
    tally = tally_of(*great)
    for number in range(100, 150):
        tally.note(hit(number))
        tally.note(hit(7))
        tally.note(hit(999))
    keys = [given.key for given in tally.top(By.HITS, 9)]
    assert keys[:2] == [key(7), key(999)]


def test_what_is_no_longer_asked_for_goes_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_KEYS", 8)
    tally = tally_of(*(miss(0) for _ in range(1000)))
    for number in range(1, 200):
        tally.note(miss(number, at=float(number)))
        tally.note(miss(number, at=float(number)))
    assert key(0) not in {missed.key for missed in tally.misses(9)}


def test_an_answer_that_saved_much_once_keeps_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_KEYS", 8)
    tally = tally_of(hit(0, seconds=600.0))
    for number in range(1, 12):
        tally.note(hit(number, at=float(number), seconds=0.1))
    assert tally.top(By.SECONDS, 1)[0].key == key(0)


def test_memory_is_bounded_whatever_is_asked() -> None:
    tracemalloc.start()
    try:
        tally = Tally(keep_prompts=True)
        for number in range(3 * module.MAX_KEYS):
            tally.note(miss(number, question="q" * MAX_CHARACTERS, at=float(number)))
        assert tracemalloc.get_traced_memory()[0] < 8 << 20
    finally:
        tracemalloc.stop()


def test_a_refusal_that_is_repeated_is_no_answer() -> None:
    tally = tally_of(replace(ASKED, level=Level.NEGATIVE))
    assert (tally.top(By.HITS, 9), tally.misses(9)) == ([], [])
