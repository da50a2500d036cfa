import pytest

from proxy.core.meaning.guards import dates
from proxy.core.meaning.text import Objection, Pair, Text

EQUAL = [
    ("2024-05-01", "May 1st, 2024"),
    ("1 May 2024", "2024年5月1日"),
    ("2024/5/1", "2024-05-01"),
    ("3pm", "15:00"),
    ("3 p.m.", "3:00 pm"),
    ("下午三点", "15:00"),
    ("下午3点半", "15:30"),
    ("晚上8点", "20:00"),
    ("on Monday", "mondays"),
    ("星期一", "周一"),
    ("星期天", "周日"),
    ("What may I do", "What can I do"),
    ("Can I march there", "Can I walk there"),
    ("the fall of Rome", "How Rome fell"),
    ("一周一次", "每周一回"),
    ("today's weather", "the weather"),
    ("那里几点", "几点了"),
    ("Good morning, how are you?", "how are you?"),
    ("早上好，怎么退款", "怎么退款"),
    ("昨天", "昨日"),
    ("下个月", "下月"),
    ("noon", "midday"),
    ("Q3 results", "third quarter results"),
    ("the 80s", "the 1980s"),
    ("80年代", "八十年代"),
    ("tonight", "tonight!"),
    ("this fall", "this autumn"),
    ("XMAS", "Christmas"),
    ("国庆", "国庆节"),
    ("比如今天下雨", "比如今天有雨"),
    ("登上月球的人", "登月球的人"),
    ("in May 2024", "May 2024"),
    ("唐朝", "唐代"),
    ("quarter to five", "at 4:45"),
    ("half past 4", "at 4:30"),
    ("five to ten people", "5 to 10 people"),
    ("5/13/2024", "13/5/2024"),
    ("8点", "8:00"),
    ("seven o'clock", "7 o'clock"),
    ("三点建议", "三点意见"),
    ("Morning! Any news?", "Any news?"),
    ("spring rolls", "rolls"),
    ("a sudden fall", "a sudden drop"),
    ("as soon as", "when"),
    ("周末", "双休日"),
    ("12:30 pm", "12:30"),
]

DIFFERENT = [
    ("in May", "in June", "May", "June"),
    ("2024-05-01", "2024-06-01", "2024-05-01", "2024-06-01"),
    ("5月1日", "6月1日", "5月1日", "6月1日"),
    ("on Monday", "on Sunday", "Monday", "Sunday"),
    ("3pm", "3am", "3pm", "3am"),
    ("下午三点", "上午三点", "下午三点", "上午三点"),
    ("3pm", "4pm", "3pm", "4pm"),
    ("this week", "next week", "this week", "next week"),
    ("昨天", "今天", "昨天", "今天"),
    ("今年", "去年", "今年", "去年"),
    ("春天", "冬天", "春天", "冬天"),
    ("上午", "晚上", "上午", "晚上"),
    ("国庆节", "端午节", "国庆节", "端午节"),
    ("唐朝", "宋朝", "唐朝", "宋朝"),
    ("morning ferries", "evening ferries", "morning", "evening"),
    ("the 1980s", "the 1990s", "1980s", "1990s"),
    ("weekdays", "weekends", "weekdays", "weekends"),
    ("open", "open on Sunday", "", "Sunday"),
    ("Q1", "Q2", "Q1", "Q2"),
    ("today", "now", "today", "now"),
    ("tomorrow", "the weather", "tomorrow", ""),
    ("3:15", "3:45", "3:15", "3:45"),
    ("晚上8点", "晚上9点", "晚上8点", "晚上9点"),
    ("今晚", "明晚", "今晚", "明晚"),
    ("last year", "next year", "last year", "next year"),
    ("100 BC", "100 AD", "BC", ""),
    ("Christmas", "Easter", "Christmas", "Easter"),
    ("三点半", "三点一刻", "三点半", "三点一刻"),
    ("from October", "from January", "October", "January"),
    ("half past four", "half past five", "half past four", "half past five"),
    ("20/30/2024 form", "13/5/2024 form", "", "13/5/2024"),
    ("2024年3月", "2024年4月", "2024年3月", "2024年4月"),
    ("next week", "next month", "next week", "next month"),
    ("same-day delivery", "next-day delivery", "same-day", "next-day"),
    ("noon", "midnight", "noon", "midnight"),
]


def compare(stored: str, asked: str) -> Objection | None:
    return dates.compare(Pair(Text(stored), Text(asked)))


@pytest.mark.parametrize(("stored", "asked"), EQUAL)
def test_what_is_the_same_is_no_objection(stored: str, asked: str) -> None:
    assert compare(stored, asked) is None
    assert compare(asked, stored) is None


@pytest.mark.parametrize(("stored", "asked", "mine", "yours"), DIFFERENT)
def test_an_objection_names_the_two_pieces(stored: str, asked: str, mine: str, yours: str) -> None:
    assert compare(stored, asked) == Objection(dates.NAME, mine, yours)


@pytest.mark.parametrize(("stored", "asked"), [pair[:2] for pair in DIFFERENT])
def test_an_objection_stands_whichever_was_asked_first(stored: str, asked: str) -> None:
    assert compare(asked, stored) is not None


@pytest.mark.parametrize("text", [text for pair in DIFFERENT for text in pair[:2]])
def test_no_text_differs_from_itself(text: str) -> None:
    assert compare(text, text) is None
