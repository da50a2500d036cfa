"""Numbers with their units: 12 is twelve and 十二, 250 ms is 0.25 s, 5 km is not 5 miles."""

from proxy.core.meaning.difference import difference
from proxy.core.meaning.language import Language, are_both
from proxy.core.meaning.pieces import leftovers, object_to
from proxy.core.meaning.quantities import COUNT, Quantity, read
from proxy.core.meaning.text import Objection, Pair

NAME = "numbers"

_LEAST_SHARE = 0.7


def compare(pair: Pair) -> Objection | None:
    """Object if the texts do not hold the same quantities."""
    stored, asked = pair.stored.fact(read), pair.asked.fact(read)
    if not stored and not asked:
        return None
    stored_rest, asked_rest = leftovers(stored, asked)
    if not stored_rest and not asked_rest:
        return None
    stored_rest, asked_rest = _without_alike(stored_rest, asked_rest)
    if not (stored_rest and asked_rest) and _is_beside(pair):
        return None
    strong = any(not quantity.is_weak for quantity in (*stored_rest, *asked_rest))
    if strong:
        # What is left on a side beside something strong is not what differs.
        return object_to(NAME, _strong_first(stored_rest), _strong_first(asked_rest))
    for mine in stored_rest:
        for yours in asked_rest:
            if _kind(mine) == _kind(yours):
                return object_to(NAME, [mine], [yours])
    return None


def _is_beside(pair: Pair) -> bool:
    """Whether English texts have so little in common that a number in one is not what differs."""
    if not are_both(pair, Language.EN):
        return False
    apart = difference(pair)
    return apart.share < _LEAST_SHARE and not apart.is_small


def _strong_first(quantities: list[Quantity]) -> list[Quantity]:
    return sorted(quantities, key=lambda quantity: quantity.is_weak)


def _kind(quantity: Quantity) -> str:
    dimension = quantity.key[0]
    return "time" if dimension == "months" else dimension


def _without_alike(
    stored: list[Quantity], asked: list[Quantity]
) -> tuple[list[Quantity], list[Quantity]]:
    """Without the numbers that are equal as written where a unit is left out or has two names."""
    asked = list(asked)
    rest = []
    for mine in stored:
        twin = next((yours for yours in asked if _is_alike(mine, yours)), None)
        if twin is None:
            rest.append(mine)
        else:
            asked.remove(twin)
    return rest, asked


_TWO_NAMES = {
    **{frozenset({"pound", name}): True for name in ("gbp", "mass")},
    **{frozenset({"degree", name}): True for name in ("celsius", "fahrenheit")},
    frozenset({"age", "months"}): True,
}


def _is_alike(mine: Quantity, yours: Quantity) -> bool:
    if mine.written != yours.written:
        return False
    dimensions = frozenset({mine.key[0], yours.key[0]})
    return (COUNT in dimensions and "percent" not in dimensions) or dimensions in _TWO_NAMES
