"""A BERT-like sentence encoder as an ONNX graph, written from its weights without torch.

The graph begins at the word embeddings (word_table.py keeps those in a file, so that only the rows
in use are in memory) and ends at normalised sentence vectors. Its matrices are blocks of 4 or 8
bits, its activations float32: fused operators of ONNX Runtime (domain com.microsoft).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import onnx

BLOCK = 32
"""Weights that share a scale."""

Floats = npt.NDArray[np.float32]
Bytes = npt.NDArray[np.uint8]

_RUNTIME = "com.microsoft"


class Blocks(NamedTuple):
    """A matrix of (outputs, inputs) in blocks along the inputs: (value - zero point) * scale."""

    bits: int
    """4 or 8; the zero point is 8 or 128."""
    values: Bytes
    """(outputs, inputs), one value an element."""
    scales: Floats
    """(outputs, inputs / BLOCK)."""


@dataclass(frozen=True, slots=True)
class Dense:
    """A matrix and what is added after it."""

    weights: Blocks
    bias: Floats


@dataclass(frozen=True, slots=True)
class Norm:
    """Scale and shift of a layer normalisation."""

    scale: Floats
    shift: Floats


@dataclass(frozen=True, slots=True)
class Layer:
    """One transformer layer, normalised after each half."""

    query_key_value: Dense
    """The three projections above each other."""
    attention_output: Dense
    attention_norm: Norm
    intermediate: Dense
    output: Dense
    output_norm: Norm


@dataclass(frozen=True, slots=True)
class Weights:
    """All of an encoder but its word embeddings."""

    heads: int
    epsilon: float
    positions: Floats
    """(longest text, dimensions); what the token type adds is in them."""
    embedding_norm: Norm
    layers: Sequence[Layer]


def eight_bits(matrix: Floats) -> Blocks:
    """A float matrix of (outputs, inputs) in 8-bit blocks, the nearest that 8 bits allow."""
    outputs, inputs = matrix.shape
    blocks = matrix.reshape(outputs, inputs // BLOCK, BLOCK)
    scales = np.abs(blocks).max(axis=-1) / np.float32(127)
    divisors = np.where(scales == 0, np.float32(1), scales)
    values = np.rint(blocks / divisors[..., None]) + 128
    return Blocks(8, values.astype(np.uint8).reshape(outputs, inputs), scales.astype(np.float32))


def stack(matrices: Sequence[Blocks]) -> Blocks:
    """Matrices of the same inputs above each other."""
    return Blocks(
        matrices[0].bits,
        np.concatenate([matrix.values for matrix in matrices]),
        np.concatenate([matrix.scales for matrix in matrices]),
    )


def write(weights: Weights, path: Path) -> None:
    """Write the encoder as a graph.

    Inputs: inputs_embeds, float32 (texts, tokens, dimensions); attention_mask, int64 (texts,
    tokens). Output: sentence_embedding, float32 (texts, dimensions), each row of length 1.
    """
    onnx.save(_Graph(weights).model(), path)


class _Graph:
    """The nodes and constants, as they are written down."""

    def __init__(self, weights: Weights) -> None:
        self._weights = weights
        self._width = weights.positions.shape[1]
        self._nodes: list[onnx.NodeProto] = []
        self._constants: list[onnx.TensorProto] = []

    def model(self) -> onnx.ModelProto:
        """The whole graph."""
        self._masks()
        last = "embedded"
        self._embeddings(last)
        for position, layer in enumerate(self._weights.layers):
            last = self._layer(f"layer{position}.", layer, last)
        self._pooling(last)
        graph = onnx.helper.make_graph(
            self._nodes,
            "sentence-encoder",
            [
                _value("inputs_embeds", onnx.TensorProto.FLOAT, "texts", "tokens", self._width),
                _value("attention_mask", onnx.TensorProto.INT64, "texts", "tokens"),
            ],
            [_value("sentence_embedding", onnx.TensorProto.FLOAT, "texts", self._width)],
            self._constants,
        )
        versions = [onnx.helper.make_opsetid("", 21), onnx.helper.make_opsetid(_RUNTIME, 1)]
        return onnx.helper.make_model(graph, opset_imports=versions, ir_version=10)

    def _constant(self, name: str, value: npt.NDArray[Any]) -> str:
        self._constants.append(onnx.numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def _node(
        self,
        operator: str,
        inputs: list[str],
        outputs: list[str],
        domain: str = "",
        **attributes: Any,
    ) -> None:
        self._nodes.append(
            onnx.helper.make_node(operator, inputs, outputs, domain=domain, **attributes)
        )

    def _masks(self) -> None:
        self._constant("axis1", np.array([1], np.int64))
        self._constant("axis2", np.array([2], np.int64))
        self._node("Cast", ["attention_mask"], ["mask32"], to=onnx.TensorProto.INT32)
        self._node("Cast", ["attention_mask"], ["mask"], to=onnx.TensorProto.FLOAT)
        self._node("Unsqueeze", ["mask", "axis2"], ["mask3"])

    def _embeddings(self, output: str) -> None:
        self._constant("positions", self._weights.positions)
        self._constant("zero", np.array([0], np.int64))
        self._node("Shape", ["inputs_embeds"], ["length"], start=1, end=2)
        self._node("Slice", ["positions", "zero", "length", "zero"], ["place"])
        self._node("Add", ["inputs_embeds", "place"], ["placed"])
        norm = self._norm("embeddings.", self._weights.embedding_norm)
        self._node(
            "LayerNormalization",
            ["placed", *norm],
            [output],
            axis=-1,
            epsilon=self._weights.epsilon,
        )
        self._constant("thirds", np.array([self._width] * 3, np.int64))

    def _layer(self, name: str, layer: Layer, given: str) -> str:
        projected = self._dense(f"{name}qkv", layer.query_key_value, given, adds_bias=True)
        parts = [f"{name}query", f"{name}key", f"{name}value"]
        self._node("Split", [projected, "thirds"], parts, axis=-1)
        self._node(
            "MultiHeadAttention",
            [*parts, "", "mask32"],
            [f"{name}context"],
            _RUNTIME,
            num_heads=self._weights.heads,
        )
        attended = self._dense(f"{name}attention", layer.attention_output, f"{name}context")
        middle = self._add_and_norm(
            f"{name}middle", attended, given, layer.attention_norm, layer.attention_output.bias
        )
        wide = self._dense(f"{name}intermediate", layer.intermediate, middle)
        bias = self._constant(f"{name}intermediate.bias", layer.intermediate.bias)
        self._node("BiasGelu", [wide, bias], [f"{name}gelu"], _RUNTIME)
        narrow = self._dense(f"{name}output", layer.output, f"{name}gelu")
        return self._add_and_norm(
            f"{name}end", narrow, middle, layer.output_norm, layer.output.bias
        )

    def _dense(self, name: str, dense: Dense, given: str, *, adds_bias: bool = False) -> str:
        bits, values, scales = dense.weights
        outputs, inputs = values.shape
        packed = values[:, 0::2] | (values[:, 1::2] << 4) if bits == 4 else values
        inputs_of_node = [
            given,
            self._constant(f"{name}.values", packed.reshape(outputs, inputs // BLOCK, -1)),
            self._constant(f"{name}.scales", scales.reshape(-1)),
        ]
        if adds_bias:
            inputs_of_node += ["", "", self._constant(f"{name}.bias", dense.bias)]
        self._node(
            "MatMulNBits",
            inputs_of_node,
            [f"{name}.product"],
            _RUNTIME,
            K=inputs,
            N=outputs,
            bits=bits,
            block_size=BLOCK,
            # Activations in blocks of 8 bits: twice as fast, and no cosine moves by more than 0.01.
            accuracy_level=4,
        )
        return f"{name}.product"

    def _add_and_norm(self, name: str, given: str, skipped: str, norm: Norm, bias: Floats) -> str:
        added = self._constant(f"{name}.bias", bias)
        self._node(
            "SkipLayerNormalization",
            [given, skipped, *self._norm(f"{name}.", norm), added],
            [name],
            _RUNTIME,
            epsilon=self._weights.epsilon,
        )
        return name

    def _norm(self, name: str, norm: Norm) -> tuple[str, str]:
        return (
            self._constant(f"{name}norm.scale", norm.scale),
            self._constant(f"{name}norm.shift", norm.shift),
        )

    def _pooling(self, given: str) -> None:
        self._node("Mul", [given, "mask3"], ["kept"])
        self._node("ReduceSum", ["kept", "axis1"], ["sum"], keepdims=0)
        self._node("ReduceSum", ["mask", "axis1"], ["count"], keepdims=1)
        self._node("Div", ["sum", "count"], ["mean"])
        self._node("LpNormalization", ["mean"], ["sentence_embedding"], axis=-1, p=2)


def _value(name: str, kind: int, *shape: str | int) -> onnx.ValueInfoProto:
    return onnx.helper.make_tensor_value_info(name, kind, shape)
