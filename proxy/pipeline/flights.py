"""The upstream calls under way that others may join."""

from proxy.core.classify import Lookup
from proxy.core.model import Shape
from proxy.pipeline.collapse import Flight


class Flights:
    """By what makes requests identical: key, caller, shape, stream options, content coding."""

    def __init__(self) -> None:
        self._flights: dict[bytes, Flight] = {}
        self._streams: dict[bytes, Flight] = {}

    def __len__(self) -> int:
        return len(self._flights)

    def find(self, plan: Lookup) -> Flight | None:
        """The flight that this request may read from its first byte."""
        flight = self._flights.get(plan.flight)
        return flight if flight is not None and flight.is_whole else None

    def find_stream(self, plan: Lookup) -> Flight | None:
        """A stream under way that answers the question of a request for JSON."""
        return self._streams.get(plan.answer) if plan.shape is Shape.JSON else None

    def add(self, plan: Lookup, flight: Flight) -> None:
        """From now on others may join."""
        self._flights[plan.flight] = flight
        if plan.shape is Shape.SSE:
            self._streams[plan.answer] = flight

    def remove(self, plan: Lookup, flight: Flight) -> None:
        """It is over, or its answer cannot be had from the beginning."""
        if self._flights.get(plan.flight) is flight:
            del self._flights[plan.flight]
        if self._streams.get(plan.answer) is flight:
            del self._streams[plan.answer]
