"""What the pipeline needs of the outside, as Protocols. Adapters fulfil them; app.py joins them."""

from collections.abc import Callable, Coroutine, Iterable, Sequence
from math import inf
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

from proxy.core.cache.change import Change
from proxy.core.cache.value import StoredResponse
from proxy.core.classify import Lookup
from proxy.core.meaning.outcome import Meant
from proxy.core.model import Body, Fields, LiveBody
from proxy.core.policy import Deadlines

if TYPE_CHECKING:  # a proxy that does not compare by meaning does without numpy
    import numpy as np
    import numpy.typing as npt

Vector: TypeAlias = "npt.NDArray[np.float32]"
"""Shape (dimensions,), of length 1."""
Matrix: TypeAlias = "npt.NDArray[np.float32]"
"""Shape (entries, dimensions); each row of length 1."""


TakeIn: TypeAlias = Callable[[Sequence[Change]], Coroutine[object, object, None]]
"""Takes in what others have changed, in order; waits between, so that the event loop stays free."""


class Clock(Protocol):
    """Time, taken as an argument."""

    def now(self) -> float:
        """Wall time in seconds since the epoch."""

    def monotonic(self) -> float:
        """A time in seconds that never runs backwards, for durations."""


class Store(Protocol):
    """The stored responses that this process serves from."""

    def get(self, key: bytes) -> StoredResponse | None:
        """The stored response under an exact key, stale ones included; None where there is none."""

    def peek(self, key: bytes) -> StoredResponse | None:
        """The same, and it does not count as a use."""

    def put(self, stored: StoredResponse) -> bool:
        """Keep it in place of what its key had; False where it is over the bounds."""

    def recount(self, stored: StoredResponse) -> None:
        """Count its bytes anew, if it is there: something was derived from it."""

    def delete(self, key: bytes) -> bool:
        """Forget it; False where there was nothing."""

    def scan(self) -> Iterable[StoredResponse]:
        """All that is stored, least recently used first; a snapshot, safe to change meanwhile."""


class Journal(Protocol):
    """Keeps changes beyond this process, and tells of those that others made (design 8)."""

    def append(self, change: Change) -> None:
        """Keep it, and let the others know, within a second. Never blocks, never raises."""

    async def start(self, take_in: TakeIn) -> None:
        """Begin to hand over what was kept before, then whatever others change.

        Returns when the first is done, or cannot be. Never raises: what cannot be read is left
        out, and what cannot be reached is tried again in the background.
        """

    async def close(self) -> None:
        """Keep what waits, within a second or two, and end."""


class Shared(Protocol):
    """The stored responses that all replicas have in common (mission C2, E6)."""

    async def fetch(self, key: bytes) -> StoredResponse | None:
        """What is stored under an exact key, stale or not, within a short deadline.

        None also where it is late, broken, or surely absent. Never raises.
        """

    async def claim(self, key: bytes, patience: float) -> StoredResponse | None:
        """Ask whether another replica has, or makes, the fresh answer that is missing here.

        Where one makes it just now, wait for it, `patience` seconds at most, and give what it has
        stored. None: call the upstream; until `release` the others wait for that. Never raises.
        """

    def release(self, key: bytes) -> None:
        """The call has ended. What it has stored was appended to the journal before."""


class Semantic(Protocol):
    """The semantic level (pipeline/meaning.py), which a proxy may do without."""

    async def find(self, plan: Lookup) -> Meant:
        """Look for an entry whose answer serves, within the policy's deadline."""

    def remaining(self, key: bytes, plan: Lookup, now: float) -> float:
        """Seconds for which an entry may still be found for a plan; not positive if it may not."""

    def is_wrong(self, target: bytes, asked: bytes) -> bool:
        """Whether somebody said that this entry does not serve a question, told by its digest."""


