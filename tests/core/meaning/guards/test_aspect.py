import pytest

from proxy.core.meaning.guards import aspect
from proxy.core.meaning.text import Objection, Pair, Text

EQUAL = [
    ("Who is Roald Amundsen?", "Who was Roald Amundsen?"),
    ("What is the Hanseatic League?", "What was the Hanseatic League?"),
    ("Who is the inventor of the zip?", "Who was the inventor of the zip?"),
    ("How do I get over jet lag?", "How did you get over jet lag?"),
    ("Who was the mayor of Graz in 1990?", "Who is the mayor of Graz in 1990?"),
    ("Was my parcel sent?", "Has my parcel been sent?"),
    ("Why is Otto loved?", "Why was, or is, Otto loved?"),
    ("When will the shop open?", "When does the shop open?"),
    ("What are good museums in Basel?", "What are the best museums in Basel?"),
    ("How do I become a good baker?", "How do I become a better baker?"),
    ("What is the fastest way to dry herbs?", "How do I dry herbs fast?"),
    ("Do you have any soap?", "Do you have some soap?"),
    ("What are all the planets?", "What are the planets?"),
    ("Tell me everything about llamas", "Tell me something about llamas"),
    ("发烧怎么办", "发烧了怎么办"),
    ("我迟到了", "我已经迟到了"),
    ("我要了解保险", "我了解保险了"),
    ("全部车站", "所有车站"),
]

DIFFERENT = [
    ("Who is the mayor of Graz?", "Who was the mayor of Graz?", "is", "was"),
    ("Where does Nora work?", "Where did Nora work?", "does", "did"),
    ("What's the entry fee?", "What was the entry fee?", "What's", "was"),
    ("Will Marta resign?", "Did Marta resign?", "Will", "Did"),
    ("Is Max going to be sent home?", "Has Max been sent home?", "going to", "been"),
    ("I will be robbed. What do I do?", "I have been robbed. What do I do?", "will", "been"),
    ("我要迟到了怎么办", "我迟到了怎么办", "要", "了"),
    ("店要关门了吗", "店已经关门了吗", "要", "已经"),
    ("A cheap inn in Riga", "The cheapest inn in Riga", "cheap", "cheapest"),
    ("Why is it colder there?", "Why is it cold there?", "colder", "cold"),
    ("Which is the safer bike?", "Which is the safest bike?", "safer", "safest"),
    ("What is a good pulse?", "What is the best pulse?", "good", "best"),
    ("Is rail more popular there?", "Is rail most popular there?", "more", "most"),
    ("Do all swans sing?", "Do some swans sing?", "all", "some"),
    ("Does everyone pay the levy?", "Does anyone pay the levy?", "everyone", "anyone"),
    ("Do most owls migrate?", "Do all owls migrate?", "most", "all"),
    ("Name all moons of Mars", "Name a moon of Mars", "all", "Name a"),
    ("所有蘑菇都能吃吗", "有些蘑菇能吃吗", "所有", "有些"),
]


@pytest.mark.parametrize(("stored", "asked"), EQUAL)
def test_the_same_time_degree_and_amount_is_let_through(stored: str, asked: str) -> None:
    assert aspect.compare(Pair(Text(stored), Text(asked))) is None
    assert aspect.compare(Pair(Text(asked), Text(stored))) is None


@pytest.mark.parametrize(("stored", "asked", "here", "there"), DIFFERENT)
def test_another_time_degree_or_amount_is_refused(
    stored: str, asked: str, here: str, there: str
) -> None:
    first, second = Text(stored), Text(asked)
    assert aspect.compare(Pair(first, second)) == Objection("aspect", here, there)
    assert aspect.compare(Pair(second, first)) == Objection("aspect", there, here)


@pytest.mark.parametrize("text", [side for pair in DIFFERENT for side in pair[:2]])
def test_a_text_does_not_differ_from_itself(text: str) -> None:
    assert aspect.compare(Pair(Text(text), Text(text))) is None


def test_texts_with_little_in_common_do_not_hang_on_one_word() -> None:
    stored, asked = Text("Was the barn painted red?"), Text("Is every hen in Utah asleep?")
    assert aspect.compare(Pair(stored, asked)) is None
