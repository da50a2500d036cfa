"""Tiny sentence encoders in ONNX: a bag of words, whole or broken in one way."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import orjson
from onnx import TensorProto

from proxy.core.meaning.script import Script
from proxy.semantic import manifest
from proxy.semantic.encoder import ALIKE, SAME, UNLIKE
from proxy.semantic.manifest import Manifest

WIDTH = 32
WORDS = sorted(
    {word.lower() for text in (SAME, ALIKE, UNLIKE) for word in re.findall(r"\w+|\S", text)}
)
BREAKING = "broken"
"""A word whose number is beyond the table: the model fails at it."""
ZERO = "zero"
"""A word whose vector is zero."""


def write(
    directory: Path,
    *,
    flaw: str = "",
    pooled: bool = False,
    types: bool = False,
) -> Path:
    """Write model.onnx and tokenizer.json.

    `flaw` is constant, nan or zero: what the words' vectors are; few: most words have none; width:
    the vectors are as long as the text; twins: "how" and "what" have the same. `pooled`: the graph
    makes sentences itself. `types`: it asks for token_type_ids.
    """
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "tokenizer.json").write_bytes(orjson.dumps(_tokenizer()))
    onnx.save(_graph(flaw, pooled, types), directory / "model.onnx")
    return directory


def prepared(
    directory: Path,
    *,
    flaw: str = "",
    dimensions: int = WIDTH,
    prefix: str = "",
    pooled: bool = False,
) -> Path:
    """A prepared tiny model, whole or not; nothing tries it."""
    write(directory, flaw=flaw, pooled=pooled)
    return sign(directory, dimensions=dimensions, prefix=prefix)


def sign(
    directory: Path, *, dimensions: int = WIDTH, prefix: str = "", pooling: str = "mean"
) -> Path:
    """Give the files of a directory a manifest that fits them."""
    files = {
        path.name: manifest.sha256(path)
        for path in directory.iterdir()
        if path.name != manifest.FILE
    }
    Manifest(
        name=directory.name,
        dimensions=dimensions,
        prefix=prefix,
        pooling=pooling,
        scripts=[Script.LATIN],
        source="made by hand",
        files=files,
    ).write(directory)
    return directory


def _tokenizer() -> dict[str, object]:
    vocabulary = ["[UNK]", ZERO, *WORDS, BREAKING]
    return {
        "version": "1.0",
        "truncation": {
            "direction": "Right",
            "max_length": 8,
            "strategy": "LongestFirst",
            "stride": 0,
        },
        "padding": None,
        "added_tokens": [],
        "normalizer": {"type": "Lowercase"},
        "pre_tokenizer": {"type": "Whitespace"},
        "post_processor": None,
        "decoder": None,
        "model": {
            "type": "WordLevel",
            "vocab": {word: number for number, word in enumerate(vocabulary)},
            "unk_token": "[UNK]",
        },
    }


def _graph(flaw: str, pooled: bool, types: bool) -> onnx.ModelProto:
    nodes: list[onnx.NodeProto] = []
    constants = [
        onnx.numpy_helper.from_array(_vectors(flaw), "words"),
        onnx.numpy_helper.from_array(np.array([2], np.int64), "last"),
        onnx.numpy_helper.from_array(np.array([1], np.int64), "first"),
    ]

    def add(operator: str, *inputs: str, **attributes: Any) -> str:
        output = f"{operator}{len(nodes)}"
        nodes.append(onnx.helper.make_node(operator, inputs, [output], **attributes))
        return output

    names = ["input_ids", "attention_mask"]
    found = add("Gather", "words", "input_ids")
    if types:
        names.append("token_type_ids")
        kinds = add("Unsqueeze", add("Cast", names[-1], to=TensorProto.FLOAT), "last")
        found = add("Add", found, kinds)
    if pooled:
        found = add("ReduceMean", found, "first", keepdims=0)
    if flaw == "width":
        found = add("Cast", "attention_mask", to=TensorProto.FLOAT)
    graph = onnx.helper.make_graph(
        nodes,
        "bag-of-words",
        [onnx.helper.make_tensor_value_info(name, TensorProto.INT64, ["n", "m"]) for name in names],
        [onnx.helper.make_tensor_value_info(found, TensorProto.FLOAT, None)],
        constants,
    )
    versions = [onnx.helper.make_opsetid("", 21)]
    return onnx.helper.make_model(graph, opset_imports=versions, ir_version=10)


def _vectors(flaw: str) -> npt.NDArray[np.float32]:
    words = np.random.default_rng(7).normal(size=(len(WORDS) + 2, WIDTH)).astype(np.float32)
    words[1] = 0
    if flaw == "twins":
        words[2 + WORDS.index("what")] = words[2 + WORDS.index("how")]
    if flaw in _FLAWS:
        words[2:] = _FLAWS[flaw]
    return words[:3] if flaw == "few" else words


_FLAWS = {"constant": 1.0, "nan": np.nan, "zero": 0.0}
