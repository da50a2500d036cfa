"""What is a vector of length 1, and what is not."""

import numpy as np
import pytest

from proxy.semantic.unit_vector import checked


def test_what_is_given_back_is_a_copy() -> None:
    mine = np.array([0.6, 0.8], np.float32)
    copy = checked(mine, 2)
    mine[0] = 0.0
    assert copy.tolist() == pytest.approx([0.6, 0.8])
    assert checked(copy, None) is not copy


@pytest.mark.parametrize(
    "bad", [[], [0.0, 0.0], [1.0, 1.0], [float("nan"), 1.0], [[1.0]], [1.0]], ids=str
)
def test_anything_else_is_refused(bad: list[float]) -> None:
    with pytest.raises(ValueError, match="vector"):
        checked(np.array(bad, np.float32), 2)
