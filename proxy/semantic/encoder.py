"""An encoder in ONNX Runtime: texts in, normalised vectors out. Blocks; belongs into a thread."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from proxy.core.meaning.uncompared import NotCompared, Uncompared
from proxy.semantic import manifest, runtime, tokenizer
from proxy.semantic.manifest import REMEDY, ModelError
from proxy.semantic.tokenizer import Tokens
from proxy.semantic.word_table import WordTable

MAX_TOKENS = 256
_WORDS = "words.npy"
_MAX_CHARACTERS = 8192
"""No text of so many is within the tokens; longer ones are not even split."""
_MAX_UNKNOWN = 0.1
"""The share of tokens that may be unknown."""

Vectors = npt.NDArray[np.float32]
"""Shape (texts, dimensions), each row of length 1."""

SAME = "How do I return a pair of shoes that I bought online?"
ALIKE = "What must I do to send back shoes I ordered on the internet?"
UNLIKE = "The volcano threw ash over three villages last winter."


class OnnxEncoder:
    """A prepared model, loaded and found to be sane."""

    def __init__(self, directory: Path, *, threads: int = 1) -> None:
        """Verify, load and try the model of a directory.

        Raises ModelError with the file and the remedy.
        """
        self.manifest = manifest.read(directory)
        manifest.verify(directory, self.manifest)
        self.identity = self.manifest.identity
        self.dimensions = self.manifest.dimensions
        self._tokenizer = _load_tokenizer(directory, self.manifest.files)
        self._session = _load_session(directory / "model.onnx", threads)
        self._words = _load_words(directory) if _WORDS in self.manifest.files else None
        self._inputs = {given.name for given in self._session.get_inputs()}
        self._refuse_other_inputs(directory)
        self._overhead = len(self._tokenizer.tokens(self.manifest.prefix).ids)
        self._try(directory)

    def tokenize(self, text: str) -> Tokens:
        """The tokens of a text with the prefix.

        Raises NotCompared: EMPTY, TOO_LONG (more than MAX_TOKENS, marks included), UNKNOWN_TOKENS.
        """
        if len(text) > _MAX_CHARACTERS:
            raise NotCompared(Uncompared.TOO_LONG)
        found = self._tokenizer.tokens(_without_surrogates(self.manifest.prefix + text))
        own = len(found.ids) - self._overhead
        if own <= 0:
            raise NotCompared(Uncompared.EMPTY)
        if len(found.ids) > MAX_TOKENS:
            raise NotCompared(Uncompared.TOO_LONG)
        if found.unknown > _MAX_UNKNOWN * own:
            raise NotCompared(Uncompared.UNKNOWN_TOKENS)
        return found

    def forward(self, ids: Sequence[Sequence[int]]) -> Vectors:
        """The vectors of texts given as tokens; a row is NaN where the model gave no sane one.

        Raises one of runtime.ERRORS.
        """
        length = max(map(len, ids))
        padded = np.zeros((len(ids), length), np.int64)
        mask = np.zeros((len(ids), length), np.int64)
        for row, one in enumerate(ids):
            padded[row, : len(one)] = one
            mask[row, : len(one)] = 1
        vectors = _pooled(self._run(padded, mask), mask, self.manifest.pooling)
        return _normalised(vectors, self.dimensions)

    def encode(self, texts: Sequence[str]) -> Vectors:
        """The vectors of texts, all in one pass.

        Raises NotCompared for the first text that has none, or one of runtime.ERRORS.
        """
        vectors = self.forward([self.tokenize(text).ids for text in texts])
        if not np.isfinite(vectors).all():
            raise NotCompared(Uncompared.BAD_VECTOR)
        return vectors

    def _run(self, ids: npt.NDArray[np.int64], mask: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        feed: dict[str, npt.NDArray[Any]] = {"attention_mask": mask}
        if self._words is not None:
            feed["inputs_embeds"] = self._words[ids]
        else:
            feed["input_ids"] = ids
        if "token_type_ids" in self._inputs:
            feed["token_type_ids"] = np.zeros_like(ids)
        found: npt.NDArray[Any] = self._session.run(None, feed)[0]
        return found

    def _refuse_other_inputs(self, directory: Path) -> None:
        wanted = {"inputs_embeds" if self._words is not None else "input_ids", "attention_mask"}
        if not wanted <= self._inputs <= wanted | {"token_type_ids"}:
            why = f"takes {', '.join(sorted(self._inputs))}"
            remedy = f"a model of this kind takes {', '.join(sorted(wanted))}"
            raise ModelError(str(directory / "model.onnx"), why, remedy)

    def _try(self, directory: Path) -> None:
        """Refuse a model that does not tell a rewording from an unrelated text."""
        remedy = "it is no sentence encoder that we can use, or " + REMEDY
        try:
            same, again, alike, unlike = self.encode([SAME, SAME, ALIKE, UNLIKE])
        except NotCompared as error:
            why = f"fails its self-test: {error.reason}"
            raise ModelError(str(directory), why, remedy) from error
        except runtime.ERRORS as error:
            raise ModelError(str(directory), f"does not run: {error}", remedy) from error
        similarities = [float(same @ other) for other in (again, alike, unlike)]
        if similarities[0] < 0.999 or similarities[1] < similarities[2] + 0.05:
            told = ", ".join(f"{similarity:.3f}" for similarity in similarities)
            why = f"fails its self-test: same, alike, unlike score {told}"
            raise ModelError(str(directory), why, remedy)


def width(graph: Path) -> int:
    """How many dimensions the vectors of a graph have. Raises ModelError."""
    output = _load_session(graph, 1).get_outputs()[0]
    if not output.shape or not isinstance(output.shape[-1], int):
        why = f"its output {output.name} has no fixed width"
        raise ModelError(str(graph), why, "export it with one, as sentence encoders have")
    return output.shape[-1]


def _load_tokenizer(directory: Path, files: dict[str, str]) -> tokenizer.Tokenizer:
    name = "tokenizer.json" if "tokenizer.json" in files else "sentencepiece.model"
    try:
        return tokenizer.load(directory / name)
    except ValueError as error:
        raise ModelError(str(directory / name), str(error), REMEDY) from error


def _load_words(directory: Path) -> WordTable:
    try:
        return WordTable(directory / _WORDS)
    except (OSError, ValueError) as error:
        raise ModelError(str(directory / _WORDS), f"cannot be used: {error}", REMEDY) from error


def _load_session(path: Path, threads: int) -> runtime.InferenceSession:
    options = runtime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 4
    # Without its arena the runtime gives back what a long text needed; that costs no time.
    options.enable_cpu_mem_arena = False
    options.enable_mem_pattern = False
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        return runtime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    except runtime.ERRORS as error:
        raise ModelError(str(path), f"cannot be loaded: {error}", REMEDY) from error


def _without_surrogates(text: str) -> str:
    # JSON may hold halves of characters; tokenizers take none.
    return text.encode("utf-8", "replace").decode()


def _pooled(
    output: npt.NDArray[Any], mask: npt.NDArray[np.int64], pooling: str
) -> npt.NDArray[Any]:
    if output.ndim != 3:
        return output
    if pooling == "first":
        return output[:, 0]
    weights = mask[..., None].astype(np.float32)
    mean: npt.NDArray[Any] = (output * weights).sum(axis=1) / weights.sum(axis=1)
    return mean


def _normalised(vectors: npt.NDArray[Any], dimensions: int) -> Vectors:
    if vectors.shape[1:] != (dimensions,):
        return np.full((len(vectors), dimensions), np.nan, np.float32)
    lengths = np.sqrt(np.square(vectors, dtype=np.float64).sum(axis=1, keepdims=True))
    with np.errstate(all="ignore"):
        sane = np.where(lengths > 0, vectors / lengths, np.nan)
    return sane.astype(np.float32)
