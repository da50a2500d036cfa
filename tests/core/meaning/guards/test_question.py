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
    ("Where do I renew a permit?", "How much does a permit cost?", "Where", "How much does"),
    ("Who built the dam?", "When was the dam built?", "Who", "When"),
    ("Why do bees dance?", "When do bees dance?", "Why", "When"),
    ("How old is the oak?", "How tall is the oak?", "How old", "How tall"),
    ("How often do I water it?", "How long do I water it?", "How often", "How long"),
    ("How many bricks do I need?", "Where do I put the bricks?", "How many", "Where"),
    ("Why do I need a visa?", "Where do I get a visa?", "Why", "Where"),
    ("How far is Mars?", "How hot is Mars?", "How far", "How hot"),
    ("Who sings this?", "Why does she sing this?", "Who", "Why"),
    ("What's the meaning of entropy?", "Who coined entropy?", "meaning of", "Who"),
    ("为什么要交税", "什么时候交税", "为什么", "什么时候"),
    ("在哪里交税", "交税要多少钱", "在哪", "多少钱"),
    ("那条河有多宽", "那条河有多深", "多宽", "多深"),
    ("这幅画是谁画的", "这幅画多少钱", "谁", "多少钱"),
    ("怎么领养小狗", "小狗几岁", "怎么", "几岁"),
    ("地铁几点开", "地铁怎么坐", "几点", "怎么"),
    ("灯塔有多高", "灯塔在哪里", "多高", "在哪"),
]


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
