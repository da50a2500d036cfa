"""Tables of what a proxy tells."""

import pytest
from rich.console import Console

from proxy.cli.tables import MAX_CHARACTERS, cell, duration, table


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (None, None),
        (0, "0s"),
        (119, "119s"),
        (120, "2m"),
        (7199, "119m"),
        (7200, "2h"),
        (172800, "2d"),
        (-7200, "-2h"),
    ],
)
def test_a_duration_is_in_the_largest_unit_that_fits(seconds: int | None, shown: str) -> None:
    assert duration(seconds) == shown


def test_what_a_client_wrote_gives_the_terminal_no_orders() -> None:
    shown = cell("\x1b[31mred\x07 [bold]x[/] \udcff\n").plain
    assert shown == " [31mred  [bold]x[/]   "


def test_a_long_text_is_cut() -> None:
    shown = cell("长" * 1000).plain
    assert (len(shown), shown[-1]) == (MAX_CHARACTERS, "…")


def test_a_table_has_numbers_at_the_right_and_blanks_for_nothing() -> None:
    console = Console(width=60, record=True, file=None)
    with console.capture() as capture:
        console.print(table("most", ("count", "why"), [(3, "[guard]"), (12, None), (0.5, "x")]))
    lines = capture.get().splitlines()
    assert lines[0].strip() == "most"
    assert any("3 │ [guard]" in line for line in lines)
    assert any("12 │  " in line for line in lines)
    assert any("0.5000 │ x" in line for line in lines)
