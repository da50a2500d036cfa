"""Where texts are compared: an encoder, and the vectors that it made."""

import asyncio
from dataclasses import dataclass

from proxy.core.meaning.uncompared import NotCompared, Uncompared
from proxy.ports import Encoder, Vector, VectorIndex

NEIGHBOURS = 5
"""Candidates of one look-up."""
LEARN_SECONDS = 30.0
"""How long the vector of a new entry may take; nobody waits for it."""
_LOADING_SECONDS = 0.25
"""How often is looked whether an encoder is loaded."""


@dataclass(frozen=True, slots=True, eq=False)
class Space:
    """An encoder, and the vectors that it made."""

    name: str
    """The model's, as the verifier knows it."""
    encoder: Encoder
    index: VectorIndex

    async def embed_patiently(self, text: str) -> Vector:
        """The vector of a text, even of one that made the encoder load. Raises NotCompared."""
        for _ in range(int(LEARN_SECONDS / _LOADING_SECONDS)):
            try:
                return await self.encoder.embed(text, deadline=LEARN_SECONDS)
            except NotCompared as refused:
                if refused.reason is not Uncompared.LOADING:
                    raise
            await asyncio.sleep(_LOADING_SECONDS)
        raise NotCompared(Uncompared.LOADING)
