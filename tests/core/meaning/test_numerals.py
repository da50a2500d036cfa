import pytest

from proxy.core.meaning.numerals import Numeral, Value, begins_numeral, numeral_at, value_of
from proxy.core.meaning.text import Text


def read(text: str) -> Numeral:
    found = numeral_at(Text(text).tokens, 0)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12", 12),
        ("１２", 12),
        ("1,000", 1000),
        ("1,234,567.5", 1234567.5),
        ("1k", 1000),
        ("3 million", 3000000),
        ("2 dozen", 24),
        ("1.5万", 15000),
        ("3千", 3000),
        ("2亿", 200000000),
        ("1/2", 0.5),
        ("½", 0.5),
        ("2025/26", 2025),
        ("zero", 0),
        ("nineteen", 19),
        ("forty-two", 42),
        ("forty two", 42),
        ("one hundred and five", 105),
        ("two hundred thousand", 200000),
        ("three million two hundred thousand and six", 3200006),
        ("nineteen eighty-four", 1984),
        ("twenty twenty four", 2024),
        ("two thirds", 2 / 3),
        ("three point five", 3.5),
        ("十", 10),
        ("十二", 12),
        ("二十", 20),
        ("九十九", 99),
        ("一百零五", 105),
        ("一千二", 1200),
        ("三万五", 35000),
        ("一千零二", 1002),
        ("两百五十", 250),
        ("一亿零三万", 100030000),
        ("二〇二四", 2024),
        ("三点一四", 3.14),
        ("三分之一", 1 / 3),
        ("百分之五", 0.05),
        ("0471", "0471"),
        ("1.2.3", "1.2.3"),
        ("1,2,3", "1,2,3"),
        ("9" * 40, "9" * 40),
    ],
)
def test_a_number_is_read_however_it_is_written(text: str, value: Value) -> None:
    found = read(text)
    assert found.value == pytest.approx(value)
    assert not found.ordinal


@pytest.mark.parametrize(
    ("text", "value"),
    [("1st", 1), ("22nd", 22), ("third", 3), ("twenty-first", 21), ("第三", 3), ("第12", 12)],
)
def test_an_ordinal_says_so(text: str, value: int) -> None:
    assert (read(text).value, read(text).ordinal) == (value, True)


@pytest.mark.parametrize("text", ["one", "一"])
def test_a_lone_one_says_so(text: str) -> None:
    assert read(text).is_one


@pytest.mark.parametrize("text", ["one hundred", "十一", "1", "第一"])
def test_a_one_with_more_to_it_is_a_number_like_others(text: str) -> None:
    assert not read(text).is_one


@pytest.mark.parametrize("text", ["hello", "第", "国", "百分之", "百分之0471", "-"])
def test_a_word_is_no_number(text: str) -> None:
    assert numeral_at(Text(text).tokens, 0) is None


def test_what_comes_after_is_left() -> None:
    assert read("two and a half").end == 1
    assert read("five and six").end == 1
    assert read("三年").end == 1


def test_words_and_characters_begin_numbers() -> None:
    assert begins_numeral("twelve")
    assert begins_numeral("第")
    assert not begins_numeral("dozens")


def test_digits_with_a_leading_zero_stay_as_they_are() -> None:
    assert value_of("007") == "007"
    assert value_of("0.5") == 0.5
