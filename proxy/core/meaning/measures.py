"""Units of measure and of money: their names, and what they come to in the base of their kind."""

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from proxy.core.meaning.lexicon import groups
from proxy.core.meaning.phrases import Phrases
from proxy.core.meaning.text import Token


class Measure(NamedTuple):
    """A unit."""

    dimension: str
    """What may be converted into each other: length, time, usd."""
    factor: float
    """How many of the base unit of the dimension it is."""

    @property
    def is_money(self) -> bool:
        """Whether it is a currency, which may stand before its number."""
        return self.dimension in _CURRENCIES


_CURRENCIES = frozenset({"usd", "eur", "gbp", "cny", "jpy", "krw", "inr", "rub", "hkd", "twd"})
_CURRENCIES |= {"aud", "cad", "chf", "sgd", "thb", "mxn", "brl", "btc", "eth"}


def measure_at(tokens: Sequence[Token], first: int) -> tuple[Measure, int] | None:
    """The unit whose name begins with a token, and the index of the token after it."""
    hit = _phrases().at(tokens, first)
    return (_measure(hit.key), hit.end) if hit else None


@cache
def _phrases() -> Phrases:
    return Phrases(groups("proxy.core.meaning", "measures.txt"))


@cache
def _measure(key: str) -> Measure:
    dimension, factor = key.split()
    return Measure(dimension, float(factor))
