"""Puts the semantic level together: encoders, their indexes, the gate.

Imported only where questions are compared by meaning, since it brings numpy and ONNX Runtime.
"""

import asyncio
import os
from functools import partial
from pathlib import Path

from proxy.config_model import EncoderModel
from proxy.core.meaning.gate import Gate
from proxy.core.meaning.negatives import Negatives
from proxy.core.meaning.script import Script
from proxy.core.meaning.verifier import VerifierError as VerifierError
from proxy.core.meaning.verifier import read, shipped
from proxy.pipeline.aliases import Aliases
from proxy.pipeline.meaning import Meaning, Space
from proxy.ports import Clock, Store
from proxy.semantic.encoder import OnnxEncoder
from proxy.semantic.encoders import Encoders, Served
from proxy.semantic.index import PartitionedIndex
from proxy.semantic.manifest import ModelError
from proxy.semantic.models import default_directory, find_or_prepare
from proxy.semantic.workers import EncoderWorker
from proxy.tasks import Tasks
from proxy.telemetry.log import Log


class SemanticLevel:
    """The parts of the semantic level that last as long as the process."""

    def __init__(
        self,
        *,
        encoders: tuple[EncoderModel, ...],
        gate: Gate,
        scan_below: int,
        store: Store,
        aliases: Aliases,
        negatives: Negatives,
        clock: Clock,
        tasks: Tasks,
        log: Log,
    ) -> None:
        """Must be made on the event loop. `gate` is of `make_gate`."""
        served = [
            Served(
                EncoderWorker(Path(encoder.model).name, partial(load, encoder), log=log),
                frozenset(map(Script, encoder.scripts)),
            )
            for encoder in encoders
        ]
        self._encoders = Encoders(served)
        self._eager = [
            one.worker
            for one, encoder in zip(served, encoders, strict=True)
            if encoder.load == "eager"
        ]
        self._indexes = [PartitionedIndex(scan_below=scan_below, log=log) for _ in served]
        self._spaces = {
            one.worker: Space(one.worker.name, one.worker, index)
            for one, index in zip(served, self._indexes, strict=True)
        }
        self.meaning = Meaning(
            pick=lambda text: self._spaces[self._encoders.pick(text)],
            gate=gate,
            store=store,
            aliases=aliases,
            negatives=negatives,
            clock=clock,
            tasks=tasks,
        )

    async def loaded(self) -> None:
        """Wait until the eager encoders are there, or are known to be missing."""
        await asyncio.gather(*(worker.loaded() for worker in self._eager))

    async def load_all(self) -> None:
        """Load every encoder. Raises ModelError where one cannot be had."""
        for worker in self._spaces:
            await worker.loaded()
            if worker.state is not None:
                raise ModelError(worker.name, worker.problem or worker.state, "see above")

    def figures(self) -> dict[str, float]:
        """What /metrics shows of it."""
        return {
            "semantic_entries": len(self.meaning),
            "encoders_ready": sum(worker.state is None for worker in self._spaces),
            "encoders": len(self._spaces),
        }

    async def close(self) -> None:
        """End the threads."""
        await self._encoders.close()
        for index in self._indexes:
            await index.close()


def load(encoder: EncoderModel) -> OnnxEncoder:
    """Load an encoder by its name or directory. Blocks. Raises ModelError."""
    directory = Path(encoder.model)
    if not directory.is_absolute():
        directory = find_or_prepare(encoder.model, default_directory(os.environ))
    return OnnxEncoder(directory, threads=encoder.threads)


def make_gate(verifier: str) -> Gate:
    """The gate with the verifier of a file, or the shipped one where none is named.

    Blocks. Raises VerifierError or OSError.
    """
    return Gate(read(Path(verifier).read_bytes(), verifier) if verifier else shipped())