class UpstreamRequest(NamedTuple):
    """A request on its way to an upstream."""

    method: str
    url: str
    """Absolute, encoded as it shall stand in the request line."""
    fields: Fields
    """End-to-end fields; the adapter adds Host, Via and framing."""
    body: Body | None
    length: int | None
    """Bytes of a live body whose length is known."""
    deadlines: Deadlines
    fresh_connection: bool = False
    """Do not use a pooled connection."""
    upstream: str = ""
    """The upstream's name in the configuration, under which the call is counted."""


class UpstreamReply(Protocol):
    """An upstream's answer whose head has arrived."""

    @property
    def status(self) -> int:
        """The status code."""

    @property
    def reason(self) -> str:
        """The reason phrase."""

    @property
    def fields(self) -> Fields:
        """All fields as received."""

    @property
    def body(self) -> LiveBody:
        """The body's bytes as they arrive, not decoded.

        Raises UpstreamBroken or UpstreamTimeout when it ends before its time. Closing it gives
        the connection back if the end was reached, and cuts it otherwise.
        """


class Wire(Protocol):
    """A raw connection: bytes both ways, for what is no longer HTTP."""

    async def read(self) -> bytes:
        """The next bytes; empty at the end. Raises ConnectionError."""

    async def write(self, data: bytes) -> None:
        """Send, with back-pressure. Raises ConnectionError."""

    def close(self) -> None:
        """Send what is still queued and close."""


class Upstream(Protocol):
    """Sends a request on."""

    async def send(self, request: UpstreamRequest) -> UpstreamReply:
        """Send and wait for the head.

        Raises UpstreamError; its `may_retry` is set where a pooled connection had died before the
        upstream could have seen the request.
        """

    async def dial(self, url: str, deadlines: Deadlines) -> Wire:
        """Open a raw connection to a URL's authority. Raises UpstreamError."""


class Encoder(Protocol):
    """Turns a text into a vector; near in meaning is near in angle."""

    @property
    def identity(self) -> str:
        """Name and digest of model and tokenizer: vectors of unlike identities do not compare.

        Empty as long as it is not known.
        """

    @property
    def dimensions(self) -> int:
        """Of its vectors; 0 as long as that is not known."""

    async def embed(self, text: str, *, deadline: float) -> Vector:
        """The vector of a whole text, at most `deadline` seconds from now.

        Raises NotCompared where there is none: too long, unknown, busy, late, broken.
        """


class Neighbour(NamedTuple):
    """An entry near to a vector."""

    key: bytes
    """The exact key of the entry."""
    similarity: float
    """The cosine; larger is nearer."""


class VectorIndex(Protocol):
    """Vectors of entries, in partitions that never see each other."""

    @property
    def is_shared(self) -> bool:
        """Whether other processes search it too: it keeps what only this one has forgotten."""

    async def search(self, partition: bytes, vector: Vector, limit: int) -> list[Neighbour]:
        """The nearest entries of one partition, nearest first; sees every `add` before it.

        One that is shared sees it soon.
        """

    async def search_all(self, vector: Vector, limit: int) -> list[Neighbour]:
        """The nearest entries of all partitions. May be slow: for explanations."""

    def add(self, partition: bytes, key: bytes, vector: Vector, *, until: float = inf) -> None:
        """Take an entry in, soon; in place of what the key had. Never blocks.

        `until` is the wall time in seconds after which nobody wants it any more.
        """

    async def take_in(
        self, partition: bytes, keys: Sequence[bytes], vectors: "Matrix", *, until: float = inf
    ) -> None:
        """Take in those that are not here, and wait until they can be found.

        One that is shared does so soon.
        """

    async def vectors(self, partition: bytes, keys: Sequence[bytes]) -> dict[bytes, Vector]:
        """The vectors of some entries of a partition, as far as they are here."""

    def prolong(self, partition: bytes, key: bytes, until: float) -> None:
        """Say anew until when an entry is wanted. Never blocks; unknown keys are fine."""

    def discard(self, partition: bytes, key: bytes) -> None:
        """From now on no search returns this entry. Never blocks; unknown keys are fine."""

    def __len__(self) -> int:
        """How many entries can be found."""
