"""The parent's end of the load generator's process."""

import json
import subprocess
from dataclasses import asdict
from types import TracebackType
from typing import Self

from tests.bench.load import Measured, Order
from tests.bench.processes import ROOT, BenchError, end, python


class Generator:
    """Carries out orders one after the other; ends with its `with` block."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(  # noqa: S603 - our own argument list
            python("-m", "tests.bench.load"),
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        end(self._process)

    @property
    def id(self) -> int:
        """The process's id."""
        return self._process.pid

    def measure(self, order: Order) -> Measured:
        """Carry out one order. Raises BenchError on a wrong answer."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(asdict(order)).encode() + b"\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise BenchError("the load generator ended")
        told = json.loads(line)
        if "error" in told:
            raise BenchError(f"{order.work} on port {order.port}: {told['error']}")
        return Measured(**told)
