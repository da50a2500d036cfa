import pytest

from proxy.core.meaning.guards import numbers
from proxy.core.meaning.text import Objection, Pair, Text

EQUAL = [
    ("twelve eggs", "12 eggs"),
    ("a dozen eggs", "12 eggs"),
    ("十二个鸡蛋", "１２个鸡蛋"),
    ("1,000 users", "1000 users"),
    ("1k users", "1000 users"),
    ("一千人", "1千人"),
    ("1.5万字", "15000字"),
    ("50 percent off", "50% off"),
    ("百分之五十", "50%"),
    ("half an hour", "30 minutes"),
    ("half of the class", "50% of the class"),
    ("3rd chapter", "third chapter"),
    ("第三章", "第3章"),
    ("chapter 3", "third chapter"),
    ("$5", "5 dollars"),
    ("$5", "5 USD"),
    ("5 bucks", "$5"),
    ("¥100", "100元"),
    ("100块钱", "100元"),
    ("€20", "20 euros"),
    ("£10", "10 pounds"),
    ("250 ms timeout", "0.25 s timeout"),
    ("5 km run", "5000 m run"),
    ("5km", "5 kilometers"),
    ("30分钟", "半小时"),
    ("半个小时", "30分钟"),
    ("3 hours", "180 minutes"),
    ("1小时30分钟", "90分钟"),
    ("1 hour 30 minutes", "1.5 hours"),
    ("an hour and a half", "1.5 hours"),
    ("two and a half hours", "150 minutes"),
    ("三年半", "3.5年"),
    ("两周", "14天"),
    ("2斤", "1公斤"),
    ("12 months", "1 year"),
    ("$5 million", "$5,000,000"),
    ("$5m", "5 million dollars"),
    ("twenty-one", "21"),
    ("one hundred and twenty", "120"),
    ("二十一", "21"),
    ("一百零五", "105"),
    ("二〇二四年", "2024年"),
    ("in nineteen eighty-four", "in 1984"),
    ("World War II", "World War 2"),
    ("one of the best films", "the best films"),
    ("给我一个建议", "给我建议"),
    ("介绍一下北京", "介绍北京"),
    ("help me with one thing", "help me with a thing"),
    ("once a day", "once per day"),
    ("how many hours a day", "how many hours per day"),
    ("2024-05-01", "May 1st, 2024"),
    ("1/2 cup", "0.5 cup"),
    ("2/3 of it", "two thirds of it"),
    ("twice", "2 times"),
    ("COVID-19 rules", "covid rules"),
    ("千万别去", "别去"),
    ("三星手机", "三星的手机"),
    ("4 people", "four people"),
    ("5公里", "5km"),
    ("iPhone 14", "iphone14"),
    ("v2", "version 2"),
    ("10万元", "100000元"),
    ("两个苹果", "2个苹果"),
    ("price under 1000", "price under 1000 dollars"),
    ("-5 degrees", "-5°"),
    ("2025/26", "2025-26"),
    ("三点五公斤", "3.5公斤"),
    ("四分之三", "3/4"),
    ("第一名", "第1名"),
    ("100 °C", "100 degrees Celsius"),
    ("a 6-year-old", "six years old"),
    ("6 ft", "6 feet"),
    ("一个半小时", "90分钟"),
    ("一百分之一", "1/100"),
    ("百分之百", "100%"),
    ("II", "ii"),
    ("5 dozen", "60"),
    ("an inch", "one inch"),
    ("-5 kg", "-5 kilograms"),
    ("£20 day ticket", "20 pounds day ticket"),
    ("九十九", "99"),
    ("一万二", "12000"),
    ("three quarters of it", "0.75 of it"),
    ("a million", "1,000,000"),
    ("乱七八糟", "很乱"),
    ("两三天", "两三天内"),
    ("20世纪", "20 世纪"),
    ("first of all, why", "why"),
    ("the 24/7 hotline", "the hotline"),
    ("二手车", "二手的车"),
    ("百度网盘", "百度的网盘"),
    ("an hour", "one hour"),
    ("每天", "一天"),
    ("US$5", "$5"),
    ("5 dollars and 50 cents", "$5.50"),
    ("12000", "1.2万"),
]

