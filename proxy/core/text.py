"""What a request says in words, and how words are found in it."""

import functools
import re
import unicodedata
from collections.abc import Iterator

from proxy.core.wire.operation import Json, Question

_LETTER = r"(?-i:[^\W\u0530-\u1dff\u2000-\U0010ffff])"
"""A word character of a script with blanks between words: Latin, Greek, Cyrillic; digits.

Its case counts, for in the scripts left out are signs whose other case is a Latin letter.
"""


def texts(message: Json) -> Iterator[str]:
    """The text of a message, or of a prompt: its strings and its text parts."""
    if isinstance(message, str):
        yield message
    elif isinstance(message, list):
        for part in message:
            yield from texts(part)
    elif isinstance(message, dict):
        for member in ("content", "text"):
            yield from texts(message.get(member))


def user_text(question: Question) -> str:
    """The last user text, as the key has it (NFC); of the last message where nobody is a user."""
    said = (
        message
        for message in (question.last, *reversed(question.history))
        if isinstance(message, dict) and message.get("role") == "user"
    )
    return _nfc("\n".join(texts(next(said, question.last))))


def has_media(question: Question) -> bool:
    """Whether a content part of any message is not text."""
    return any(_has_media(message) for message in (*question.history, question.last))


def _has_media(message: Json) -> bool:
    content = message.get("content") if isinstance(message, dict) else None
    return isinstance(content, list) and any(
        isinstance(part, dict) and part.get("type") not in ("text", "refusal") for part in content
    )


@functools.lru_cache(maxsize=64)
def keywords(words: tuple[str, ...]) -> re.Pattern[str]:
    """What finds any of the words, whatever their case; Latin ones only as whole words."""
    # Other scripts have no blanks between words, and none between theirs and a Latin one.
    return re.compile("|".join(_whole(_nfc(word)) for word in words), re.IGNORECASE)


def _whole(word: str) -> str:
    before = rf"(?<!{_LETTER})" if re.match(_LETTER, word[0]) else ""
    after = rf"(?!{_LETTER})" if re.match(_LETTER, word[-1]) else ""
    return before + re.escape(word) + after


def _nfc(text: str) -> str:
    # As the key has it, so that no other spelling gets round a rule.
    return unicodedata.normalize("NFC", text)
