"""Text into the token ids of an encoder, whole: never cut, never padded."""

from pathlib import Path
from typing import NamedTuple, Protocol

import orjson
import sentencepiece
import tokenizers

_UNKNOWN = ("[UNK]", "<unk>")
_JOINER = "\u200d"


class Tokens(NamedTuple):
    """A text as its encoder sees it."""

    ids: list[int]
    """With the tokens that mark begin and end."""
    unknown: int
    """How many of them stand for what the tokenizer does not know."""
    marks: int
    """How many of them are no part of the text."""


class Tokenizer(Protocol):
    """Splits texts. What looks like a mark in a text is text."""

    def tokens(self, text: str) -> Tokens:
        """The tokens of a text."""


def load(path: Path) -> Tokenizer:
    """The tokenizer in a file: a tokenizer.json of Hugging Face, else a model of sentencepiece.

    Raises ValueError where the file is not that, OSError where it cannot be read.
    """
    return _Json(path) if path.suffix == ".json" else _SentencePiece(path)


class _Json:
    def __init__(self, path: Path) -> None:
        text = path.read_text("utf-8")
        found = orjson.loads(text)
        # The library raises a bare Exception for any other JSON.
        if not isinstance(found, dict) or not {"model", "added_tokens"} <= set(found):
            raise ValueError("is no tokenizer.json")
        self._tokenizer = tokenizers.Tokenizer.from_str(text)
        # The file says how training cut texts; we take them whole or not at all.
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._tokenizer.encode_special_tokens = True
        self._unknown = {self._tokenizer.token_to_id(token) for token in _UNKNOWN}

    def tokens(self, text: str) -> Tokens:
        found = self._tokenizer.encode(text)
        unknown = sum(number in self._unknown for number in found.ids)
        return Tokens(found.ids, unknown, sum(found.special_tokens_mask))


class _SentencePiece:
    def __init__(self, path: Path) -> None:
        self._pieces = sentencepiece.SentencePieceProcessor()
        try:
            self._pieces.LoadFromSerializedProto(path.read_bytes())
        except RuntimeError as error:
            raise ValueError("is no model of sentencepiece") from error
        self._begin = self._pieces.bos_id()
        self._end = self._pieces.eos_id()
        self._unknown = self._pieces.unk_id()

    def tokens(self, text: str) -> Tokens:
        # The table of signs of its training made a blank of this one; today's leaves it.
        ids = self._pieces.encode(text.replace(_JOINER, " "))
        return Tokens([self._begin, *ids, self._end], ids.count(self._unknown), 2)
