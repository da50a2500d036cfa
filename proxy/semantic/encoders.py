"""The encoders of a proxy, and which of them reads a text."""

from collections.abc import Sequence
from dataclasses import dataclass

from proxy.core.meaning.script import Script, script_of
from proxy.core.meaning.uncompared import NotCompared, Uncompared
from proxy.semantic.workers import EncoderWorker


@dataclass(frozen=True, slots=True)
class Served:
    """An encoder and the scripts that are its own."""

    worker: EncoderWorker
    scripts: frozenset[Script]


class Encoders:
    """Chooses by script. The first that serves a script has it."""

    def __init__(self, served: Sequence[Served]) -> None:
        self.workers = tuple(one.worker for one in served)
        self._of_script = {script: one.worker for one in reversed(served) for script in one.scripts}

    def pick(self, text: str) -> EncoderWorker:
        """The encoder for a text. Raises NotCompared: SCRIPT."""
        worker = self._of_script.get(script_of(text))
        if worker is None:
            raise NotCompared(Uncompared.SCRIPT)
        return worker

    async def close(self) -> None:
        """End all of them."""
        for worker in self.workers:
            await worker.close()
