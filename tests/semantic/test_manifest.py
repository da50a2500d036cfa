"""A prepared model says what it is, and notices when it is not."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from proxy.semantic import manifest
from proxy.semantic.manifest import Manifest, ModelError
from tests.semantic import tiny


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return tiny.prepared(tmp_path / "tiny")


def change(model: Path, edit: Callable[[dict[str, Any]], object]) -> None:
    path = model / manifest.FILE
    found = orjson.loads(path.read_bytes())
    edit(found)
    path.write_bytes(orjson.dumps(found))


def test_manifest_survives_its_file(model: Path) -> None:
    found = manifest.read(model)
    assert (found.name, found.dimensions, found.scripts) == ("tiny", tiny.WIDTH, ["latin"])
    found.write(model)
    assert manifest.read(model) == found
    manifest.verify(model, found)


def test_identity_is_of_what_decides_over_vectors(model: Path) -> None:
    found = manifest.read(model)
    assert found.identity.startswith("tiny@")
    same = [replace(found, source="elsewhere"), replace(found, scripts=["han"])]
    assert {other.identity for other in same} == {found.identity}
    others: list[Manifest] = [
        replace(found, prefix="query: "),
        replace(found, pooling="first"),
        replace(found, dimensions=8),
        replace(found, files=found.files | {"model.onnx": "0" * 64}),
        replace(found, files=found.files | {"tokenizer.json": "0" * 64}),
    ]
    assert len({found.identity, *(other.identity for other in others)}) == 6


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
def test_damaged_or_missing_file_is_named(model: Path, name: str) -> None:
    found = manifest.read(model)
    path = model / name
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(ModelError, match=rf"{name}: is damaged.*reprise models prepare"):
        manifest.verify(model, found)
    path.unlink()
    with pytest.raises(ModelError, match=rf"{name}: cannot be read: No such file"):
        manifest.verify(model, found)


@pytest.mark.parametrize(
    ("edit", "why"),
    [
        (lambda found: found.update(format=2), "not of format 1"),
        (lambda found: found.update(identity="tiny@0"), "was changed"),
        (lambda found: found.update(prefix="x"), "was changed"),
        (lambda found: found.update(more=1), "lacks some"),
        (lambda found: found.pop("files"), "lacks some"),
        (lambda found: found.update(dimensions="32"), "lacks some"),
    ],
)
def test_manifest_that_was_edited_is_refused(
    model: Path, edit: Callable[[dict[str, Any]], object], why: str
) -> None:
    change(model, edit)
    with pytest.raises(ModelError, match=rf"manifest.json: .*{why}.*; prepare it again"):
        manifest.read(model)


@pytest.mark.parametrize("content", [b"{", b"[]", b"\xff"])
def test_manifest_that_is_none_is_refused(model: Path, content: bytes) -> None:
    (model / manifest.FILE).write_bytes(content)
    with pytest.raises(ModelError, match=r"manifest\.json"):
        manifest.read(model)


def test_directory_without_manifest_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="cannot be read: No such file"):
        manifest.read(tmp_path)
