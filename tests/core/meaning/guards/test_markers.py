import pytest

from proxy.core.meaning.guards import markers
from proxy.core.meaning.text import Objection, Pair, Text

EQUAL = [
    ("How do I get from Oslo to Kiel?", "What's the way to Kiel from Oslo?"),
    ("Distance from Oslo to Kiel", "Distance to Kiel from Oslo"),
    ("How do I send files from my phone to my PC?", "How do I send files to my PC from my phone?"),
    ("How do I convert kg to lb?", "How do I convert from kg to lb?"),
    ("Help with my taxes", "Help for my taxes"),
    ("Before moving out, what should I do?", "What should I do before I move out?"),
    ("Which is better, rye and wheat bread?", "Which is better, rye or wheat bread?"),
    ("What are the causes and signs of gout?", "What are the causes or signs of gout?"),
    ("Can I return it if I lost the receipt?", "Can I return it when I lost the receipt?"),
    ("How long do I wait before baking?", "How long do I wait until baking?"),
    ("Will I be charged unless I cancel?", "Will I be charged if I do not cancel?"),
    ("Should I swim even if it rains?", "Should I swim if it rains?"),
    ("What if it rains?", "What happens when it rains?"),
    ("Is the ferry from Oslo late?", "Is the Oslo ferry late?"),
    ("向老师道歉怎么写", "给老师道歉怎么写"),
    ("喝茶和咖啡哪个好", "喝茶或者咖啡哪个好"),
    ("可以带猫和狗吗", "可以带猫跟狗吗"),
    ("下雨了怎么办", "要是下雨了怎么办"),
    ("只要下雨就取消吗", "如果下雨就取消吗"),
]

DIFFERENT = [
    ("Ferries from Oslo to Kiel", "Ferries to Oslo from Kiel", "from Oslo", "to Oslo"),
    ("How do I ship to Peru?", "How do I ship from Peru?", "to Peru", "from Peru"),
    ("Is mail to my aunt taxed?", "Is mail from my aunt taxed?", "to my aunt", "from my aunt"),
    (
        "How do I get into it clean?",
        "How do I get out of it clean?",
        "into it clean",
        "out of it clean",
    ),
    ("Who argued for the dam?", "Who argued against the dam?", "for the dam", "against the dam"),
    ("Are ties bought by pupils?", "Are ties bought for pupils?", "by pupils", "for pupils"),
    ("Can I jog before lunch?", "Can I jog during lunch?", "before lunch", "during lunch"),
    (
        "Can I stay until the trial?",
        "Can I stay after the trial?",
        "until the trial",
        "after the trial",
    ),
    ("Can I bring a crib and toys?", "Can I bring a crib or toys?", "and toys", "or toys"),
    ("Is it free unless it rains?", "Is it free if it rains?", "unless", "if"),
    ("Am I safe because I drive?", "Am I safe although I drive?", "because", "although"),
    ("Is it free even if I am late?", "Is it free only if I am late?", "even if", "only if"),
    ("Do I wait until it rings?", "Do I wait if it rings?", "until", "if"),
    ("从大连坐车多久", "到大连坐车多久", "从大连", "到大连"),
    ("怎么租房给同事", "怎么向同事租房", "给同事", "向同事"),
    ("带护照和身份证可以吗", "带护照或身份证可以吗", "和身份证", "或身份证"),
    ("如果下雨还开门吗", "除非下雨还开门吗", "如果", "除非"),
    ("虽然下雨还比赛吗", "因为下雨还比赛吗", "虽然", "因为"),
]


@pytest.mark.parametrize(("stored", "asked"), EQUAL)
def test_small_words_that_say_the_same_are_let_through(stored: str, asked: str) -> None:
    assert markers.compare(Pair(Text(stored), Text(asked))) is None
    assert markers.compare(Pair(Text(asked), Text(stored))) is None


@pytest.mark.parametrize(("stored", "asked", "here", "there"), DIFFERENT)
def test_another_part_or_condition_is_refused(
    stored: str, asked: str, here: str, there: str
) -> None:
    first, second = Text(stored), Text(asked)
    assert markers.compare(Pair(first, second)) == Objection("markers", here, there)
    assert markers.compare(Pair(second, first)) == Objection("markers", there, here)


@pytest.mark.parametrize("text", [side for pair in DIFFERENT for side in pair[:2]])
def test_a_text_does_not_differ_from_itself(text: str) -> None:
    assert markers.compare(Pair(Text(text), Text(text))) is None


def test_texts_with_little_in_common_do_not_hang_on_a_small_word() -> None:
    stored, asked = Text("Which bus goes to the harbour?"), Text("Is fish from the harbour fresh?")
    assert markers.compare(Pair(stored, asked)) is None


def test_texts_of_two_clauses_do_not_hang_on_a_condition() -> None:
    stored, asked = Text("Do hens lay if it snows?"), Text("Should Max sell unless rates fall?")
    assert markers.compare(Pair(stored, asked)) is None
