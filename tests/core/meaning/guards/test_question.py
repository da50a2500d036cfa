import pytest

from proxy.core.meaning.guards import question
from proxy.core.meaning.text import Objection, Pair, Text

EQUAL = [
    ("How do I prune a vine?", "What is the way to prune a vine?"),
    ("How to prune a vine", "steps to prune a vine"),
    ("Why is the sky red?", "What is the reason for the red sky?"),
    ("How much does a stamp cost?", "What is the price of a stamp?"),
    ("When does the pool open?", "What time does the pool open?"),
    ("Where is the lost property office?", "whereabouts is lost property"),
    ("Who wrote Emma?", "Who is the author of Emma?"),
    ("Where can I buy a kilt?", "How can I buy a kilt?"),
    ("What should I do when it rains?", "How do I keep dry when it rains?"),
    ("How long is the ferry?", "How many hours is the ferry, how long?"),
    ("Tell me about yeast", "What is yeast?"),
    ("Can I fold a kayak?", "How can I fold a kayak?"),
    ("Can you tell me when the ferry leaves?", "When does the ferry leave?"),
    ("Is it possible to renew by post?", "Can I renew by post?"),
    ("I wonder how bees navigate", "How do bees navigate?"),
    ("In Malta, where do boats land?", "Where do boats land in Malta?"),
    ("How and when did jazz begin?", "When did jazz begin?"),
    ("Who sang it, and why?", "Why did they sing it?"),
    ("Which is the best kite?", "What is the best kite?"),
    ("What are moraines? What are some examples?", "What are some examples of moraines?"),
    ("Where do I renew a permit?", "How much does a permit for a boat cost?"),
    ("When I swim my ear hurts, why?", "Why does my ear hurt when I swim?"),
    ("Are otters shy?", "They are otters"),
    ("墨水怎么样去掉", "怎么去掉墨水"),
    ("这家店怎么样？好吃吗", "这家店怎么样"),
    ("有什么办法去油渍", "怎么去油渍"),
    ("谁能告诉我怎么去码头", "怎么去码头"),
    ("能不能改签", "怎么改签"),
    ("他会游泳吗", "他会不会游泳"),
    ("the person who won", "who won"),
    ("怎么养多肉", "如何养多肉"),
    ("为什么猫怕水", "猫怕水的原因"),
    ("什么是光年", "光年是什么意思"),
    ("门票多少钱", "门票价格"),
    ("图书馆什么时候开门", "图书馆几点开门"),
    ("你怎么不说话", "你为什么不说话"),
    ("多久能收到货", "什么时候能收到货"),
]

DIFFERENT = [
    ("Where do I soak flax?", "How long do I soak flax?", "Where do", "How long"),
    ("Who built the dam?", "When was the dam built?", "Who", "When was"),
    ("Why do bees dance?", "When do bees dance?", "Why", "When do"),
    ("Why has the mayor resigned?", "Has the mayor resigned?", "Why", "Has"),
    ("How did the flood begin?", "When did the flood begin?", "How", "When did"),
    ("How are sonnets read?", "When are sonnets read?", "How", "When are"),
    ("How did the twins meet?", "Where did the twins meet?", "How", "Where did"),
    ("Will bees die out?", "What will happen if bees die out?", "Will", "What will happen if"),
    ("What are geysers?", "What are some examples of geysers?", "What",
     "What are some examples of"),
    ("Should I prune a fig?", "How should I prune a fig?", "Should", "How should I"),
    ("What is a rip current? Is it deadly?", "Why is a rip current deadly?", "Is", "Why"),
    ("How old is the oak?", "How tall is the oak?", "How old", "How tall"),
    ("How often do I water it?", "How long do I water it?", "How often", "How long"),
    ("How many bricks do I need?", "Why do I need bricks?", "How many", "Why"),
    ("How far is Mars?", "How hot is Mars?", "How far", "How hot"),
    ("Who sings this?", "Why does she sing this?", "Who", "Why"),
    ("为什么要交税", "什么时候交税", "为什么", "什么时候"),
    ("在哪里交税", "交税要多少钱", "在哪", "多少钱"),
    ("那条河有多宽", "那条河有多深", "多宽", "多深"),
    ("这幅画是谁画的", "这幅画多少钱", "谁", "多少钱"),
    ("怎么领养小狗", "小狗几岁", "怎么", "几岁"),
    ("地铁几点开", "地铁怎么坐", "几点", "怎么"),
    ("灯塔有多高", "灯塔在哪里", "多高", "在哪"),
    ("水管哪里漏了", "水管漏了吗", "哪里", "吗"),
    ("这副牌怎么玩", "这副牌怎么做", "怎么玩", "怎么做"),
    ("分期买钢琴怎么样", "如何分期买钢琴", "怎么样", "如何"),
    ("海水为什么咸", "海水咸吗", "为什么", "吗"),
    ("签证有什么用", "签证什么时候能用", "什么用", "什么时候"),
]  # fmt: skip


@pytest.mark.parametrize(("stored", "asked"), EQUAL)
def test_the_same_kind_of_question_is_let_through(stored: str, asked: str) -> None:
    assert question.compare(Pair(Text(stored), Text(asked))) is None
    assert question.compare(Pair(Text(asked), Text(stored))) is None


@pytest.mark.parametrize(("stored", "asked", "here", "there"), DIFFERENT)
def test_another_kind_of_question_is_refused(
    stored: str, asked: str, here: str, there: str
) -> None:
    first, second = Text(stored), Text(asked)
    assert question.compare(Pair(first, second)) == Objection("question", here, there)
    assert question.compare(Pair(second, first)) == Objection("question", there, here)


@pytest.mark.parametrize("text", [side for pair in DIFFERENT for side in pair[:2]])
def test_a_text_asks_its_own_question(text: str) -> None:
    assert question.compare(Pair(Text(text), Text(text))) is None


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("How can I mend a zip?", ["way"]),
        ("How deep is it? Is it cold?", ["size", "whether"]),
        ("How shallow is it?", ["degree"]),
        ("Could you please tell me what lichens eat", ["what"]),
        ("What is lichen?", ["define"]),
        ("Gardening: why do leaves curl?", ["why"]),
        ("My leaves curl.", []),
        ("", []),
        ("叶子为什么卷", ["why"]),
        ("这盆花怎么样", ["like"]),
        ("怎么样浇花", ["how"]),
        ("能不能浇花", ["can"]),
        ("叶子卷了吗", ["whether"]),
        ("叶子卷了", []),
    ],
)
def test_openers_are_read_in_order(text: str, kinds: list[str]) -> None:
    assert [opener.kind for opener in question.openers(Text(text))] == kinds


@pytest.mark.parametrize(
    ("stored", "asked", "expected"),
    [
        ("How can I sail?", "Where can I sail?", question.Agreement.DIFFERENT),
        ("How can I sail?", "What is the best way to sail?", question.Agreement.SAME),
        ("How can I sail?", "sailing", question.Agreement.UNCLEAR),
    ],
)
def test_openers_agree_whatever_else_is_said(
    stored: str, asked: str, expected: question.Agreement
) -> None:
    assert question.agreement(Pair(Text(stored), Text(asked))) is expected


def test_an_opener_stands_where_it_says() -> None:
    text = Text("Hello, where are my keys?")
    (opener,) = question.openers(text)
    assert text.plain[opener.start : opener.end] == "where are"


def test_texts_that_speak_of_other_things_are_not_told_apart_by_their_openers() -> None:
    pair = Pair(Text("Why do bees dance in June?"), Text("When do the shops in Turin open?"))
    assert question.compare(pair) is None
