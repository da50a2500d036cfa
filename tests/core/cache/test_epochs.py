"""Epochs of models: the last that was set counts, in whatever order they arrive."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.core.cache.change import Renewed
from proxy.core.cache.epochs import MAX_EPOCHS, Epochs, in_force, renew
from proxy.core.policy import Policy, Rules


def after(*changes: Renewed) -> Epochs:
    """What is in force after changes, from none on."""
    epochs: Epochs = ()
    for change in changes:
        epochs = renew(epochs, change)
    return epochs


def epoch_of(epochs: Epochs, model: str) -> str:
    """What counts for a model."""
    return Rules(1, (), Policy(), epochs=in_force(epochs)).epoch_of(model)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ([], {"m1": "", "m2": ""}),
        ([("m*", "a")], {"m1": "a", "m2": "a", "x": ""}),
        ([("m*", "a"), ("m1", "b")], {"m1": "b", "m2": "a"}),
        ([("m1", "b"), ("m*", "a")], {"m1": "a", "m2": "a"}),
        ([("m*", "a"), ("m*", "c")], {"m1": "c"}),
        ([("m*", "a"), ("m1", "")], {"m1": "", "m2": "a"}),
        ([("m1", "a"), ("m1", "")], {"m1": ""}),
        ([("m1", "b"), ("m*", "")], {"m1": ""}),
    ],
)
def test_the_last_that_fits_counts(
    changes: list[tuple[str, str]], expected: dict[str, str]
) -> None:
    epochs = after(*(Renewed(model, epoch, at) for at, (model, epoch) in enumerate(changes)))
    assert {model: epoch_of(epochs, model) for model in expected} == expected


CHANGES = st.lists(
    st.builds(
        Renewed,
        model=st.sampled_from(["m*", "m1", "m2"]),
        epoch=st.sampled_from(["", "a", "b"]),
        at=st.integers(0, 5).map(float),
    ),
    max_size=6,
)


@given(CHANGES, st.randoms())
def test_order_and_repetition_do_not_matter(changes: list[Renewed], random: object) -> None:
    shuffled = [*changes, *changes]
    random.shuffle(shuffled)  # type: ignore[attr-defined]  # hypothesis gives a random.Random
    assert [in_force(after(*shuffled)), len(after(*shuffled))] == [
        in_force(after(*changes)),
        len(after(*changes)),
    ]


def test_nothing_in_force_is_as_if_there_were_none() -> None:
    assert in_force(after(Renewed("m", "a", 1.0), Renewed("m", "", 2.0))) == ()


def test_there_are_not_more_than_can_be_looked_at() -> None:
    many = [Renewed(f"m{number}", "e", float(number)) for number in range(MAX_EPOCHS + 5)]
    back = Renewed("m300", "", 1e6)
    epochs = after(*many[:-5], back, *many[-5:])
    assert len(epochs) == MAX_EPOCHS
    assert back not in epochs
    assert epoch_of(epochs, many[-1].model) == "e"
    pairs = itertools.pairwise(epochs)
    assert all(one.at <= other.at for one, other in pairs)
