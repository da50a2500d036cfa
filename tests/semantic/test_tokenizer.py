"""Texts become the ids that the models were trained with, whole."""

from pathlib import Path

import orjson
import pytest

from proxy.semantic import tokenizer
from proxy.semantic.models import E5, MINILM
from proxy.semantic.tokenizer import Tokenizer
from tests.semantic import tiny

REFERENCE = Path(__file__).with_name("e5_tokens.json")
"""Ids by the Unigram of Hugging Face's tokenizers over the same pieces, with the prefix."""


@pytest.fixture(scope="module")
def english(models: Path) -> Tokenizer:
    return tokenizer.load(models / MINILM.name / "tokenizer.json")


@pytest.fixture(scope="module")
def many(models: Path) -> Tokenizer:
    return tokenizer.load(models / E5.name / "sentencepiece.model")


def test_sentencepiece_gives_the_ids_of_the_other_library(many: Tokenizer) -> None:
    expected = orjson.loads(REFERENCE.read_bytes())
    assert len(expected) > 30
    assert {text: many.tokens(f"query: {text}").ids for text in expected} == expected


def test_marks_are_told_apart_from_the_text(english: Tokenizer, many: Tokenizer) -> None:
    found = english.tokens("Hello world")
    assert (found.ids, found.unknown, found.marks) == ([101, 7592, 2088, 102], 0, 2)
    found = many.tokens("Hello world")
    assert (found.ids[0], found.ids[-1], found.marks) == (0, 2, 2)


def test_unknown_signs_are_counted(english: Tokenizer, many: Tokenizer) -> None:
    assert english.tokens("fine 🤠 day").unknown == 1
    assert many.tokens("a rare sign: 龘").unknown == 1
    assert many.tokens("Ça marche, 没问题, всё хорошо").unknown == 0


@pytest.mark.parametrize("words", [120, 200, 500])
def test_no_text_is_cut_or_padded(english: Tokenizer, many: Tokenizer, words: int) -> None:
    assert len(english.tokens("word " * words).ids) == words + 2
    assert len(many.tokens("word " * words).ids) == words + 2


def test_marks_in_a_text_are_text(english: Tokenizer, many: Tokenizer) -> None:
    assert english.tokens("a [SEP] b").ids.count(102) == 1
    assert english.tokens("[UNK]").unknown == 0
    assert many.tokens("a </s> b").ids.count(2) == 1
    assert many.tokens("<unk>").unknown == 0


def test_tokenizer_json_of_a_stranger_is_read(tmp_path: Path) -> None:
    found = tokenizer.load(tiny.write(tmp_path) / "tokenizer.json")
    assert found.tokens("return the shoes . . . . . . . .").marks == 0
    assert len(found.tokens("shoes " * 20).ids) == 20


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("tokenizer.json", b"{"),
        ("tokenizer.json", b"[1]"),
        ("tokenizer.json", b'{"model": {}}'),
        ("sentencepiece.model", b""),
        ("sentencepiece.model", b"abc" * 100),
    ],
)
def test_file_that_is_no_tokenizer_is_refused(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError):  # noqa: PT011 - the message is the library's
        tokenizer.load(tmp_path / name)


def test_missing_file_is_an_error_of_the_system(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        tokenizer.load(tmp_path / "tokenizer.json")
