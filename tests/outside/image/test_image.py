"""What is in the image, and what it says of itself."""

import json
import os
import re
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.outside.image.build import PLACE, ROOT, about, base
from tests.outside.image.conftest import Note
from tests.outside.image.container import Image, run_once

MODELS = 2
"""Which layer they are in, after the base and Python's bytecode."""
CEILING = 400_000_000
"""Bytes of all files, those of the stand-in base among them."""
CEILING_OF_OURS = 275_000_000
BIN = Path(sys.executable).parent
SYFT = {
    "SYFT_CHECK_FOR_APP_UPDATE": "false",
    "SYFT_FILE_METADATA_SELECTION": "none",  # a digest of every file takes half a minute
    "PATH": os.environ["PATH"],
    "HOME": str(PLACE),
}
CATALOGERS = "python-installed-package-cataloger,dpkg-db-cataloger"
LEFT_OUT = {
    "onnxruntime": set(),
    "reprise-proxy": {"onnx"},
    "rich": {"markdown-it-py", "pygments"},
    "tokenizers": {"huggingface-hub"},
}


@pytest.fixture(scope="module")
def pins() -> dict[str, str]:
    """The versions that requirements/image.txt locks."""
    text = (ROOT / "requirements/image.txt").read_text("utf-8")
    return dict(re.findall(r"^([a-z0-9._-]+)==(\S+)", text, re.MULTILINE))


def files(image: Image, below: str = ".") -> Iterator[tuple[Path, os.stat_result]]:
    """Everything below a directory, by its path in the image."""
    for path in (image.root / below).rglob("*"):
        yield path.relative_to(image.root), path.lstat()


def test_the_dockerfile_is_clean() -> None:
    command = [str(BIN / "hadolint"), str(ROOT / "Dockerfile")]
    told = subprocess.run(command, check=False, capture_output=True, text=True)  # noqa: S603 - ours
    assert (told.returncode, told.stdout) == (0, "")


def test_it_says_how_it_is_to_be_run(image: Image) -> None:
    assert image.config["User"] == "65532:65532"
    assert image.config["Entrypoint"] == ["reprise"]
    assert image.config["Cmd"] == ["serve"]
    assert image.config["Healthcheck"]["Test"] == ["CMD", "reprise", "healthcheck"]
    assert image.config["StopSignal"] == "SIGTERM"
    assert image.config["WorkingDir"] == "/var/lib/reprise"
    assert not image.config["Volumes"]


def test_it_says_what_it_is(image: Image) -> None:
    told = about()
    prefix = "org.opencontainers.image."
    labels = {
        name.removeprefix(prefix): value
        for name, value in image.config["Labels"].items()
        if name.startswith(prefix)
    }
    assert labels == {
        "title": "reprise",
        "description": "A caching reverse proxy for OpenAI-compatible servers",
        "version": told["VERSION"],
        "revision": told["REVISION"],
        "created": told["CREATED"],
        "base.name": base(),
    }


def test_the_same_commit_gives_the_same_layers(image: Image, image_without_models: Image) -> None:
    """What is ours was built twice, with models and without. Which are made the same each time is
    tested in tests/semantic/test_prepare.py."""
    assert image.layers[:MODELS] == image_without_models.layers[:MODELS]
    assert image.layers[MODELS] != image_without_models.layers[MODELS]
    assert image.layers[MODELS + 1 :] == image_without_models.layers[MODELS + 1 :]
    assert len(image.layers) == MODELS + 3


def test_it_is_not_large(image: Image, image_without_models: Image, note: Note) -> None:
    for name, mounted in (("image", image), ("without models", image_without_models)):
        inodes = {found.st_ino: found.st_size for _, found in files(mounted)}
        ours = sum(
            found.st_size
            for place in ("opt", "usr/share/reprise")
            for _, found in files(mounted, place)
        )
        size = sum(inodes.values())
        note(name, f"{size / 1e6:.0f} MB, {ours / 1e6:.0f} MB of them on top of the base")
        assert size < CEILING
        assert ours < CEILING_OF_OURS


