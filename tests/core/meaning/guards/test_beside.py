import pytest

from proxy.core.meaning.guards.beside import Said, said, share_beside
from proxy.core.meaning.phrases import Phrases
from proxy.core.meaning.text import Pair, Text

PHRASES = Phrases([("kind:whole", "all"), ("kind:part", "a part of")])


def found(text: Text) -> tuple[Said, ...]:
    return tuple(said(text, hit) for hit in PHRASES.find(text.tokens))


def test_what_is_said_has_its_key_and_its_place() -> None:
    assert found(Text("Is A part of it blue?")) == (Said("part", "A part of", 3, 12),)


@pytest.mark.parametrize(
    ("stored", "asked", "share"),
    [
        ("all owls sleep", "a part of owls sleep", 1.0),
        ("all owls sleep", "all owls swim", 0.5),
        ("all", "a part of", 1.0),
    ],
)
def test_the_words_that_are_looked_at_count_for_nothing(
    stored: str, asked: str, share: float
) -> None:
    first, second = Text(stored), Text(asked)
    assert share_beside(Pair(first, second), found(first), found(second)) == share
