"""A language with its encoder in this process: what is asked, and the parts of a semantic hit.

The same model, gate and index as `serve` has, called one after the other with a look at the clock
in between, on the same texts and as many entries. There are no threads in between, no HTTP and no
event loop: what is left is what a semantic hit cannot do without.
"""

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from time import perf_counter

from proxy.config import load
from proxy.core.meaning.gate import Candidate, Finding, Gate
from proxy.core.meaning.text import Text
from proxy.pipeline.replay import replay
from proxy.pipeline.space import NEIGHBOURS
from proxy.ports import Neighbour, Vector
from proxy.semantic.encoder import OnnxEncoder
from proxy.semantic.index_partitions import Partitions
from proxy.semantic.models import default_directory, find_or_prepare
from proxy.store.memory import MemoryStore
from tests.bench.parts import Stopwatch, finish
from tests.bench.processes import BenchError
from tests.bench.questions import Language
from tests.bench.work import CHAT_ANSWER
from tests.core.values import stored_response
from tests.pipeline.plans import plan

TOKENIZE = "tokenize"
FORWARD = "forward pass"
SEARCH = "search"
REPLAY = "replay"
JUDGE = "guards and verifier, for the candidate that serves"
JUDGE_NEW = "the same, when the stored question is read for the first time"
PARTS = (TOKENIZE, FORWARD, SEARCH, REPLAY)
"""What the time of a semantic hit is compared with."""

EXTRAS = (JUDGE, JUDGE_NEW)

_PARTITION = b"p"
_BATCH = 16


@dataclass(frozen=True, slots=True)
class Settings:
    """What the configuration says as shipped."""

    max_error_rate: float
    scan_below: int


def shipped_settings() -> Settings:
    """Read them from the configuration's own defaults."""
    config = load(None, upstream="http://127.0.0.1:9", env={})
    rules = config.dynamic.policy.semantic
    return Settings(rules.max_error_rate, config.static.scan_below)


class Lane:
    """Chooses what is stored and asked, and times the parts of a hit."""

    def __init__(
        self, language: Language, gate: Gate, *, entries: int, asked: int, folder: Path
    ) -> None:
        """Blocks for some seconds. `folder` gets the files that the load generator reads.

        Stored are `entries` questions, none of which is answered by another; asked are up to
        `asked` rewordings, each of which is answered by its own.
        """
        self.language = language
        self._gate = gate
        self._settings = shipped_settings()
        directory = find_or_prepare(language.encoder, default_directory(os.environ))
        self._encoder = OnnxEncoder(directory)
        self._index = Partitions(scan_below=self._settings.scan_below, on_large=lambda size: None)
        self._texts: dict[bytes, Text] = {}
        self._fill(entries)
        self.asked = self._choose(asked)
        if not self.asked:
            raise BenchError(f"nothing is a semantic hit in {language.name}")
        self._turns: Iterator[str] = cycle(self.asked)
        self.stored_file = _written(folder / f"stored-{language.name}.json", self.stored)
        self.asked_file = _written(folder / f"asked-{language.name}.json", self.asked)

    names = (*PARTS, *EXTRAS)
    """Of what `time` tells."""

    @property
    def identity(self) -> str:
        """The encoder's; its vectors are of no use to another."""
        return self._encoder.identity

    @property
    def stored(self) -> list[str]:
        """The questions of the entries."""
        return [text.original for text in self._texts.values()]

    def time(self, seconds: float) -> dict[str, float]:
        """Microseconds by the name of the part, medians over a while."""
        watch = Stopwatch()
        store = MemoryStore(max_bytes=1 << 20, max_entries=1, max_entry_bytes=1 << 20)
        of_answer, answer = plan(self.asked[0]), stored_response(body=CHAT_ANSWER)
        end = perf_counter() + seconds
        while perf_counter() < end:
            text = next(self._turns)
            watch.start()
            tokens = self._encoder.tokenize(text)
            watch.lap(TOKENIZE)
            vector = self._encoder.forward([tokens.ids])[0]
            watch.lap(FORWARD)
            near = self._search(vector)
            watch.lap(SEARCH)
            finish(replay(answer, of_answer, store))
            watch.lap(REPLAY)
            served = self._judge(Text(text), near)[-1].candidate
            watch.start()
            self._verdict(Text(text), [served])
            watch.lap(JUDGE)
            unread = served._replace(text=Text(served.text.original))
            watch.start()
            self._verdict(Text(text), [unread])
            watch.lap(JUDGE_NEW)
        return watch.microseconds()

    def _fill(self, entries: int) -> None:
        candidates = self.language.stored(entries)
        for text, vector in zip(candidates, self.vectors_of(candidates), strict=True):
            if not self._may_serve(self._judge(Text(text), self._search(vector))):
                key = b"%d" % len(self._texts)
                self._texts[key] = Text(text)
                self._index.add(_PARTITION, key, vector)

    def _choose(self, count: int) -> list[str]:
        """Rewordings that the entry of their own question answers, and no other."""
        numbers = {text: number for number, text in enumerate(self.language.stored(count))}
        chosen = []
        texts = [self.language.reworded(number) for number in numbers.values()]
        for own, text, vector in zip(numbers, texts, self.vectors_of(texts), strict=True):
            findings = self._judge(Text(text), self._search(vector))
            if self._may_serve(findings) and findings[-1].candidate.text.original == own:
                chosen.append(text)
        return chosen

    def vectors_of(self, texts: list[str]) -> Iterator[Vector]:
        """What the encoder makes of texts."""
        for start in range(0, len(texts), _BATCH):
            yield from self._encoder.encode(texts[start : start + _BATCH])

    def _search(self, vector: Vector) -> list[Neighbour]:
        return self._index.search(_PARTITION, vector, NEIGHBOURS)

    def _judge(self, asked: Text, near: Sequence[Neighbour]) -> tuple[Finding, ...]:
        candidates = [Candidate(one.key, one.similarity, self._texts[one.key]) for one in near]
        return self._verdict(asked, candidates)

    def _verdict(self, asked: Text, candidates: Sequence[Candidate]) -> tuple[Finding, ...]:
        return self._gate.judge(
            asked,
            candidates,
            encoder=self.language.encoder,
            min_similarity=0.0,
            max_error_rate=self._settings.max_error_rate,
        )

    def _may_serve(self, findings: Sequence[Finding]) -> bool:
        return bool(findings) and findings[-1].may_serve


def _written(path: Path, texts: list[str]) -> str:
    path.write_text(json.dumps(texts), "utf-8")
    return str(path)