def test_nothing_of_how_it_was_built_is_in_it(image: Image) -> None:
    names = {path.name for path, _ in files(image)}
    compilers = {"gcc", "g++", "cc", "c++", "cpp", "cc1plus", "clang", "as", "ld", "strip", "make"}
    programs = {path.name for path, _ in files(image) if path.parent.name in ("bin", "sbin")}
    assert not programs & compilers
    assert not names & {"pip-wheel-metadata", "onnx", "kubernetes", "xllamacpp", "openai", "wheels"}
    assert not any((image.root / place).exists() for place in ("root/.cache", "src", "opt/build"))
    ours = [path for path, _ in files(image, "opt/reprise")]
    assert not [path for path in ours if {"tests", "pip", "setuptools"} & set(path.parts)]
    assert not [path for path in ours if path.suffix in {".c", ".h", ".a", ".pyx"}]


def test_nobody_gains_rights_by_what_we_add(image: Image) -> None:
    packaged = {
        line.strip("/")
        for listed in (image.root / "var/lib/dpkg/info").glob("*.list")
        for line in listed.read_text("utf-8").splitlines()
    }
    for path, found in files(image):
        if stat.S_ISREG(found.st_mode) and found.st_mode & (stat.S_ISUID | stat.S_ISGID):
            assert str(path) in packaged, path
    for place in ("opt", "usr/share/reprise"):
        for path, found in files(image, place):
            assert (found.st_uid, found.st_gid) == (0, 0), path
            if not stat.S_ISLNK(found.st_mode):
                assert not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH), path


def test_its_place_for_data_is_any_users_of_the_root_group(image: Image) -> None:
    """OpenShift gives a user of its own choice, in group 0."""
    found = (image.root / "var/lib/reprise").stat()
    assert (found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)) == (65532, 0, 0o775)


def test_bytecode_is_there_and_is_not_checked_against_times(image: Image) -> None:
    sources = [
        image.root / path
        for path, _ in files(image, "opt/reprise/lib/python3.13/site-packages")
        if path.suffix == ".py"
    ]
    assert len(sources) > 1000
    for source in sources:
        code = source.parent / "__pycache__" / f"{source.stem}.cpython-313.pyc"
        assert code.read_bytes()[4:8] == b"\x01\0\0\0", source
    assert (image.root / "usr/lib/python3.13/asyncio/__pycache__/tasks.cpython-313.pyc").exists()


def test_what_is_installed_is_what_is_locked_and_enough(
    image: Image, tmp_path: Path, pins: dict[str, str]
) -> None:
    code = (Path(__file__).parent / "inspecting.py").read_text("utf-8")
    asking = Image(image.tag, image.root, image.config | {"Entrypoint": ["python", "-c", code]}, [])
    told = run_once(asking, "-", bundle=tmp_path / "inspecting")
    found = json.loads(told.stdout)
    versions = dict(found["versions"])
    assert versions.pop("reprise-proxy") == about()["VERSION"]
    assert versions == pins
    expected = {f"{name} wants {other}" for name, others in LEFT_OUT.items() for other in others}
    assert set(found["unmet"]) == expected


def test_a_bill_of_materials_can_be_written(image: Image, pins: dict[str, str], note: Note) -> None:
    file = PLACE / "reprise.spdx.json"
    command = [str(BIN / "syft"), "scan", f"dir:{image.root}", "--quiet"]
    command += ["--output", f"spdx-json={file}", "--override-default-catalogers", CATALOGERS]
    subprocess.run(command, check=True, env=SYFT)  # noqa: S603 - ours
    bill = json.loads(file.read_text("utf-8"))
    assert bill["spdxVersion"].startswith("SPDX-2.")
    named = {
        (one["name"].lower().replace("_", "-"), one.get("versionInfo")) for one in bill["packages"]
    }
    assert set(pins.items()) <= named
    assert ("reprise-proxy", about()["VERSION"]) in named
    assert any(name == "libc6" for name, _ in named)
    note("bill of materials", f"{file}, {len(bill['packages'])} packages")
