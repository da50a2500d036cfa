"""The values that travel between the layers.

What is made anew for every request is a NamedTuple: a frozen dataclass is made field by field
through object.__setattr__, which takes three times as long.
"""

from collections.abc import Callable
from enum import Enum
from typing import NamedTuple, Protocol, Self, TypeAlias

Fields: TypeAlias = tuple[tuple[bytes, bytes], ...]
"""Header fields as they stood on the wire: order, case and repetition kept."""


class LiveBody(Protocol):
    """A message body that is still arriving: an asynchronous iterator over its pieces."""

    @property
    def at_end(self) -> bool:
        """Every byte was taken and the end was a clean one."""

    def ready(self) -> bytes:
        """What has arrived and was not taken yet, without waiting; may be empty."""

    def __aiter__(self) -> Self: ...

    async def __anext__(self) -> bytes:
        """The next bytes, never empty. Raises ProxyError where the body breaks off."""

    async def aclose(self) -> None:
        """No more of it is wanted; cuts what is not at its end."""


Body: TypeAlias = bytes | LiveBody
"""A message body: whole, or live."""


class Shape(Enum):
    """The two forms in which an OpenAI-style endpoint gives one answer."""

    JSON = "json"
    SSE = "sse"


class Request(NamedTuple):
    """What the client sent. `target` is the request target as it stood in the request line."""

    method: str
    target: str
    path: str
    fields: Fields
    header: Callable[[str], str | None]
    """The value of a field by its case-insensitive name; several as one with commas."""
    body: Body | None
    length: int | None
    """Content-Length in bytes, None for a chunked body."""


class Response(NamedTuple):
    """What goes to the client, without the fields that frame it or that this hop adds."""

    status: int
    reason: bytes
    head: bytes
    """The end-to-end field lines, each ended by CRLF (see core/wire/headers.py:render)."""
    body: Body
    length: int | None
    """The number of body bytes, None where only the end of the stream tells it."""
    is_event_stream: bool = False
