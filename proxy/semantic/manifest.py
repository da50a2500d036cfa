"""What a prepared model is: a directory of files, and manifest.json that tells what they are."""

import hashlib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, get_origin, get_type_hints

import orjson

FILE = "manifest.json"
REMEDY = "prepare it again: reprise models prepare --force"
_FORMAT = 1
_DECISIVE = {"dimensions", "prefix", "pooling", "files"}


class ModelError(Exception):
    """A model that cannot be used: which, why, and what to do about it."""

    def __init__(self, what: str, why: str, remedy: str) -> None:
        super().__init__(f"{what}: {why}; {remedy}")


@dataclass(frozen=True, slots=True)
class Manifest:
    """A prepared model. All of it but the source goes into its identity."""

    name: str
    dimensions: int
    prefix: str
    """What goes before each text."""
    pooling: str
    """How a sentence comes of its tokens where the graph leaves that open: mean or first."""
    scripts: list[str]
    """The scripts that it serves unless the configuration says otherwise."""
    source: str
    """Where it comes from, with a version or revision."""
    files: dict[str, str]
    """The SHA-256 of each file, in hexadecimal."""

    @property
    def identity(self) -> str:
        """Name and digest of what decides over its vectors."""
        decisive = {key: value for key, value in asdict(self).items() if key in _DECISIVE}
        digest = hashlib.sha256(orjson.dumps(decisive, option=orjson.OPT_SORT_KEYS))
        return f"{self.name}@{digest.hexdigest()[:16]}"

    def write(self, directory: Path) -> None:
        """Put it beside its files."""
        told = {"format": _FORMAT, "identity": self.identity, **asdict(self)}
        (directory / FILE).write_bytes(orjson.dumps(told, option=orjson.OPT_INDENT_2) + b"\n")


def read(directory: Path) -> Manifest:
    """The manifest of a prepared model. Raises ModelError where there is none that we can read."""
    path = directory / FILE
    try:
        found = orjson.loads(path.read_bytes())
    except OSError as error:
        raise ModelError(str(path), f"cannot be read: {error.strerror}", REMEDY) from error
    except ValueError as error:
        raise ModelError(str(path), "is no JSON", REMEDY) from error
    if not isinstance(found, dict) or found.pop("format", None) != _FORMAT:
        raise ModelError(str(path), f"is not of format {_FORMAT}", REMEDY)
    told = found.pop("identity", None)
    if not _is_manifest(found):
        raise ModelError(str(path), "has members that do not belong there, or lacks some", REMEDY)
    manifest = Manifest(**found)
    if manifest.identity != told:
        raise ModelError(str(path), "was changed after the model was prepared", REMEDY)
    return manifest


def _is_manifest(found: dict[str, Any]) -> bool:
    kinds = get_type_hints(Manifest)
    return found.keys() == kinds.keys() and all(
        isinstance(found[name], get_origin(kind) or kind) for name, kind in kinds.items()
    )


def verify(directory: Path, manifest: Manifest) -> None:
    """Hold every file to its checksum. Raises ModelError with the first that differs."""
    for name, expected in manifest.files.items():
        path = directory / name
        try:
            found = sha256(path)
        except OSError as error:
            raise ModelError(str(path), f"cannot be read: {error.strerror}", REMEDY) from error
        if found != expected:
            raise ModelError(str(path), "is damaged: its SHA-256 is another", REMEDY)


def sha256(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal. Raises OSError."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
