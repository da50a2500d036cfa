import pytest

from proxy.core.meaning.guards import negation
from proxy.core.meaning.text import Objection, Pair, Text

EQUAL = [
    ("How do I reset the router?", "How can I reset my router?"),
    ("Is it possible to fly with a cast?", "Is it not impossible to fly with a cast?"),
    ("Why can't I log in?", "Why am I unable to log in?"),
    ("Why can not I print?", "why cant i print"),
    ("My lamp doesn't work", "my lamp does not work"),
    ("Why not paint the fence now?", "Why not paint the fence today?"),
    ("It's raining, isn't it?", "It's raining, right?"),
    ("Whether or not to prune roses in May", "Whether to prune roses in May"),
    ("Is the museum closed on Monday?", "Is the museum not open on Monday?"),
    ("How do I avoid weeds in gravel?", "How do I not get weeds in gravel?"),
    ("I don't know how to fold a map", "How do I fold a map?"),
    ("Is a tomato not a vegetable? No.", "No, is a tomato not a vegetable?"),
    ("你能不能解释一下潮汐", "解释一下潮汐"),
    ("这把琴是不是小提琴", "这把琴是小提琴吗"),
    ("附近有没有修鞋的", "附近有修鞋的吗"),
    ("喜欢不喜欢下雨天", "喜欢下雨天吗"),
    ("明天不得不早起怎么办", "明天必须早起怎么办"),
    ("差点没赶上火车怎么改签", "差点赶上火车怎么改签"),
    ("不锈钢锅怎么清洗", "怎么清洗不锈钢锅"),
    ("非洲象的寿命", "非洲象能活多久"),
    ("别墅的装修流程", "别墅怎么装修"),
    ("有没好看的灯", "有好看的灯吗"),
    ("我不能登录", "我无法登录"),
    ("I can't open the vault", "I am unable to open the vault"),
    ("屏幕无法点亮", "屏幕不能点亮"),
    ("这道菜好吃不", "这道菜好吃吗"),
    ("未来十年的趋势", "十年的趋势"),
]

DIFFERENT = [
    ("I can't sign the form", "I won't sign the form", "I can't", "I won't"),
    ("我不能签字", "我不想签字", "我不能", "我不想"),
    ("大家知道这条路吗", "大家都不知道这条路吗", "", "都不知道"),
    ("Can I eat rhubarb leaves?", "Can't I eat rhubarb leaves?", "", "Can't"),
    ("Should I water cacti in winter?", "Should I not water cacti in winter?", "", "not"),
    ("tea with milk", "tea without milk", "", "without"),
    ("Which trains stop at Crewe?", "Which trains don't stop at Crewe?", "", "don't"),
    ("Why do cats purr?", "Why do cats never purr?", "", "never"),
    ("The printer no longer prints", "The printer prints", "no longer", ""),
    ("What did nobody see in the film?", "What did somebody see in the film?", "nobody", ""),
    ("I shouldn't run with a cold", "I should run with a cold", "shouldn't", ""),
    ("None of the windows open", "The windows open", "None", ""),
    ("哪些花可以晒太阳", "哪些花不可以晒太阳", "", "不可以"),
    ("为什么水会结冰", "为什么水不会结冰", "", "不会"),
    ("我的快递到了", "我的快递没到", "", "没"),
    ("吃药前喝牛奶", "吃药前别喝牛奶", "", "别"),
    ("怎么让屏幕休眠", "怎么让屏幕不休眠", "", "不"),
    ("未付款的订单", "付款的订单", "未", ""),
    ("禁止拍照的展馆", "拍照的展馆", "禁止", ""),
    ("大门从不上锁吗", "大门上锁吗", "从不", ""),
]


@pytest.mark.parametrize(("stored", "asked"), EQUAL)
def test_what_denies_as_much_is_let_through(stored: str, asked: str) -> None:
    assert negation.compare(Pair(Text(stored), Text(asked))) is None
    assert negation.compare(Pair(Text(asked), Text(stored))) is None


@pytest.mark.parametrize(("stored", "asked", "here", "there"), DIFFERENT)
def test_a_negation_on_one_side_is_refused(stored: str, asked: str, here: str, there: str) -> None:
    first, second = Text(stored), Text(asked)
    assert negation.compare(Pair(first, second)) == Objection("negation", here, there)
    assert negation.compare(Pair(second, first)) == Objection("negation", there, here)


@pytest.mark.parametrize("text", [side for pair in DIFFERENT for side in pair[:2]])
def test_a_text_does_not_deny_itself(text: str) -> None:
    assert negation.compare(Pair(Text(text), Text(text))) is None


def test_texts_with_little_in_common_do_not_hang_on_a_negation() -> None:
    pair = Pair(Text("I can't sleep at sea"), Text("Where do gulls nest in March?"))
    assert negation.compare(pair) is None
