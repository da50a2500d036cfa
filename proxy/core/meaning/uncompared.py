"""Why a question was not compared by meaning."""

from enum import StrEnum


class Uncompared(StrEnum):
    """The reason, as log, metrics and explanations tell it."""

    OFF = "off"
    """`semantic.enabled` is false for this route, or the level is closed."""
    FORM = "form"
    """The last message is not a user message of plain text, or the operation has none."""
    TOOLS = "tools"
    CHOICES = "choices"
    """More than one choice is asked for."""
    LOGPROBS = "logprobs"
    SEED = "seed"
    TEMPERATURE = "temperature"
    RULE_KEYWORD = "rule-keyword"
    RULE_PATTERN = "rule-pattern"
    LOADING = "encoder-loading"
    """The encoder is not ready yet."""
    MISSING = "encoder-missing"
    """No model for this script is installed, or it failed its self-test."""
    SCRIPT = "script"
    """No encoder serves the script of the text."""
    LANGUAGE = "language"
    """The guards do not know the language of the text."""
    UNKNOWN_TOKENS = "unknown-tokens"
    """The tokenizer knows too little of the text."""
    EMPTY = "empty"
    """There is no text."""
    TOO_LONG = "too-long"
    """More tokens than are compared; texts are never truncated."""
    BUSY = "encoder-busy"
    """The queue of the encoder is full."""
    DEADLINE = "deadline"
    """The encoder did not answer in time."""
    BAD_VECTOR = "bad-vector"
    """A zero, NaN or wrong-sized vector."""
    BROKEN = "encoder-broken"
    """The encoder raised an error."""


class NotCompared(Exception):
    """A text has no vector now; the request goes on without."""

    def __init__(self, reason: Uncompared) -> None:
        super().__init__(reason.value)
        self.reason = reason
