"""Amounts in Kubernetes' notation."""

from decimal import Decimal

import pytest

from proxy.core.quantity import BadQuantity, cpu, memory


@pytest.mark.parametrize(
    ("text", "amount"), [("100m", "0.1"), ("2", "2"), ("0.5", "0.5"), ("1m", "0.001")]
)
def test_processors(text: str, amount: str) -> None:
    assert cpu(text) == Decimal(amount)


@pytest.mark.parametrize("text", ["", "0", "0m", "1.5m", "1Gi", "-1", "1e3", "١", "100 m"])
def test_what_is_no_amount_of_processors(text: str) -> None:
    with pytest.raises(BadQuantity, match="100m"):
        cpu(text)


@pytest.mark.parametrize(
    ("text", "amount"),
    [("256Mi", 256 << 20), ("1Gi", 1 << 30), ("1.5Gi", 3 << 29), ("500M", 5 * 10**8)],
)
def test_bytes(text: str, amount: int) -> None:
    assert memory(text) == amount


@pytest.mark.parametrize("text", ["", "256", "100m", "256MiB", "256mi", "0Gi", "-1Gi", "1Ei", "Mi"])
def test_what_is_no_amount_of_memory_a_forgotten_unit_too(text: str) -> None:
    with pytest.raises(BadQuantity, match="256Mi"):
        memory(text)
