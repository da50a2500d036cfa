"""What the image is built of (requirements/) agrees with what pyproject.toml asks for."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from proxy.semantic.models import PACKAGED

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
EXTRAS = ("hnsw", "tracing", "inject")
LOCKED = ["image", "build", "models"]


def locked(name: str) -> dict[str, str]:
    """The versions in a lock file, by package."""
    text = (ROOT / f"requirements/{name}.txt").read_text("utf-8")
    return dict(re.findall(r"^([a-z0-9._-]+)==(\S+)", text, re.MULTILINE))


def wanted(name: str) -> list[Requirement]:
    """The requirements that a lock file is made of."""
    lines = (ROOT / f"requirements/{name}.in").read_text("utf-8").splitlines()
    return [Requirement(text) for line in lines if (text := line.partition("#")[0].strip())]


def test_the_image_holds_what_the_package_asks_for() -> None:
    left_out = {requirement.name for requirement in wanted("left-out")}
    extras = [one for extra in EXTRAS for one in PROJECT["optional-dependencies"][extra]]
    pins = locked("image")
    for requirement in map(Requirement, [*PROJECT["dependencies"], *extras]):
        name = requirement.name.lower().replace("_", "-")
        if name in left_out:
            assert name not in pins
        else:
            assert requirement.specifier.contains(pins[name]), f"{requirement}: run make lock"


@pytest.mark.parametrize("name", ["build", "models"])
def test_what_builds_it_is_locked_as_asked_for(name: str) -> None:
    pins = locked(name)
    for requirement in wanted(name):
        assert requirement.specifier.contains(pins[requirement.name]), f"{name}: run make lock"


def test_what_builds_and_what_runs_are_of_the_same_versions() -> None:
    image, build = locked("image"), locked("build")
    both = image.keys() & build.keys()
    assert "numpy" in both
    assert {name: image[name] for name in both} == {name: build[name] for name in both}


def test_the_models_are_those_that_are_prepared() -> None:
    pins = {f"{name}=={version}" for name, version in locked("models").items()}
    assert pins == {model.package for model in PACKAGED.values()}


@pytest.mark.parametrize("name", LOCKED)
def test_every_version_has_its_hashes(name: str) -> None:
    text = (ROOT / f"requirements/{name}.txt").read_text("utf-8")
    entries = re.split(r"^(?=[a-z0-9])", text, flags=re.MULTILINE)[1:]
    assert len(entries) == len(locked(name))
    assert all("--hash=sha256:" in entry for entry in entries)
