"""The same encoders written a second time, in plain numpy."""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from proxy.semantic.onnx_graph import BLOCK, Blocks, Dense, Floats, Layer, Norm, Weights


def floats(blocks: Blocks) -> Floats:
    """The matrix that blocks stand for."""
    zero = {4: 8.0, 8: 128.0}[blocks.bits]
    scales = np.repeat(blocks.scales, BLOCK, axis=1)
    return ((blocks.values.astype(np.float32) - zero) * scales).astype(np.float32)


def encode(words: Floats, weights: Weights) -> npt.NDArray[np.float32]:
    """The vector of one text, given as word embeddings (tokens, dimensions)."""
    state = _norm(words + weights.positions[: len(words)], weights.embedding_norm, weights.epsilon)
    for layer in weights.layers:
        state = _layer(state, layer, weights)
    mean = state.mean(axis=0)
    vector: npt.NDArray[np.float32] = mean / np.linalg.norm(mean)
    return vector


def _layer(state: Floats, layer: Layer, weights: Weights) -> Floats:
    heads = weights.heads
    query, key, value = (
        part.reshape(len(state), heads, -1).transpose(1, 0, 2)
        for part in np.split(_dense(state, layer.query_key_value), 3, axis=1)
    )
    scores = query @ key.transpose(0, 2, 1) / math.sqrt(query.shape[-1])
    shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
    shares /= shares.sum(axis=-1, keepdims=True)
    context = (shares @ value).transpose(1, 0, 2).reshape(state.shape)
    attended = _dense(context, layer.attention_output)
    middle = _norm(state + attended, layer.attention_norm, weights.epsilon)
    wide = _dense(middle, layer.intermediate)
    bent = wide * 0.5 * (1 + _erf(wide / math.sqrt(2)))
    return _norm(middle + _dense(bent, layer.output), layer.output_norm, weights.epsilon)


def _dense(state: Floats, dense: Dense) -> Floats:
    return state @ floats(dense.weights).T + dense.bias


def _norm(state: Floats, norm: Norm, epsilon: float) -> Floats:
    centred = state - state.mean(axis=-1, keepdims=True)
    deviation = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + epsilon)
    scaled: Floats = centred / deviation * norm.scale + norm.shift
    return scaled


def _erf(values: Floats) -> Floats:
    bent: Floats = np.vectorize(math.erf, otypes=[np.float32])(values)
    return bent


def similarity(one: Floats, other: Floats) -> float:
    """The cosine of two vectors of length 1."""
    return float(one @ other)


def ids(tokens: Sequence[int]) -> npt.NDArray[np.int64]:
    """Token ids as a table takes them."""
    return np.array(tokens, np.int64)
