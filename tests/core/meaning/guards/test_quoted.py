import pytest

from proxy.core.meaning.guards import quoted
from proxy.core.meaning.text import Objection, Pair, Text

EQUAL = [
    ('Translate "safe travels"', "Translate safe travels"),
    ("translate 'hello'", "translate “hello”"),
    ("《水浒传》的人物", "水浒传的人物"),
    ("「你好」怎么读", "“你好”怎么读"),
    ("what's Anna's plan", "whats annas plan"),
    ("don't and can't", "dont"),
    ("‘x’ means", "'x' means"),
    ('the "US"', "the US"),
    ("«oui»", '"oui"'),
    ('what is "  "', "what is"),
    ("rock 'n' roll history", "history of rock n roll"),
    ("the 90s' music", "music of the 90s"),
    ("5' 10\" tall", "5 ft 10 tall"),
    ("《春》这篇课文", "春这篇课文"),
    ("“三思而后行”的意思", "三思而后行的意思"),
    ("it's Anna's and Bob's", "its annas and bobs"),
]

DIFFERENT = [
    ('Translate "safe travels"', 'Translate "safe return"', "safe travels", "safe return"),
    ("《红楼梦》", "《西游记》", "红楼梦", "西游记"),
    ("say ‘yes’", "say ‘no’", "yes", "no"),
    ("“你好”", "“再见”", "你好", "再见"),
    ('find "a b"', 'find "a c"', "a b", "a c"),
    ("「甲」", "「乙」", "甲", "乙"),
    ('what is "foo"', "what is it", "foo", ""),
    ("'red' in German", "'blue' in German", "red", "blue"),
    ("« oui » en anglais", "« non » en anglais", " oui ", " non "),
]


def compare(stored: str, asked: str) -> Objection | None:
    return quoted.compare(Pair(Text(stored), Text(asked)))


@pytest.mark.parametrize(("stored", "asked"), EQUAL)
def test_what_is_the_same_is_no_objection(stored: str, asked: str) -> None:
    assert compare(stored, asked) is None
    assert compare(asked, stored) is None


@pytest.mark.parametrize(("stored", "asked", "mine", "yours"), DIFFERENT)
def test_an_objection_names_the_two_pieces(stored: str, asked: str, mine: str, yours: str) -> None:
    assert compare(stored, asked) == Objection(quoted.NAME, mine, yours)


@pytest.mark.parametrize(("stored", "asked"), [pair[:2] for pair in DIFFERENT])
def test_an_objection_stands_whichever_was_asked_first(stored: str, asked: str) -> None:
    assert compare(asked, stored) is not None


@pytest.mark.parametrize("text", [text for pair in DIFFERENT for text in pair[:2]])
def test_no_text_differs_from_itself(text: str) -> None:
    assert compare(text, text) is None
