from proxy.clock import SystemClock
from proxy.ports import Clock


def test_it_tells_the_time_since_the_epoch_and_durations() -> None:
    clock: Clock = SystemClock()
    assert clock.now() > 1_700_000_000
    first, second = clock.monotonic(), clock.monotonic()
    assert 0 <= second - first < 60
