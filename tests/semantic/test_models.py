"""Where models are, and how the packaged ones get there by themselves."""

from dataclasses import replace
from pathlib import Path

import pytest

from proxy.core.meaning.script import Script
from proxy.semantic import manifest
from proxy.semantic.manifest import ModelError
from proxy.semantic.models import (
    E5,
    MINILM,
    PACKAGED,
    default_directory,
    find_or_prepare,
    prepared,
)
from tests.semantic import tiny


@pytest.mark.parametrize(
    ("environment", "directory"),
    [
        ({"REPRISE_MODELS": "/srv/models", "XDG_DATA_HOME": "/x"}, Path("/srv/models")),
        ({"XDG_DATA_HOME": "/x"}, Path("/x/reprise/models")),
        ({"XDG_DATA_HOME": "x"}, Path.home() / ".local/share/reprise/models"),
        ({}, Path.home() / ".local/share/reprise/models"),
        ({"REPRISE_MODELS": "", "XDG_DATA_HOME": ""}, Path.home() / ".local/share/reprise/models"),
    ],
)
def test_directory_of_models(environment: dict[str, str], directory: Path) -> None:
    assert default_directory(environment) == directory


def test_every_script_with_letters_is_served_by_one_packaged_model() -> None:
    served = [script for model in PACKAGED.values() for script in model.scripts]
    assert sorted(served) == sorted(set(Script) - {Script.NONE})


def test_packages_are_found_without_importing_them() -> None:
    for model in (MINILM, E5):
        directory = model.directory()
        assert directory is not None
        assert all((directory / name).is_file() for name in model.sources)
    assert replace(MINILM, module="no_such_package").directory() is None


def test_prepared_models_are_the_directories_with_a_manifest(tmp_path: Path) -> None:
    assert list(prepared(tmp_path / "nothing")) == []
    tiny.prepared(tmp_path / "b")
    tiny.prepared(tmp_path / "a")
    (tmp_path / "c").mkdir()
    (tmp_path / "file").touch()
    assert [path.name for path in prepared(tmp_path)] == ["a", "b"]


def test_prepared_model_is_taken_as_it_is(tmp_path: Path) -> None:
    model = tiny.prepared(tmp_path / "tiny")
    assert find_or_prepare("tiny", tmp_path) == model


def test_unknown_model_is_missing(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"no-such: is not there; reprise models prepare no-such"):
        find_or_prepare("no-such", tmp_path)


def test_packaged_model_is_prepared_when_it_is_missed(tmp_path: Path, models: Path) -> None:
    place = tmp_path / "not" / "there"
    directory = find_or_prepare(MINILM.name, place)
    assert manifest.read(directory) == manifest.read(models / MINILM.name)
    assert [path.name for path in place.iterdir()] == [MINILM.name]


def test_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ModelError, match=r"cannot be prepared: .*file"):
        find_or_prepare(MINILM.name, tmp_path / "file")


def test_preparing_has_a_deadline(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="was not prepared in time; run it by hand"):
        find_or_prepare(MINILM.name, tmp_path, seconds=0.001)
