"""A semantic level without models: texts are near where they have the same words.

    def test_...(proxy: StartProxy, monkeypatch: pytest.MonkeyPatch) -> None:
        encoder = comparing_by_words(monkeypatch)
        async with proxy(NEAR) as app:
            await learned(app, 0)
            ...

Everything else (gate, guards, pipeline/meaning.py) is the real thing. No verifier was trained for
this encoder, so that the similarity of `semantic.min_similarity` decides.
"""

import asyncio
import hashlib
import re
import sys
from collections.abc import Callable, Sequence
from math import inf
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from proxy.app import App
from proxy.core.cache.change import Change
from proxy.core.meaning.gate import Gate
from proxy.core.meaning.negatives import Negatives
from proxy.core.meaning.uncompared import NotCompared, Uncompared
from proxy.core.meaning.verifier import Verifier, VerifierError
from proxy.pipeline.aliases import Aliases
from proxy.pipeline.meaning import Meaning, Recall
from proxy.pipeline.space import Space
from proxy.ports import Clock, Matrix, Neighbour, Store, Vector
from proxy.tasks import Tasks
from tests.watch import until

DIMENSIONS = 1024
NAME = "by-words"
GATE = Gate(Verifier({}, {}))
"""Made once: it reads files, for which the event loop must not wait."""
NEAR = "semantic: {min_similarity: 0.7}"
"""Settings under which three words in common of four are enough."""
_GATE = Gate(Verifier({}, {}))  # here, for it looks the guards up on the disk
_WORD = re.compile(r"[^\W\u3400-\u9fff]+|[\u3400-\u9fff]")


class FakeEncoder:
    """Fulfils proxy.ports.Encoder: one dimension a word, or a Chinese character; case is nothing.

    The similarity of two texts of n different words each, m of them in common, is m / n.
    """

    identity = NAME
    dimensions = DIMENSIONS

    def __init__(self) -> None:
        self.refusal: Uncompared | None = None
        """Raised for every text, where set."""
        self.may_answer = asyncio.Event()
        """Clear it to let every text wait."""
        self.may_answer.set()
        self.texts: list[str] = []
        """What it was asked for."""

    async def embed(self, text: str, *, deadline: float) -> Vector:
        """The vector of a text. Raises NotCompared."""
        self.texts.append(text)
        try:
            async with asyncio.timeout(deadline):
                await self.may_answer.wait()
        except TimeoutError:
            raise NotCompared(Uncompared.DEADLINE) from None
        if self.refusal is not None:
            raise NotCompared(self.refusal)
        return vector_of(text)


def vector_of(text: str) -> Vector:
    """The vector of a text. Raises NotCompared where there is no word in it."""
    vector = np.zeros(DIMENSIONS, dtype=np.float32)
    for word in set(_WORD.findall(text.lower())):
        digest = hashlib.blake2b(word.encode("utf-8", "surrogatepass"), digest_size=4).digest()
        vector[int.from_bytes(digest, "big") % DIMENSIONS] = 1.0
    length = float(np.linalg.norm(vector))
    if not length:
        raise NotCompared(Uncompared.EMPTY)
    return vector / np.float32(length)


class FakeIndex:
    """Fulfils proxy.ports.VectorIndex: looks at everything."""

    def __init__(self, *, is_shared: bool = False) -> None:
        self.is_shared = is_shared
        self._vectors: dict[bytes, tuple[bytes, Vector]] = {}
        self.ends: dict[bytes, float] = {}
        """Until when each entry was said to be wanted."""

    def __len__(self) -> int:
        return len(self._vectors)

    async def search(self, partition: bytes, vector: Vector, limit: int) -> list[Neighbour]:
        """The nearest of one partition."""
        return self._nearest(vector, limit, partition)

    async def search_all(self, vector: Vector, limit: int) -> list[Neighbour]:
        """The nearest of all."""
        return self._nearest(vector, limit, None)

    def add(self, partition: bytes, key: bytes, vector: Vector, *, until: float = inf) -> None:
        """Take an entry in."""
        self._vectors[key] = (partition, vector)
        self.ends[key] = until

    async def take_in(
        self, partition: bytes, keys: Sequence[bytes], vectors: Matrix, *, until: float = inf
    ) -> None:
        """Take in those that are not here."""
        for key, vector in zip(keys, vectors, strict=True):
            self._vectors.setdefault(key, (partition, vector))

    async def vectors(self, partition: bytes, keys: Sequence[bytes]) -> dict[bytes, Vector]:
        """The vectors of some entries."""
        return {key: self._vectors[key][1] for key in keys if key in self._vectors}

    def prolong(self, partition: bytes, key: bytes, until: float) -> None:
        """Nothing ends here by itself."""
        self.ends[key] = until

    def discard(self, partition: bytes, key: bytes) -> None:
        """Forget an entry."""
        self._vectors.pop(key, None)

    def _nearest(self, vector: Vector, limit: int, partition: bytes | None) -> list[Neighbour]:
        found = [
            Neighbour(key, float(vector @ other))
            for key, (where, other) in self._vectors.items()
            if partition is None or where == partition
        ]
        return sorted(found, key=lambda neighbour: -neighbour.similarity)[:limit]


class FakeLevel:
    """Takes the place of proxy.semantic_level.SemanticLevel: one encoder for every script."""

    def __init__(
        self,
        encoder: FakeEncoder,
        *,
        store: Store,
        aliases: Aliases,
        negatives: Negatives,
        clock: Clock,
        tasks: Tasks,
        note: Callable[[Change], None] | None = None,
        recall: Recall | None = None,
        index: FakeIndex | None = None,
        **others: Any,
    ) -> None:
        """`index` is one that is shared. `others` are what only real encoders and indexes need."""
        self.index = FakeIndex() if index is None else index
        self.refusal: Uncompared | None = None
        """Why no text is compared; None where all are."""
        self._space = Space(NAME, encoder, self.index)
        self.meaning = Meaning(
            pick=self._pick,
            gate=GATE,
            store=store,
            aliases=aliases,
            negatives=negatives,
            clock=clock,
            tasks=tasks,
            note=note,
            recall=recall,
        )

    def _pick(self, text: str) -> Space:
        if self.refusal is not None:
            raise NotCompared(self.refusal)
        return self._space

    async def loaded(self) -> None:
        """There is nothing to load."""

    def figures(self) -> dict[str, float]:
        """What /metrics shows of it."""
        return {"semantic_entries": len(self.meaning), "encoders_ready": 1, "encoders": 1}

    async def close(self) -> None:
        """There is nothing to end."""


def comparing_by_words(monkeypatch: pytest.MonkeyPatch) -> FakeEncoder:
    """Let every proxy that starts from now on compare by words; the encoder of all of them."""
    encoder = FakeEncoder()

    def level(**parts: Any) -> FakeLevel:
        return FakeLevel(encoder, **parts)

    # By its name in sys.modules: the real module brings ONNX Runtime, and is not needed.
    module = SimpleNamespace(
        SemanticLevel=level,
        make_gate=lambda verifier: GATE,
        gate_digest=lambda verifier: b"",
        identities_of=lambda encoders: [],
        VerifierError=VerifierError,
    )
    monkeypatch.setitem(sys.modules, "proxy.semantic_level", module)
    return encoder


async def learned(app: App, count: int) -> None:
    """Wait until so many entries can be found by meaning; 0 once the level is there."""
    wanted = f"\nreprise_semantic_entries {count}.0\n".encode()
    await until(lambda: wanted in app.exposition())
