"""The graph computes what the same encoder in plain numpy computes."""

from pathlib import Path

import numpy as np
import pytest

from proxy.semantic import onnx_graph, runtime
from proxy.semantic.onnx_graph import BLOCK, Blocks, Dense, Floats, Layer, Norm, Weights
from tests.semantic import reference

WIDTH, HEADS = 64, 4


def matrix(outputs: int, inputs: int, seed: int = 0) -> Floats:
    random = np.random.default_rng(seed)
    return random.normal(0, 0.2, (outputs, inputs)).astype(np.float32)


def four_bits(given: Floats) -> Blocks:
    blocks = given.reshape(len(given), -1, BLOCK)
    scales = np.abs(blocks).max(axis=-1) / np.float32(7)
    values = np.rint(blocks / scales[..., None]) + 8
    return Blocks(4, values.astype(np.uint8).reshape(given.shape), scales)


def weights(bits: int) -> Weights:
    quantised = {4: four_bits, 8: onnx_graph.eight_bits}[bits]

    def dense(outputs: int, inputs: int, seed: int) -> Dense:
        return Dense(quantised(matrix(outputs, inputs, seed)), matrix(1, outputs, seed)[0])

    def norm(seed: int) -> Norm:
        return Norm(1 + matrix(1, WIDTH, seed)[0], matrix(1, WIDTH, seed + 1)[0])

    def layer(seed: int) -> Layer:
        return Layer(
            query_key_value=dense(3 * WIDTH, WIDTH, seed),
            attention_output=dense(WIDTH, WIDTH, seed + 1),
            attention_norm=norm(seed + 2),
            intermediate=dense(2 * WIDTH, WIDTH, seed + 4),
            output=dense(WIDTH, 2 * WIDTH, seed + 5),
            output_norm=norm(seed + 6),
        )

    return Weights(HEADS, 1e-12, matrix(16, WIDTH), norm(1), [layer(10), layer(20)])


@pytest.mark.parametrize("bits", [4, 8])
def test_graph_agrees_with_plain_numpy(tmp_path: Path, bits: int) -> None:
    path = tmp_path / "model.onnx"
    onnx_graph.write(weights(bits), path)
    session = runtime.InferenceSession(path, providers=["CPUExecutionProvider"])
    texts = [matrix(tokens, WIDTH, tokens) for tokens in (16, 5, 1)]
    words = np.zeros((3, 16, WIDTH), np.float32)
    mask = np.zeros((3, 16), np.int64)
    for row, text in enumerate(texts):
        words[row, : len(text)] = text
        mask[row, : len(text)] = 1
    (found,) = session.run(None, {"inputs_embeds": words, "attention_mask": mask})
    for text, vector in zip(texts, found, strict=True):
        assert reference.similarity(vector, reference.encode(text, weights(bits))) > 0.999


def test_eight_bits_are_within_half_a_step() -> None:
    given = matrix(7, 3 * BLOCK)
    given[0] = 0
    blocks = onnx_graph.eight_bits(given)
    steps = np.repeat(blocks.scales, BLOCK, axis=1)
    assert blocks.bits == 8
    assert (np.abs(reference.floats(blocks) - given) <= steps * 0.501).all()


def test_matrices_are_stacked() -> None:
    both = onnx_graph.stack([four_bits(matrix(2, BLOCK, seed)) for seed in (1, 2)])
    parts = [reference.floats(four_bits(matrix(2, BLOCK, seed))) for seed in (1, 2)]
    assert both.bits == 4
    assert np.array_equal(reference.floats(both), np.concatenate(parts))
