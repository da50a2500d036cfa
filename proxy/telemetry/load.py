"""What upstreams have to do: the calls that are under way, and what came of those that ended."""

from collections.abc import Callable, Iterable

from prometheus_client.core import Metric

from proxy.telemetry import catalog_traffic as traffic
from proxy.telemetry.counts import Counts, Distributions, family

CUT = "cut"
_TOO_MANY = 429


class UpstreamLoad:
    """Counts calls by the upstream's name."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self.monotonic = monotonic
        self.under_way: dict[tuple[str, ...], float] = {}
        self._ended = Counts(traffic.UPSTREAM_REQUESTS)
        self._retries = Counts(traffic.RETRIES)
        self.durations = Distributions(traffic.UPSTREAM_DURATIONS)
        self.first_bytes = Distributions(traffic.UPSTREAM_FIRST_BYTES)

    def expect(self, upstreams: Iterable[str]) -> None:
        """These are in the configuration: all that can be counted of them is there, at 0."""
        for upstream in upstreams:
            self.under_way.setdefault((upstream,), 0)
            self._retries.add(upstream, by=0)
            for result in traffic.RESULTS:
                self._ended.add(upstream, result, by=0)

    def begin(self, upstream: str) -> "Call":
        """A call begins."""
        labels = (upstream,)
        self.under_way[labels] = self.under_way.get(labels, 0) + 1
        return Call(self, upstream, self.monotonic())

    def retried(self, upstream: str) -> None:
        """A call is made again."""
        self._retries.add(upstream)

    def end(self, call: "Call", result: str) -> None:
        """A call has ended."""
        upstream = call.upstream
        self.under_way[(upstream,)] -= 1
        self._ended.add(upstream, result)
        self.durations.add(self.monotonic() - call.began, upstream)

    def collect(self) -> Iterable[Metric]:
        """As prometheus_client asks for it."""
        yield self._ended.collect()
        yield family(traffic.UPSTREAM_IN_FLIGHT, self.under_way)
        yield self._retries.collect()
        yield self.durations.collect()
        yield self.first_bytes.collect()


class Call:
    """One call. It ends once, whatever is said of it later."""

    __slots__ = ("_has_ended", "_load", "_status", "began", "upstream")

    def __init__(self, load: UpstreamLoad, upstream: str, began: float) -> None:
        self.upstream = upstream
        self.began = began
        """Monotonic seconds."""
        self._load = load
        self._status = 0
        self._has_ended = False

    def answered(self, status: int) -> None:
        """The head of the final answer is here."""
        self._status = status
        self._load.first_bytes.add(self._load.monotonic() - self.began, self.upstream)

    def ended(self) -> None:
        """The answer came whole."""
        status = self._status
        self.failed("429" if status == _TOO_MANY else f"{status // 100}xx")

    def failed(self, result: str) -> None:
        """It ended before its time: the code of an UpstreamError, or CUT."""
        if not self._has_ended:
            self._has_ended = True
            self._load.end(self, result)
