"""Puts the semantic level together: encoders, their indexes, the gate.

Imported only where questions are compared by meaning, since it brings numpy and ONNX Runtime.
"""

import asyncio
import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from proxy import __version__
from proxy.config_model import EncoderModel
from proxy.core.cache.change import Change
from proxy.core.meaning.gate import Gate
from proxy.core.meaning.negatives import Negatives
from proxy.core.meaning.script import Script
from proxy.core.meaning.verifier import VerifierError as VerifierError
from proxy.core.meaning.verifier import read, shipped
from proxy.pipeline.aliases import Aliases
from proxy.pipeline.meaning import Meaning, Recall
from proxy.pipeline.space import Space
from proxy.ports import Clock, Store
from proxy.redis_link.link import RedisLink
from proxy.semantic import manifest
from proxy.semantic.encoder import OnnxEncoder
from proxy.semantic.encoders import Encoders, Served
from proxy.semantic.index import PartitionedIndex
from proxy.semantic.manifest import ModelError
from proxy.semantic.models import default_directory, find_or_prepare
from proxy.semantic.redis_index import RedisIndex
from proxy.semantic.workers import EncoderWorker
from proxy.tasks import Tasks
from proxy.telemetry.log import Log

_UNKNOWN = ("", 0)


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
        identities: Sequence[tuple[str, int]] = (),
        note: Callable[[Change], None] | None = None,
        recall: Recall | None = None,
        link: RedisLink | None = None,
        prefix: str = "",
    ) -> None:
        """Must be made on the event loop.

        `gate` is of `make_gate`, `note` and `recall` are as Meaning takes them, and `identities`
        are those of the encoders as `identities_of` tells them; without, what others have learnt
        is embedded anew. With a `link` vectors are in that Redis, under names with the `prefix`.
        """
        served = [
            Served(
                EncoderWorker(
                    Path(encoder.model).name,
                    partial(load, encoder),
                    log=log,
                    identity=identity,
                    dimensions=dimensions,
                ),
                frozenset(map(Script, encoder.scripts)),
            )
            for encoder, (identity, dimensions) in zip(
                encoders, identities or [_UNKNOWN] * len(encoders), strict=True
            )
        ]
        self._encoders = Encoders(served)
        self._eager = [
            one.worker
            for one, encoder in zip(served, encoders, strict=True)
            if encoder.load == "eager"
        ]

        def share(link: RedisLink, worker: EncoderWorker) -> RedisIndex:
            return RedisIndex(
                link,
                prefix=prefix,
                name=worker.name,
                identity=lambda: worker.identity,
                scan_below=scan_below,
                clock=clock,
                tasks=tasks,
                log=log,
            )

        self._shared = [share(link, one.worker) for one in served] if link is not None else []
        self._indexes: Sequence[PartitionedIndex | RedisIndex] = self._shared or [
            PartitionedIndex(scan_below=scan_below, log=log) for _ in served
        ]
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
            note=note,
            recall=recall,
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
            **_sums([index.figures() for index in self._shared]),
        }

    async def close(self) -> None:
        """End the threads, and write what waits."""
        await self._encoders.close()
        for index in self._indexes:
            await index.close()


def _sums(figures: Sequence[Mapping[str, float]]) -> dict[str, float]:
    names = figures[0] if figures else ()
    return {name: sum(one[name] for one in figures) for name in names}


def load(encoder: EncoderModel) -> OnnxEncoder:
    """Load an encoder by its name or directory. Blocks. Raises ModelError."""
    directory = Path(encoder.model)
    if not directory.is_absolute():
        directory = find_or_prepare(encoder.model, default_directory(os.environ))
    return OnnxEncoder(directory, threads=encoder.threads)


def identities_of(encoders: Sequence[EncoderModel]) -> list[tuple[str, int]]:
    """Identity and dimensions of encoders, without loading them. Blocks.

    Where one is not prepared they are empty and 0.
    """
    # An absolute name stands for itself.
    directories = [default_directory(os.environ) / encoder.model for encoder in encoders]
    return [_identity(directory) for directory in directories]


def _identity(directory: Path) -> tuple[str, int]:
    try:
        found = manifest.read(directory)
    except ModelError:
        return _UNKNOWN  # loading it tells why
    return found.identity, found.dimensions


def make_gate(verifier: str) -> Gate:
    """The gate with the verifier of a file, or the shipped one where none is named.

    Blocks. Raises VerifierError or OSError.
    """
    return Gate(read(Path(verifier).read_bytes(), verifier) if verifier else shipped())


def gate_digest(verifier: str) -> bytes:
    """Tells gates of unlike versions or verifiers apart. Blocks. Raises OSError."""
    content = Path(verifier).read_bytes() if verifier else b""
    return hashlib.sha256(__version__.encode() + content).digest()
