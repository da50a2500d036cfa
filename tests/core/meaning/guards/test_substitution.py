import pytest

from proxy.core.meaning.guards import substitution
from proxy.core.meaning.text import Objection, Pair, Text

EQUAL = [
    ("How do I bake a sponge cake?", "What's the best way to bake a sponge cake?"),
    ("How do I buy a tent for camping?", "How do I purchase a tent for camping?"),
    ("Where can I recieve a parcel in Leeds?", "Where can I receive a parcel in Leeds?"),
    ("How do I grow basil indoors?", "How do I grow basli indoors?"),
    ("a photo of a heron in flight", "a picture of a heron in flight"),
    ("the growth of bamboo in spring", "the growing of bamboo in spring"),
    ("How do I sharpen a chef's knife?", "How do I sharpen chef knives?"),
    ("How do I submit my tax form by post?", "How do I send my tax form by post?"),
    ("amazing facts about octopuses", "fascinating facts about octopuses"),
    ("How do I update the app on my watch?", "How do I update the application on my watch?"),
    ("How can I curb my craving for salt?", "How can I lessen my craving for salt?"),
    ("What is the oddest hat in the museum?", "What is the quaintest hat in the museum?"),
    ("the bagage allowance on the ferry", "the baggage allowance on the ferry"),
    ("15% of the bill as a tip", "fifteen percent of the bill as a tip"),
    ("Is the kennel open?", "How many goals did they score?"),
    ("怎么做糖醋排骨", "如何做糖醋排骨"),
    ("手机屏幕碎了换一块多少钱", "手机的屏幕碎了换一块要多少钱"),
    ("购买二手钢琴要注意什么", "买二手钢琴要注意什么"),
    ("经期能做瑜伽吗", "经期能练瑜伽吗"),
    ("窗帘的价格", "窗帘多少钱"),
]

DIFFERENT = [
    ("cheap flights to Malta", "cheap flights to Crete", "Malta", "Crete"),
    ("How do I cook lentils in a slow cooker?", "How do I cook barley in a slow cooker?",
     "lentils", "barley"),
    ("How long do parrots live in the wild?", "How long do eagles live in the wild?",
     "parrots", "eagles"),
    ("How do I remove wax from a carpet?", "How do I remove ink from a carpet?", "wax", "ink"),
    ("Can my dog eat raw carrots?", "Can my dog eat raw onions?", "carrots", "onions"),
    ("the capital gains tax in Norway", "the capital gains tax in Chile", "Norway", "Chile"),
    ("How do I tune a violin by ear?", "How do I tune a banjo by ear?", "violin", "banjo"),
    ("Is methanol safe for lamps?", "Is ethanol safe for lamps?", "methanol", "ethanol"),
    ("Can Ida ask Ruth to call her mother?", "Can Ida ask Ruth to call Ida's mother?",
     "her", "Ida's"),
    ("Is garlic safe for hamsters?", "Is garlic safe for rabbits?", "hamsters", "rabbits"),
    ("怎么做红烧鲤鱼", "怎么做红烧茄子", "鲤鱼", "茄子"),
    ("杭州明天会下雨吗", "兰州明天会下雨吗", "杭", "兰"),
    ("青岛附近的温泉推荐", "昆明附近的温泉推荐", "青岛", "昆明"),
    ("阳台上怎么种草莓", "阳台上怎么种辣椒", "草莓", "辣椒"),
    ("骆驼为什么有驼峰", "水牛为什么有驼峰", "骆驼", "水牛"),
    ("学钢琴要花多少钱", "学游泳要花多少钱", "钢琴", "游泳"),
]  # fmt: skip


@pytest.mark.parametrize(("stored", "asked"), EQUAL)
def test_what_may_be_one_thing_is_let_through(stored: str, asked: str) -> None:
    assert substitution.compare(Pair(Text(stored), Text(asked))) is None
    assert substitution.compare(Pair(Text(asked), Text(stored))) is None


@pytest.mark.parametrize(("stored", "asked", "here", "there"), DIFFERENT)
def test_another_filler_is_refused(stored: str, asked: str, here: str, there: str) -> None:
    first, second = Text(stored), Text(asked)
    assert substitution.compare(Pair(first, second)) == Objection("substitution", here, there)
    assert substitution.compare(Pair(second, first)) == Objection("substitution", there, here)


@pytest.mark.parametrize("text", [side for pair in DIFFERENT for side in pair[:2]])
def test_a_text_has_no_slot_with_itself(text: str) -> None:
    assert substitution.slot(Pair(Text(text), Text(text))) is None


def test_a_slot_tells_its_fillers_and_its_frame() -> None:
    found = substitution.slot(Pair(Text("ferry to Malta in May"), Text("ferry to Crete in May")))
    assert found is not None
    assert [unit.key for unit in found.stored] == ["malta"]
    assert [unit.key for unit in found.asked] == ["cret"]
    assert found.kept == 1
    assert found.share == 0.5


def test_two_places_that_differ_are_no_slot() -> None:
    pair = Pair(Text("Can hens eat raw rice in June?"), Text("Can ducks eat raw oats in June?"))
    assert substitution.slot(pair) is None


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("recieve", "receive", True),
        ("application", "app", True),
        ("united nations", "un", True),
        ("obsessed", "obsession", True),
        ("cat", "car", False),
        ("violin", "banjo", False),
        ("手机", "手机号", True),
        ("法国", "德国", False),
    ],
)
def test_fillers_resemble_each_other_by_their_letters(one: str, other: str, same: bool) -> None:
    assert substitution.resembles(one, other) is same
    assert substitution.resembles(other, one) is same


@pytest.mark.parametrize(
    ("one", "other", "distance"),
    [("abcd", "abcd", 0), ("abcd", "abdc", 1), ("abcd", "abxd", 1), ("abcd", "acd", 1),
     ("abcd", "wxyz", 3), ("a", "abcdef", 3)],
)  # fmt: skip
def test_edits_are_counted_up_to_a_bound(one: str, other: str, distance: int) -> None:
    assert min(substitution.edits(one, other, 2), 3) == distance
