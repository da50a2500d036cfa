"""Amounts of processor and memory, in Kubernetes' notation."""

import re
from collections.abc import Mapping
from decimal import Decimal

_CPU = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,3})?|[0-9]{1,12}m)", re.ASCII)
_MEMORY = re.compile(r"([0-9]{1,18}(?:\.[0-9]{1,9})?)(Ki|Mi|Gi|Ti|k|M|G|T)?", re.ASCII)
_UNITS: Mapping[str, int] = {
    "": 1,
    **{f"{letter}i": 1024**power for power, letter in enumerate("KMGT", start=1)},
    **{letter: 1000**power for power, letter in enumerate("kMGT", start=1)},
}


class BadQuantity(ValueError):
    """No amount of its kind, and what to write instead."""

    def __init__(self, remedy: str) -> None:
        super().__init__(remedy)
        self.remedy = remedy


def cpu(text: str) -> Decimal:
    """Processors of `100m`, `2` or `0.5`. Raises BadQuantity."""
    if _CPU.fullmatch(text):
        amount = Decimal(text[:-1]) / 1000 if text.endswith("m") else Decimal(text)
        if amount:
            return amount
    raise BadQuantity('write such as "100m" or "2"')


def memory(text: str) -> Decimal:
    """Bytes of `256Mi`, `1Gi` or `500M`, 1 MiB at least. Raises BadQuantity."""
    match = _MEMORY.fullmatch(text)
    if match is not None:
        amount = Decimal(match[1]) * _UNITS[match[2] or ""]
        if amount >= _UNITS["Mi"]:  # less is a unit that was forgotten
            return amount
    raise BadQuantity('write such as "256Mi" or "1Gi"')
