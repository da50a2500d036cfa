import pytest

from proxy.core.meaning.numerals import Value
from proxy.core.meaning.quantities import COUNT, read
from proxy.core.meaning.text import Text


def keys(text: str) -> list[tuple[str, Value]]:
    return [quantity.key for quantity in read(Text(text))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("250 ms", [("time", 0.25)]),
        ("5 km and 3 miles", [("length", 5000), ("length", 4828.032)]),
        ("1 hour 30 minutes", [("time", 5400)]),
        ("5 feet 10 inches", [("length", 1.778)]),
        ("3 m and 2 km", [("length", 3), ("length", 2000)]),
        ("三年半", [("months", 42)]),
        ("两个半小时", [("time", 9000)]),
        ("$5m", [("usd", 5000000)]),
        ("£20 day ticket", [("gbp", 20)]),
        ("15%", [(COUNT, 0.15)]),
        ("-5 kg", [("mass", -5)]),
        ("World Cup 2018", [(COUNT, 2018)]),
        ("2024年5月1日", [(COUNT, 2024), (COUNT, 1)]),
        ("2024年", [(COUNT, 2024)]),
        ("20年", [("months", 240)]),
        ("season 1973-74", [(COUNT, 1973), (COUNT, 1974)]),
        ("Part II", [(COUNT, 2)]),
        ("thrice", [(COUNT, 3)]),
        ("quarter of it", [(COUNT, 0.25)]),
        ("5G phone", [(COUNT, 5)]),
        ("at 15:30", []),
        ("Python 3.10", []),
        ("介绍一下", []),
        ("the one I know", []),
        ("a second opinion", []),
        ("no numbers here", []),
        ("", []),
    ],
)
def test_quantities_are_in_the_base_unit(text: str, expected: list[tuple[str, Value]]) -> None:
    assert keys(text) == expected


@pytest.mark.parametrize(
    "text",
    ["an hour", "per day", "how many miles", "one year", "一天", "每天", "first", "第一", "daily"],
)
def test_what_may_go_without_saying_is_weak(text: str) -> None:
    assert [quantity.is_weak for quantity in read(Text(text))] == [True]


@pytest.mark.parametrize("text", ["two hours", "1 day", "third", "第二", "an hour and a half"])
def test_what_is_said_on_purpose_is_not_weak(text: str) -> None:
    assert [quantity.is_weak for quantity in read(Text(text))] == [False]


@pytest.mark.parametrize(
    "text", ["in 5 ms", "costs 5 € now", "about half an hour long", "只要百分之五"]
)
def test_a_quantity_is_named_as_it_stands_in_the_text(text: str) -> None:
    assert all(quantity.surface in text for quantity in read(Text(text)))


def test_the_number_is_kept_as_it_is_written() -> None:
    assert [quantity.written for quantity in read(Text("5 km"))] == [5]
