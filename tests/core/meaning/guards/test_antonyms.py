import pytest

from proxy.core.meaning.guards import antonyms
from proxy.core.meaning.text import Objection, Pair, Text

EQUAL = [
    ("How do I buy a kayak?", "How can I purchase a kayak?"),
    ("How do I become more patient?", "How do I become less impatient?"),
    ("Is the pool open?", "Is the pool not closed?"),
    ("Is that legal?", "Is that not illegal?"),
    ("open and close a valve", "close and open a valve"),
    ("How do I find out what a tapir eats?", "What does a tapir eat in the wild?"),
    ("Is my receipt valid?", "Is the receipt valid, please?"),
    ("How do I install shelves?", "How do I put up shelves?"),
    ("the first and the last page", "the last and the first page"),
    ("买一把吉他要多少钱", "购买吉他多少钱"),
    ("上海的下雨天", "上海下雨的日子"),
    ("男女鞋码怎么换算", "鞋码男女如何换算"),
    ("如何增加词汇量", "怎么提高词汇量"),
    ("水要烧多久才开", "水烧开要多久"),
]

DIFFERENT = [
    ("How do I buy shares?", "How do I sell shares?", "buy", "sell"),
    ("Where can I purchase stamps?", "Where can I sell stamps?", "purchase", "sell"),
    ("increase the brightness", "decrease the brightness", "increase", "decrease"),
    ("enable dark mode", "disable dark mode", "enable", "disable"),
    ("Can I lend my ticket?", "Can I borrow my ticket?", "lend", "borrow"),
    ("brush teeth before breakfast", "brush teeth after breakfast", "before", "after"),
    ("the cheapest ferry", "the most expensive ferry", "cheapest", "most expensive"),
    ("import contacts", "export contacts", "import", "export"),
    ("How do I log in?", "How do I log out?", "log in", "log out"),
    ("turn on the boiler", "turn off the boiler", "turn on", "turn off"),
    ("archive a thread", "unarchive a thread", "archive", "unarchive"),
    ("Is the path visible?", "Is the path invisible?", "visible", "invisible"),
    ("screw the lid on", "screw the lid off", "on", "off"),
    ("go up the tower", "go down the tower", "go up", "go down"),
    ("tickets for men", "tickets for women", "men", "women"),
    ("怎么买二手车", "怎么卖二手车", "买", "卖"),
    ("如何打开蓝牙", "如何关闭蓝牙", "打开", "关闭"),
    ("收入怎么登记", "支出怎么登记", "收入", "支出"),
    ("系统升级的方法", "系统降级的方法", "升级", "降级"),
    ("左边的按钮是什么", "右边的按钮是什么", "左边", "右边"),
    ("饭前吃药好吗", "饭后吃药好吗", "饭前", "饭后"),
    ("怎么导入书签", "怎么导出书签", "导入", "导出"),
    ("男生穿什么", "女生穿什么", "男生", "女生"),
    ("含铅的汽油", "无铅的汽油", "含铅", "无铅"),
    ("给花增加光照", "给花减少光照", "增加", "减少"),
    ("怎么借书", "怎么还书", "借书", "还书"),
]


@pytest.mark.parametrize(("stored", "asked"), EQUAL)
def test_what_is_no_opposite_is_let_through(stored: str, asked: str) -> None:
    assert antonyms.compare(Pair(Text(stored), Text(asked))) is None
    assert antonyms.compare(Pair(Text(asked), Text(stored))) is None


@pytest.mark.parametrize(("stored", "asked", "here", "there"), DIFFERENT)
def test_opposites_are_refused(stored: str, asked: str, here: str, there: str) -> None:
    first, second = Text(stored), Text(asked)
    assert antonyms.compare(Pair(first, second)) == Objection("antonyms", here, there)
    assert antonyms.compare(Pair(second, first)) == Objection("antonyms", there, here)


@pytest.mark.parametrize("text", [side for pair in DIFFERENT for side in pair[:2]])
def test_a_text_is_not_its_own_opposite(text: str) -> None:
    assert antonyms.compare(Pair(Text(text), Text(text))) is None


def test_he_for_she_is_refused() -> None:
    pair = Pair(Text("When did he retire?"), Text("When did she retire?"))
    assert antonyms.compare(pair) == Objection("antonyms", "he", "she")
    pair = Pair(Text("他为什么生气"), Text("她为什么生气"))
    assert antonyms.compare(pair) == Objection("antonyms", "他", "她")
