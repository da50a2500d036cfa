import pytest

from proxy.core.meaning.lexicon import groups
from proxy.core.meaning.measures import Measure, measure_at
from proxy.core.meaning.text import Text


@pytest.mark.parametrize(
    ("text", "measure"),
    [
        ("km", Measure("length", 1000)),
        ("km/h", Measure("speed", 0.277777777778)),
        ("Kilometers per hour", Measure("speed", 0.277777777778)),
        ("公里", Measure("length", 1000)),
        ("平方公里", Measure("area", 1000000)),
        ("°C", Measure("celsius", 1)),
        ("degrees Fahrenheit", Measure("fahrenheit", 1)),
        ("US$", Measure("usd", 1)),
        ("人民币", Measure("cny", 1)),
        ("%", Measure("percent", 0.01)),
    ],
)
def test_the_longest_name_of_a_unit_is_taken(text: str, measure: Measure) -> None:
    tokens = Text(text).tokens
    assert measure_at(tokens, 0) == (measure, len(tokens))


def test_another_word_is_no_unit() -> None:
    assert measure_at(Text("bananas").tokens, 0) is None


def test_currencies_are_money() -> None:
    assert Measure("usd", 1).is_money
    assert not Measure("mass", 1).is_money


def test_every_line_begins_with_a_dimension_and_a_factor() -> None:
    for key, *names in groups("proxy.core.meaning", "measures.txt"):
        dimension, factor = key.split()
        assert dimension.isalpha()
        assert float(factor) > 0
        assert names


def test_no_name_has_two_meanings() -> None:
    names = [name for group in groups("proxy.core.meaning", "measures.txt") for name in group[1:]]
    assert len(names) == len(set(names))
