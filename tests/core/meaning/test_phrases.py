import pytest

from proxy.core.meaning.phrases import Phrases, surface
from proxy.core.meaning.text import Text

PHRASES = Phrases(
    [
        ("new york", "nyc", "big apple"),
        ("new york times",),
        ("mars",),
        ("北京", "北京市"),
        ("c++", "cpp"),
    ]
)


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("a train to New York", ["new york"]),
        ("the New York Times", ["new york times"]),
        ("NYC and the Big Apple", ["new york", "new york"]),
        ("new yorkshire", []),
        ("new shoes", []),
        ("Mars's moons", ["mars"]),
        ("从北京到北京市", ["北京", "北京"]),
        ("学C++还是cpp", ["c++", "c++"]),
        ("", []),
    ],
)
def test_the_longest_phrase_is_found_by_the_first_of_its_group(text: str, keys: list[str]) -> None:
    assert [hit.key for hit in PHRASES.find(Text(text).tokens)] == keys


def test_a_plural_and_a_genitive_are_the_phrase() -> None:
    phrases = Phrases([("iphone",), ("anna",)])
    assert [hit.key for hit in phrases.find(Text("Anna's iPhones").tokens)] == ["anna", "iphone"]


def test_surface_is_what_stands_in_the_text() -> None:
    text = Text("to the  New  York office")
    hit = PHRASES.find(text.tokens)[0]
    assert surface(text, hit) == "New  York"


def test_at_looks_at_one_place_only() -> None:
    tokens = Text("near mars").tokens
    assert PHRASES.at(tokens, 0) is None
    assert PHRASES.at(tokens, 1) is not None
