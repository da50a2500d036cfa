"""Frames: a text as its terms in the order subject, verb, object.

`who did Apple sue` is apple, sue, who; `is the cat chased by the dog` is dog, chase, cat;
我被他打了 is 他, 打, 我.
"""

from typing import NamedTuple

MOST_TERMS = 24
"""Longer texts are not simple clauses."""
WH = "?"
"""What is asked for: the key of who, what, which, 谁, 什么."""
WH_IS = "?="
"""What is asked for where the question is what or who something is."""
BOTH = frozenset({"and", "or", "but", "versus", "vs", "nor", "between", ","})
BOTH |= {"和", "与", "跟", "同", "或", "或者", "还是", "及", "以及"}
"""Small words between two that may stand in any order."""
CLAUSES = frozenset({"if", "while", "because", "before", "after", "unless", "until", "once"})
CLAUSES |= {"since", "although", "whether", "then"}
"""Small words that a clause begins with."""


class Term(NamedTuple):
    """Somebody or something, or what is done."""

    key: str
    start: int
    end: int
    """Its place in `Text.plain`."""
    marker: str = ""
    """The small word before it."""
    acts: bool = False
    """Whether it stands where the one stands who acts."""
    owns: bool = False
    """Whether it is named as an owner: `doctor's`."""
    is_name: bool = False
    """Whether it is written with a capital."""
    clause: int = 0
    """The clause that it stands in, counted from the beginning."""


class Frame(NamedTuple):
    """A text in the order subject, verb, object."""

    terms: tuple[Term, ...]
    is_clause: bool
    """Whether it shows who acts: by a verb in front, a passive or a question word."""
    actor: str = ""
    """The person who acts first; empty for none."""
    owners: frozenset[str] = frozenset()
    """The persons of my, your, his."""
    only: str = ""
    """The key of what `only` stands before; empty for nothing."""
    shown: str = ""
    """`only` and what it stands before, as they are written."""
