"""Tables of what a proxy tells, with text that clients wrote."""

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

MAX_CHARACTERS = 300
"""Of one cell; questions may be long."""


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> Table:
    """A table; numbers stand at the right, None is a blank."""
    found = Table(title=title, title_justify="left", title_style="bold")
    for position, column in enumerate(columns):
        is_number = any(isinstance(row[position], int | float) for row in rows)
        found.add_column(column, justify="right" if is_number else "left", overflow="fold")
    for row in rows:
        found.add_row(*(cell(value) for value in row))
    return found


def cell(value: object) -> Text:
    """A value as it is shown: without what a terminal would take for a command."""
    if value is None:
        return Text("")
    text = f"{value:.4f}" if isinstance(value, float) else str(value)
    safe = "".join(character if character.isprintable() else " " for character in text)
    return Text(safe if len(safe) <= MAX_CHARACTERS else safe[: MAX_CHARACTERS - 1] + "…")


def duration(seconds: float | None) -> str | None:
    """Seconds in the largest unit that leaves a whole number above 1: 90s, 15m, 36h, 3d."""
    if seconds is None:
        return None
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60)):
        if abs(seconds) >= 2 * size:
            return f"{int(seconds / size)}{unit}"
    return f"{int(seconds)}s"
