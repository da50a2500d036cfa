import pytest

from proxy.core.meaning.guards import written_language
from proxy.core.meaning.text import Objection, Pair, Text

EQUAL = [
    ("What is it", "what's that"),
    ("什么是API", "API是什么"),
    ("12+5", "12 + 5"),
    ("python list", "list in python"),
    ("12:30", "half past twelve"),
    ("iPhone 15 Pro Max", "buy iphone 15 pro max"),
    ("用Python写脚本", "Python脚本怎么写"),
    ("café near me", "cafe near me"),
    ("die hard film", "the film die hard"),
    ("São Paulo hotels", "hotels in Sao Paulo"),
    ("Beyoncé songs", "songs by Beyonce"),
    ("?", "!"),
]

DIFFERENT = [
    ("What is it", "什么是它", "en", "zh"),
    ("Wie schneide ich Rosen", "How do I prune roses", "other", "en"),
    ("¿Cuál es la capital?", "What is the capital?", "other", "en"),
    ("东京在哪里", "東京はどこですか", "zh", "other"),
    ("comment faire du pain", "how to make bread", "other", "en"),
    ("come si fa il pane", "how to make bread", "other", "en"),
    ("hoe maak ik brood", "how to make bread", "other", "en"),
    ("como fazer pão", "how to make bread", "other", "en"),
    ("Как дела", "how are you", "other", "en"),
    ("한국의 수도", "수도 of Korea is what", "other", "en"),
    ("怎么烤面包", "how to bake bread", "zh", "en"),
    ("jak upiec chleb w domu", "how to bake bread", "other", "en"),
]


def compare(stored: str, asked: str) -> Objection | None:
    return written_language.compare(Pair(Text(stored), Text(asked)))


@pytest.mark.parametrize(("stored", "asked"), EQUAL)
def test_what_is_the_same_is_no_objection(stored: str, asked: str) -> None:
    assert compare(stored, asked) is None
    assert compare(asked, stored) is None


@pytest.mark.parametrize(("stored", "asked", "mine", "yours"), DIFFERENT)
def test_an_objection_names_the_two_pieces(stored: str, asked: str, mine: str, yours: str) -> None:
    assert compare(stored, asked) == Objection(written_language.NAME, mine, yours)


@pytest.mark.parametrize(("stored", "asked"), [pair[:2] for pair in DIFFERENT])
def test_an_objection_stands_whichever_was_asked_first(stored: str, asked: str) -> None:
    assert compare(asked, stored) is not None


@pytest.mark.parametrize("text", [text for pair in DIFFERENT for text in pair[:2]])
def test_no_text_differs_from_itself(text: str) -> None:
    assert compare(text, text) is None
