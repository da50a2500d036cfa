import pytest

from proxy.core.meaning.guards import direction
from proxy.core.meaning.text import Pair, Text

EQUAL = [
    ("ferry from Oslo to Kiel", "a ferry to Kiel from Oslo"),
    ("difference between moss and lichen", "difference between lichen and moss"),
    ("tea or coffee in the morning", "coffee or tea in the morning"),
    ("Does rust harm copper?", "Is copper harmed by rust?"),
    ("Did Anna paint the barn?", "Was the barn painted by Anna?"),
    ("Is Ben married to Cora?", "Is Cora married to Ben?"),
    ("distance from Rome to Bari", "distance from Bari to Rome"),
    ("In the attic, why is the insulation wet?", "Why is the insulation wet in the attic?"),
    ("the best camera app", "the best app for camera"),
    ("place in a choir school", "choir school place"),
    ("the colour of the door", "the door's colour"),
    ("compare oak with pine", "compare pine with oak"),
    ("豆腐和菠菜能一起吃吗", "菠菜和豆腐能一起吃吗"),
    ("怎么清洗空调", "空调怎么清洗"),
    ("月亮离地球多远", "地球离月亮多远"),
    ("油画和水彩的区别", "水彩和油画的区别"),
    ("小狗咬了小猫", "小猫被小狗咬了"),
    ("从广州坐船去海口", "坐船从广州去海口"),
    ("咖啡还是茶", "茶还是咖啡"),
    ("骑车快还是坐船快", "坐船快还是骑车快"),
    ("离线版地图软件", "地图软件离线版"),
    ("哪个城市的冬天最冷", "冬天最冷的是哪个城市"),
    ("正确的坐姿", "坐姿的正确"),
]

DIFFERENT = [
    ("train from Lyon to Nice", "train from Nice to Lyon"),
    ("convert PNG to SVG", "convert SVG to PNG"),
    ("turn litres into gallons", "turn gallons into litres"),
    ("Does stress cause insomnia?", "Does insomnia cause stress?"),
    ("Did Rome attack Carthage?", "Did Carthage attack Rome?"),
    ("Does Ada admire Grace?", "Is Ada admired by Grace?"),
    ("Is gold heavier than lead?", "Is lead heavier than gold?"),
    ("Can I lend you my bike?", "Can you lend me your bike?"),
    ("Would he forgive her?", "Would she forgive him?"),
    ("letters from parents to teachers", "letters from teachers to parents"),
    ("move files from the tablet to the server", "move files from the server to the tablet"),
    ("从天津到青岛怎么走", "从青岛到天津怎么走"),
    ("把英镑换成日元", "把日元换成英镑"),
    ("姐姐给弟弟的信", "弟弟给姐姐的信"),
    ("钢比铝重吗", "铝比钢重吗"),
    ("PDF怎么转成EPUB", "EPUB怎么转成PDF"),
    ("红队打败蓝队", "蓝队打败红队"),
    ("小狗咬了小猫", "小狗被小猫咬了"),
    ("我欠你多少钱", "你欠我多少钱"),
    ("平板怎么控制电视", "电视怎么控制平板"),
    ("怎样把硬盘的照片转到手机", "手机里的照片怎么转到硬盘"),
    ("银川到敦煌怎么坐车", "从敦煌去银川怎么坐车"),
    ("我羡慕的人羡慕我同桌", "我同桌羡慕的人羡慕我"),
    ("爷爷的哥哥叫什么", "哥哥的爷爷叫什么"),
    ("The Inn is a tributary of the Danube", "The Danube is a tributary of the Inn"),
    ("Is Tim the son of Walter?", "Is Walter the son of Tim?"),
    ("Is Lyon part of Bern?", "Is Bern part of Lyon?"),
]


@pytest.mark.parametrize(("stored", "asked"), EQUAL)
def test_an_order_that_tells_nothing_is_let_through(stored: str, asked: str) -> None:
    assert direction.compare(Pair(Text(stored), Text(asked))) is None
    assert direction.compare(Pair(Text(asked), Text(stored))) is None


@pytest.mark.parametrize(("stored", "asked"), DIFFERENT)
def test_exchanged_roles_are_refused(stored: str, asked: str) -> None:
    first, second = Text(stored), Text(asked)
    here = direction.compare(Pair(first, second))
    there = direction.compare(Pair(second, first))
    assert here is not None
    assert there is not None
    assert here.stored in first.plain
    assert here.asked in second.plain
    assert (here.stored, here.asked) == (there.asked, there.stored)


@pytest.mark.parametrize("text", [side for pair in DIFFERENT for side in pair])
def test_a_text_keeps_its_own_order(text: str) -> None:
    assert direction.compare(Pair(Text(text), Text(text))) is None


def test_the_pieces_begin_and_end_where_the_order_changes() -> None:
    found = direction.compare(Pair(Text("convert PNG to SVG now"), Text("convert SVG to PNG now")))
    assert found == ("direction", "PNG to SVG", "SVG to PNG")
