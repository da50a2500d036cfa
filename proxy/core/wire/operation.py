"""What the proxy must know of an API operation in order to cache it.

Each operation is one module in `proxy/core/wire/operations/` with one constant `OPERATION` that
fulfils `Operation`; `discover` finds them, so that a new one touches no other file.
"""

import importlib
import pkgutil
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol, TypeAlias

from proxy.core.wire import operations
from proxy.core.wire.sse import Frame

Json: TypeAlias = dict[str, "Json"] | list["Json"] | str | int | float | bool | None
JsonObject: TypeAlias = dict[str, Json]


class Question(NamedTuple):
    """What an operation reads out of a request body."""

    model: str
    stream: bool
    stream_options: Mapping[str, Json]
    """As sent; empty where absent."""
    history: tuple[Json, ...]
    """The messages before the last, oldest first; empty for operations without a conversation."""
    last: Json
    """The last message, or the whole prompt."""
    items: int | None = None
    """How many items a whole answer has; None where the question does not tell."""
    is_sampled: bool = True
    """Chance has a part in the answer, unless the temperature is 0."""

    @property
    def include_usage(self) -> bool:
        """Whether the client asked for a usage chunk at the end of the stream."""
        return self.stream_options.get("include_usage") is True


class Answer(NamedTuple):
    """What a finished answer says of itself, whichever shape it was received in."""

    model: str | None
    finish_reasons: tuple[str | None, ...]
    """In the order of the choices' index; None where a choice never told one."""
    has_error: bool
    """An `error` member or frame was in it, even if the status was 200."""
    is_empty: bool
    """There is no choice at all, or a choice that says nothing (no text, call, refusal)."""
    is_terminated: bool
    """The API's own end was seen: `[DONE]` for a stream; a JSON document always is."""
    has_usage: bool
    """For a stream: a usage object that `stream_options.include_usage` asks for was in it."""
    prompt_tokens: int | None
    completion_tokens: int | None
    cached_tokens: int | None
    """Prompt tokens that the upstream took from its own prefix cache."""
    items: int | None = None
    """How many it has, where the question tells how many there must be."""


class Operation(Protocol):
    """One cacheable endpoint: how to read its requests and its answers, in both shapes."""

    @property
    def name(self) -> str:
        """The operation's name (OTel `gen_ai.operation.name`: chat, text_completion, ...)."""

    @property
    def suffixes(self) -> tuple[str, ...]:
        """A request path that ends with one of these belongs to the operation."""

    @property
    def input_fields(self) -> frozenset[str]:
        """The body members that `read` takes the question from; not part of the settings."""

    @property
    def ignored_fields(self) -> frozenset[str]:
        """Body members that cannot change the answer; not part of the key (design 4)."""

    def read(self, body: JsonObject) -> Question | None:
        """Read the question; None where the body does not have this operation's form."""

    def describe_document(self, document: JsonObject) -> Answer:
        """Say what a JSON answer tells of itself. Never raises on odd structure."""

    def describe_stream(self, body: bytes) -> Answer:
        """Say what a whole recorded stream tells of itself. Never raises on odd structure."""

    def has_ended(self, tail: bytes) -> bool:
        """Say whether a stream whose last bytes are `tail` has said all that it will."""

    def to_document(self, frames: Sequence[Frame]) -> bytes | None:
        """Merge a complete stream into the JSON answer; None where that would lose anything."""

    def to_stream(self, document: JsonObject, *, include_usage: bool) -> bytes | None:
        """Spread a JSON answer into the frames of a stream; None where that would lose anything."""

    def without_usage(self, frames: Sequence[Frame]) -> bytes | None:
        """Leave out what only `stream_options.include_usage` brings; None where unsure."""


def discover() -> tuple[Operation, ...]:
    """Every operation, those with the longest suffix first (chat before plain completions)."""
    found: list[Operation] = [
        importlib.import_module(f"{operations.__name__}.{module.name}").OPERATION
        for module in pkgutil.iter_modules(operations.__path__)
    ]
    return tuple(sorted(found, key=lambda operation: -max(map(len, operation.suffixes))))
