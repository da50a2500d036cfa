"""Words in a request: which text is looked at, and what counts as a word in it."""

import unicodedata

import pytest

from proxy.core.text import has_media, keywords, texts, user_text
from proxy.core.wire.operation import Json, JsonObject, Question
from tests.core.values import CHAT, question

IMAGE: JsonObject = {"type": "image_url", "image_url": {"url": "data:,"}}


def said(*parts: Json) -> JsonObject:
    return {"role": "user", "content": list(parts)}


KEYWORDS: list[tuple[str, str, bool]] = [
    ("now", "What is the price now?", True),
    ("now", "NOW", True),
    ("now", "I don't know", False),
    ("now", "nowhere", False),
    ("now", "now_or_never", False),
    ("now", "请now告诉我", True),
    ("now", "价格now是多少", True),
    ("today's", "Today’s or today's?", True),
    ("año", "este año", True),
    ("año", "este an\u0303o", True),
    ("an\u0303o", "este año", True),
    ("año", "el tamaño", False),
    ("été", "Quel bel Été !", True),
    ("été", "il a répété", False),
    ("сегодня", "Что сегодня нового?", True),
    ("дня", "сегодня", False),
    ("今天", "请问今天星期几", True),
    ("今天", "請問今日星期幾", False),
    ("いま", "いまなんじ", True),
    ("AI新闻", "最新AI新闻有哪些", True),
    ("AI新闻", "OpenAI新闻", False),
    ("c++", "Is C++ fast?", True),
    ("c++", "objc++", False),
    ("c++", "c++17", True),
    ("a.b", "axb", False),
    ("right now", "do it right now!", True),
]


@pytest.mark.parametrize(("word", "text", "is_there"), KEYWORDS)
def test_latin_keywords_are_whole_words_and_others_stand_anywhere(
    word: str, text: str, is_there: bool
) -> None:
    found = keywords(("never there", word)).search(unicodedata.normalize("NFC", text))
    assert (found is not None) is is_there


USER: JsonObject = {"role": "user", "content": "What is it like today?"}


@pytest.mark.parametrize(
    ("messages", "is_there"),
    [
        (
            [{"role": "system", "content": "Today is Monday."}, {"role": "user", "content": "Q"}],
            False,
        ),
        (
            [USER, {"role": "assistant", "content": "Sunny."}, {"role": "user", "content": "Q"}],
            False,
        ),
        ([USER, {"role": "assistant", "tool_calls": []}, {"role": "tool", "content": "sun"}], True),
        ([USER, {"role": "assistant", "content": "It is"}], True),
        ([said({"type": "text", "text": "今天"}, IMAGE)], True),
        ([said({"type": "text", "text": "to"}, {"type": "text", "text": "day"})], False),
        ([{"role": "developer", "content": "today"}], True),
        ([{"role": "user", "content": None}], False),
        ([{"role": "user"}], False),
    ],
)
def test_the_last_user_text_is_that_of_the_last_user_message(
    messages: list[Json], is_there: bool
) -> None:
    asked = CHAT.read(question(messages=messages))
    assert asked is not None
    assert (keywords(("today", "今天")).search(user_text(asked)) is not None) is is_there


@pytest.mark.parametrize(
    ("last", "expected"),
    [
        (said({"type": "text", "text": "a"}), False),
        (said("a", {"type": "refusal", "refusal": "b"}), False),
        (said({"type": "text", "text": "a"}, IMAGE), True),
        (said({"type": "input_audio"}), True),
        (said({"text": "no type"}), True),
        ({"role": "user", "content": "data:image/png"}, False),
        ({"role": "assistant", "content": None}, False),
        (["a", "b"], False),
    ],
)
def test_media_is_every_part_that_is_not_text(last: Json, expected: bool) -> None:
    assert has_media(Question("m1", False, {}, (), last)) is expected
    assert has_media(Question("m1", False, {}, (last,), "Q")) is expected


def test_user_text_is_composed_as_in_the_key() -> None:
    assert user_text(Question("m1", False, {}, (), "e\u0301")) == "é"


def test_the_texts_of_a_message_are_its_strings_in_order() -> None:
    parts: list[Json] = [{"type": "text", "text": "b"}, "c", IMAGE, {"content": ["d"]}, 7, None]
    assert list(texts("a")) == ["a"]
    assert list(texts({"role": "user", "content": parts, "text": "e"})) == ["b", "c", "d", "e"]
