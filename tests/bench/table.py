"""Tables in Markdown."""

from collections.abc import Sequence

from tests.bench.figures import Target, verdict


def row(cells: Sequence[str]) -> str:
    """One line."""
    return f"| {' | '.join(cells)} |\n"


def heading(cells: Sequence[str]) -> str:
    """The first two lines."""
    return row(cells) + row(["---"] * len(cells))


def number(value: float | None) -> str:
    """As many digits as mean something; a dash for what was not measured."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 10 else f"{value:g}"


def judged_row(label: str, target: Target, value: float | None) -> str:
    """A figure, what it is to reach, and whether it does."""
    measured = "-" if value is None else f"{value:g}"
    return row([label, measured, target.text, verdict(target, value)])