DIFFERENT = [
    ("12 eggs", "13 eggs", "12", "13"),
    ("5 km", "5 miles", "5 km", "5 miles"),
    ("5 km", "50 km", "5 km", "50 km"),
    ("250 ms", "250 s", "250 ms", "250 s"),
    ("2 GB", "2 MB", "2 GB", "2 MB"),
    ("5 kg", "5 lb", "5 kg", "5 lb"),
    ("20°C", "20°F", "20°C", "20°F"),
    ("3 jokes", "ten jokes", "3", "ten"),
    ("五个笑话", "十个笑话", "五", "十"),
    ("第7届", "第8届", "第7", "第8"),
    ("200字", "2000字", "200", "2000"),
    ("2美元", "200美元", "2美元", "200美元"),
    ("50日元", "50韩元", "50日元", "50韩元"),
    ("20亩", "20公顷", "20亩", "20公顷"),
    ("$5", "€5", "$5", "€5"),
    ("100元", "200美元", "100元", "200美元"),
    ("15%", "50%", "15%", "50%"),
    ("give me one idea", "give me five ideas", "one", "five"),
    ("an hour", "a minute", "an hour", "a minute"),
    ("how many seconds in 45 minutes", "how many seconds in 45 hours", "45 minutes", "45 hours"),
    ("first place", "second place", "first", "second"),
    ("first place", "third place", "first", "third"),
    ("twice a day", "three times a day", "twice", "three"),
    ("half a cup", "a quarter of a cup", "half a cup", "quarter of a cup"),
    ("30 days", "30 weeks", "30 days", "30 weeks"),
    ("-5 degrees", "5 degrees", "-5 degrees", "5 degrees"),
    ("1,000", "1,0000", "1,000", "1,0000"),
    ("0471", "0472", "0471", "0472"),
    ("how many days", "how many hours", "many days", "many hours"),
    ("几公里", "几英里", "几公里", "几英里"),
    ("三年", "三个月", "三年", "三个月"),
    ("一年", "两年", "一年", "两年"),
    ("高一数学", "高二数学", "", "二"),
    ("五层楼", "七层楼", "五", "七"),
    ("5 apples", "apples", "5", ""),
    ("the 1998 final", "the 2002 final", "1998", "2002"),
    ("1.5万", "1.5亿", "1.5万", "1.5亿"),
    ("account 12345678901234", "account 12345678901235", "12345678901234", "12345678901235"),
    ("per hour", "per day", "per hour", "per day"),
    ("$5m", "$5k", "$5m", "$5k"),
    ("5斤", "5公斤", "5斤", "5公斤"),
    ("十块", "十元五角", "十块", "十元五角"),
    ("daily limit", "weekly limit", "daily", "weekly"),
    ("3/4 cup", "1/4 cup", "3/4 cup", "1/4 cup"),
    ("twenty", "thirty", "twenty", "thirty"),
    ("1 in 10", "1 in 100", "10", "100"),
    ("一个半小时", "一个小时", "一个半小时", "一个小时"),
    ("size 10", "size 12", "10", "12"),
    ("-5 kg", "5 kg", "-5 kg", "5 kg"),
    ("20 lb", "20 oz", "20 lb", "20 oz"),
    ("1ms", "1s", "1ms", "1s"),
    ("two thirds", "three quarters", "two thirds", "three quarters"),
]


def compare(stored: str, asked: str) -> Objection | None:
    return numbers.compare(Pair(Text(stored), Text(asked)))


@pytest.mark.parametrize(("stored", "asked"), EQUAL)
def test_what_is_the_same_is_no_objection(stored: str, asked: str) -> None:
    assert compare(stored, asked) is None
    assert compare(asked, stored) is None


@pytest.mark.parametrize(("stored", "asked", "mine", "yours"), DIFFERENT)
def test_an_objection_names_the_two_pieces(stored: str, asked: str, mine: str, yours: str) -> None:
    assert compare(stored, asked) == Objection(numbers.NAME, mine, yours)


@pytest.mark.parametrize(("stored", "asked"), [pair[:2] for pair in DIFFERENT])
def test_an_objection_stands_whichever_was_asked_first(stored: str, asked: str) -> None:
    assert compare(asked, stored) is not None


@pytest.mark.parametrize("text", [text for pair in DIFFERENT for text in pair[:2]])
def test_no_text_differs_from_itself(text: str) -> None:
    assert compare(text, text) is None


def test_a_number_in_one_text_does_not_tell_texts_apart_that_have_little_in_common() -> None:
    long = "I am 17 and at the end of school and have no idea what to do next, any advice?"
    assert compare(long, "What can I do after school without any plan?") is None
    assert compare("forecast for Bari", "10 day forecast for Bari") is not None
