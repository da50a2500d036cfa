from proxy.core.meaning.pieces import Piece, leftovers, object_to, spaced, squeeze, squeezed
from proxy.core.meaning.text import Objection, Text


def pieces(*keys: str) -> list[Piece]:
    return [Piece(key, key.upper()) for key in keys]


def test_leftovers_are_counted() -> None:
    assert leftovers(pieces("a", "a", "b"), pieces("b", "a", "c")) == (pieces("a"), pieces("c"))


def test_order_does_not_count() -> None:
    assert leftovers(pieces("a", "b"), pieces("b", "a")) == ([], [])


def test_an_objection_names_the_first_piece_of_each_side() -> None:
    assert object_to("g", pieces("a", "b"), []) == Objection("g", "A", "")
    assert object_to("g", [], pieces("c")) == Objection("g", "", "C")


def test_nothing_left_is_no_objection() -> None:
    assert object_to("g", [], []) is None


def test_spaced_has_a_blank_around_each_word() -> None:
    assert spaced(Text("How, now? 北京")) == " how now 北 京 "


def test_squeezed_has_neither_blanks_nor_quotation_marks() -> None:
    assert squeezed(Text("Run `a  == “b”`")) == "runa==b"
    assert squeeze("'x' \"y\"") == "xy"
