"""When Redis is asked and when it is spared (case B35)."""

from proxy.redis_link.breaker import FAILURES, LONGEST_PAUSE, PROBE_EVERY, STEADY, Breaker


def opened(at: float = 10.0) -> Breaker:
    breaker = Breaker()
    for number in range(FAILURES):
        breaker.failed(at + number - 0.5, at + number)
    assert breaker.is_open
    return breaker


def test_a_few_failures_in_a_row_open_it() -> None:
    breaker = Breaker()
    for number in range(FAILURES - 1):
        breaker.failed(number, number + 0.5)
    assert not breaker.is_open
    breaker.failed(5.0, 5.5)
    assert breaker.is_open


def test_an_answer_between_begins_the_count_anew() -> None:
    breaker = Breaker()
    for number in range(10):
        breaker.failed(number, number + 0.5)
        breaker.succeeded(number + 0.5)
    assert not breaker.is_open


def test_failures_that_were_under_way_together_count_once() -> None:
    breaker = Breaker()
    for _ in range(100):
        breaker.failed(1.0, 1.02)
    assert not breaker.is_open


def test_it_is_tried_once_a_second_while_open() -> None:
    breaker = opened(10.0)
    last = 10.0 + FAILURES - 1
    tries = [tick / 100 for tick in range(1000) if breaker.may_probe(last + tick / 100)]
    assert len(tries) == 9
    assert tries[0] == PROBE_EVERY


def test_nothing_is_tried_while_it_is_closed() -> None:
    assert not Breaker().may_probe(100.0)


def test_the_first_answer_closes_it() -> None:
    breaker = opened()
    breaker.succeeded(20.0)
    assert not breaker.is_open
    assert not breaker.may_probe(1000.0)


def test_a_failed_try_leaves_it_open() -> None:
    breaker = opened(10.0)
    assert breaker.may_probe(20.0)
    breaker.failed(20.0, 20.5)
    assert breaker.is_open
    assert not breaker.may_probe(20.9)
    assert breaker.may_probe(21.0)


def test_some_failures_need_no_row() -> None:
    breaker = Breaker()
    breaker.failed(0.0, 1.0, surely=True)
    assert breaker.is_open


def pauses(breaker: Breaker, *, service: float, times: int) -> list[float]:
    """How long it waits before each try, if every one succeeds and is of no avail."""
    now, found = 100.0, []
    for _ in range(times):
        breaker.failed(now, now, surely=True)
        since = now
        while not breaker.may_probe(now):
            now += 0.25
        found.append(now - since)
        breaker.succeeded(now)
        now += service
    return found


def test_what_works_for_moments_only_is_tried_ever_less() -> None:
    assert pauses(Breaker(), service=1.0, times=6) == [
        *(PROBE_EVERY, 2 * PROBE_EVERY, 4 * PROBE_EVERY),
        *([LONGEST_PAUSE] * 3),
    ]


def test_that_is_forgotten_when_it_has_worked_for_a_while() -> None:
    assert pauses(Breaker(), service=STEADY, times=4) == [PROBE_EVERY] * 4
