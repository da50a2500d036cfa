"""Via and circles (RFC 9110 7.6.3)."""

import pytest

from proxy.core.wire.via import MAX_HOPS, hop_value, is_circle

NAME = "reprise-0123456789ab"


def test_what_is_added_is_found_again() -> None:
    assert is_circle(hop_value(NAME).decode(), NAME)


@pytest.mark.parametrize(
    ("via", "expected"),
    [
        (None, False),
        ("", False),
        ("1.1 edge", False),
        ("1.1 edge, 1.1 reprise-ffffffffffff", False),
        (f"1.1 edge,1.1 {NAME}", True),
        (f"1.1 {NAME} (Reprise), HTTP/1.1 other", True),
        (f"1.1 {NAME}, 1.1 other", True),
        (f"1.1 x{NAME}", False),
        (f"1.1 {NAME}0", False),
        (", ".join(["1.1 a"] * MAX_HOPS), False),
        (", ".join(["1.1 a"] * (MAX_HOPS + 1)), True),
    ],
)
def test_a_circle_is_seen(via: str | None, *, expected: bool) -> None:
    assert is_circle(via, NAME) is expected
