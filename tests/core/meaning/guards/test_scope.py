import pytest

from proxy.core.meaning.guards import scope
from proxy.core.meaning.text import Objection, Pair, Text

EQUAL = [
    ("How do I descale a kettle?", "Please tell me how to descale a kettle"),
    ("Is that heron asleep on the roof?", "Is that heron actually asleep on the roof?"),
    ("What's the excess on my travel cover?", "What's the excess on my travel cover policy?"),
    ("When is my last year of school?", "When is my final year of school?"),
    ("not only the first page", "the first page, not only"),
    ("How do I repot an orchid?", "How does one repot an orchid, in general?"),
    ("What's the weather in Turin?", "weather in Turin"),
    ("Except for Sunday, when are you open?", "When are you open, except for Sunday?"),
    ("怎么给自行车打气", "请问如何给自行车打气呢"),
    ("全部的星座有哪些", "所有星座有哪些"),
    ("绿萝怎么养", "绿萝怎么养好"),
    ("有哪些咏梅的诗", "所有咏梅的诗有哪些"),
    ("这只鹦鹉会说话吗", "鹦鹉会说话吗"),
    ("这部剧的结局", "这部剧最后的结局"),
    ("What are all the moons of Mars?", "What are some moons of Mars?"),
    ("Which song did they play first?", "What was the first song they played?"),
    ("How do I knit a hat quickly?", "How do I knit a hat?"),
    ("How do I learn chess?", "How do I learn chess for beginners?"),
    ("How do I stop hiccups in one minute?", "How do I stop hiccups in 1 minute?"),
    ("只吃素可以吗", "仅吃素可以吗"),
    ("至少要睡多久", "最少要睡多久"),
]

DIFFERENT = [
    ("How do I bake bread?", "How do I bake bread without an oven?", "", "oven"),
    ("Does my daughter need a visa?", "Do I need a visa?", "daughter", ""),
    ("Do all members vote?", "Do some members vote?", "all", "some"),
    ("Will every tree bloom?", "Will any tree bloom?", "every", "any"),
    ("What are the speed limits?", "What are the speed limits in Germany?", "", "Germany"),
    ("How do I resize a partition?", "How do I resize a partition on Linux?", "", "Linux"),
    ("Can I pay by card?", "Can I pay only by card?", "", "only"),
    ("Who lives at least eighty years?", "Who lives eighty years?", "at least", ""),
    ("Do both twins need a passport?", "Do the twins need a passport?", "both", ""),
    ("Was the bridge used to be a road?", "Was the bridge a road?", "used to", ""),
    ("Is Mona a painter?", "Is Mona a retired painter?", "", "retired"),
    ("Is Otto becoming a monk?", "Is Otto a monk?", "becoming", ""),
    ("What's the fee for the account?", "What's the fee for the joint account?", "", "joint"),
    ("Can you walk the dog during an eclipse?", "Can you walk the dog?", "eclipse", ""),
    ("哪些鸟会游泳", "除了企鹅哪些鸟会游泳", "", "除了"),
    ("门票多少钱", "儿童门票多少钱", "", "儿童"),
    ("会员可以退款吗", "只有会员可以退款吗", "", "只有"),
    ("哪些城市有地铁", "哪些城市至少有地铁", "", "至少"),
    ("怎么剪辑视频", "怎么在苹果上剪辑视频", "", "苹果上"),
]


@pytest.mark.parametrize(("stored", "asked"), EQUAL)
def test_the_same_scope_is_let_through(stored: str, asked: str) -> None:
    assert scope.compare(Pair(Text(stored), Text(asked))) is None
    assert scope.compare(Pair(Text(asked), Text(stored))) is None


@pytest.mark.parametrize(("stored", "asked", "here", "there"), DIFFERENT)
def test_another_scope_is_refused(stored: str, asked: str, here: str, there: str) -> None:
    first, second = Text(stored), Text(asked)
    assert scope.compare(Pair(first, second)) == Objection("scope", here, there)
    assert scope.compare(Pair(second, first)) == Objection("scope", there, here)


@pytest.mark.parametrize("text", [side for pair in DIFFERENT for side in pair[:2]])
def test_a_text_adds_nothing_to_itself(text: str) -> None:
    assert scope.compare(Pair(Text(text), Text(text))) is None
    assert scope.added(Pair(Text(text), Text(text))) is None


def test_what_is_added_is_told() -> None:
    found = scope.added(Pair(Text("How do I paint a fence?"), Text("How do I paint a wet fence?")))
    assert found is not None
    assert [unit.key for unit in found.units] == ["wet"]
    assert not found.is_stored


def test_texts_with_little_in_common_do_not_hang_on_one_word() -> None:
    assert scope.compare(Pair(Text("Only hens lay there"), Text("Does Greta ski in Utah?"))) is None
