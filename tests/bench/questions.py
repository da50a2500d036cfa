"""Questions of short texts in English and Chinese, and the same ones in other words."""

from itertools import product
from typing import NamedTuple


class Language(NamedTuple):
    """What questions of a language are made from."""

    name: str
    encoder: str
    """The model that reads it as shipped."""
    plain: str
    """The frame of what is stored."""
    frames: tuple[str, ...]
    """The frames of what is asked."""
    actions: tuple[str, ...]
    things: tuple[str, ...]

    def stored(self, count: int) -> list[str]:
        """So many different questions, if there are."""
        return [self.plain.format(self._task(number)) for number in range(count)]

    def reworded(self, number: int) -> str:
        """The question of that number in other words."""
        return self.frames[number % len(self.frames)].format(self._task(number))

    def _task(self, number: int) -> str:
        pairs = list(product(self.actions, self.things))
        # Neighbours in the order differ in both, so that the first few have many of each.
        return "".join(pairs[number * (len(self.things) + 1) % len(pairs)])


ENGLISH = Language(
    name="en",
    encoder="all-minilm-l6-v2",
    plain="How do I {}?",
    frames=(
        "How can I {}?",
        "What is the way to {}?",
        "Please tell me how to {}.",
        "What do I have to do to {}?",
        "Could you explain how to {}?",
        "I want to know how to {}.",
        "Can you tell me how I can {}?",
    ),
    actions=(
        *("assemble ", "borrow ", "carry ", "clean ", "choose ", "dismantle ", "insure ", "label "),
        *("lend out ", "lock up ", "measure ", "order ", "paint ", "photograph ", "polish "),
        *("register ", "rent out ", "repair ", "sell ", "set up ", "store ", "test ", "unpack "),
        *("weigh ", "wrap "),
    ),
    things=(
        *("an accordion", "an armchair", "an aquarium", "a bathtub", "a bicycle", "a blender"),
        *("a bookcase", "a camera", "a canoe", "a carpet", "a chandelier", "a clarinet"),
        *("a clock", "a drill", "a dryer", "a fireplace", "a fridge", "a greenhouse", "a guitar"),
        *("a hammock", "a kettle", "a ladder", "a lamp", "a lawnmower", "a mattress"),
        *("a microscope", "a mirror", "a piano", "a printer", "a saddle", "a scooter"),
        *("a sewing machine", "a stroller", "a suitcase", "a surfboard", "a telescope"),
        *("a tent", "a toaster", "a trampoline", "a typewriter", "a wardrobe"),
    ),
)
CHINESE = Language(
    name="zh",
    encoder="multilingual-e5-small",
    plain="怎么{}？",
    frames=(
        "如何{}？",
        "怎样{}？",
        "请问怎么{}？",
        "要怎么做才能{}？",
        "有什么办法可以{}？",
        "我想知道怎么{}",
        "怎么才能{}呢？",
    ),
    actions=(
        *("安装", "包装", "保养", "擦亮", "拆卸", "称重", "出售", "出租", "登记", "订购", "改装"),
        *("回收", "检查", "借用", "清洗", "测量", "拍摄", "上锁", "搬运", "退回", "修理", "选购"),
        *("运输", "组装", "存放"),
    ),
    things=(
        *("吉他", "钢琴", "手风琴", "单簧管", "自行车", "滑板车", "婴儿车", "独木舟", "冲浪板"),
        *(
            "帐篷",
            "吊床",
            "行李箱",
            "马鞍",
            "相机",
            "望远镜",
            "显微镜",
            "打印机",
            "打字机",
            "缝纫机",
        ),
        *("洗衣机", "冰箱", "烤面包机", "搅拌机", "水壶", "台灯", "吊灯", "壁炉", "浴缸", "镜子"),
        *("衣柜", "书柜", "床垫", "沙发", "地毯", "挂钟", "鱼缸", "温室", "梯子", "割草机", "电钻"),
        "蹦床",
    ),
)
LANGUAGES = {language.name: language for language in (ENGLISH, CHINESE)}
