"""Builds the image with what this machine has: `python -m tests.outside.image.build`.

Docker or podman build on the real base. Where there is neither, buildah builds on a stand-in that
is made here (standin.py), so that all of the Dockerfile can be tried without a registry.
"""

import argparse
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from tests.outside.image import standin

ROOT = Path(__file__).parents[3]
PLACE = Path(os.environ.get("REPRISE_IMAGE", ROOT / ".venv/share/image"))
"""Where buildah keeps its layers, and the stand-in is kept. `make clean` removes it."""
_VERSION = re.search(r'__version__ = "(.+)"', (ROOT / "proxy/__init__.py").read_text("utf-8"))
assert _VERSION is not None
TAG = f"reprise:{_VERSION[1]}"
"""What the chart asks for, unless told otherwise."""
WITHOUT_MODELS = f"{TAG}-exact"
"""Built a second time for the tests, without models and with no cache of what is ours."""
_KEPT_STAGES = ("wheels", "libraries")
"""Those that a second build takes from the first: compiling and fetching take two minutes."""
_DATE = 315_532_800
"""Of all files, 1980: a layer is the same in every commit that does not change what is in it. When
the commit was made is told by a label."""
_NO_MODELS = "--build-arg=WITH_MODELS=0"
_CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
_PID_MAX = Path("/proc/sys/kernel/pid_max")


def main() -> None:
    """Build what the command line says; ends with the builder's status where that fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tag", default=TAG)
    parser.add_argument("--without-models", action="store_true")
    parser.add_argument("--for-tests", action="store_true", help="twice, on the stand-in")
    chosen = parser.parse_args()
    arguments = [f"--build-arg={name}={value}" for name, value in about().items()]
    if chosen.without_models:
        arguments.append(_NO_MODELS)
    engine = None if chosen.for_tests else engine_of_this_machine()
    try:
        if engine is not None:
            _with_engine(engine, chosen.tag, arguments)
        else:
            _with_stand_in(chosen.tag, arguments)
        if chosen.for_tests:
            _again(arguments)
    except subprocess.CalledProcessError as error:
        sys.exit(error.returncode)
    except FileNotFoundError as error:
        sys.exit(
            f"{error.filename} is not installed. Install docker or podman; or, on Debian as root: "
            "apt-get install buildah mmdebstrap"
        )


def about() -> dict[str, str]:
    """What the Dockerfile is told of the source, so that a commit always gives the same image."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH") or _git("log", "-1", "--format=%ct") or "0"
    return {
        "SOURCE_DATE_EPOCH": epoch,
        "VERSION": TAG.partition(":")[2],
        "REVISION": _git("rev-parse", "HEAD"),
        "CREATED": datetime.fromtimestamp(int(epoch), UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }


def base() -> str:
    """The image that the Dockerfile begins with."""
    found = re.search(r"^ARG BASE=(\S+)$", (ROOT / "Dockerfile").read_text("utf-8"), re.MULTILINE)
    assert found is not None
    return found[1]


def engine_of_this_machine() -> str | None:
    """The first of docker and podman that works here."""
    for name in ("docker", "podman"):
        program = shutil.which(name)
        command = [name, "info"]
        if program and _is_done(command):
            return name
    return None


def buildah(*arguments: str) -> list[str]:
    """A command of buildah that keeps all it has in PLACE."""
    # Where layers cannot be laid over each other they are copied: it takes twice as long.
    driver = "overlay" if "overlay" in Path("/proc/filesystems").read_text("ascii") else "vfs"
    kept = ["--root", str(PLACE / "storage"), "--runroot", str(PLACE / "run")]
    return ["buildah", "--storage-driver", driver, *kept, *arguments]


@contextmanager
def step(name: str) -> Iterator[None]:
    """Say how long something took."""
    began = time.monotonic()
    yield
    print(f"-- {name}: {time.monotonic() - began:.0f} s", flush=True)  # noqa: T201 - for who waits


def run(command: Sequence[str]) -> str:
    """What a command of ours prints. Raises CalledProcessError."""
    told = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=ROOT)  # noqa: S603 - ours
    return told.stdout


def _is_done(command: Sequence[str]) -> bool:
    return subprocess.run(command, check=False, capture_output=True).returncode == 0  # noqa: S603 - ours


def _watch(command: Sequence[str], **settings: str) -> None:
    """Run a command of which the user sees what it prints. Raises CalledProcessError."""
    subprocess.run(command, check=True, cwd=ROOT, env={**os.environ, **settings})  # noqa: S603 - ours


def _with_engine(engine: str, tag: str, arguments: Sequence[str]) -> None:
    docker = ["--format=docker"] if engine == "podman" else []
    with step(f"{engine} built {tag} on {base()}"):
        _watch([engine, "build", *docker, *arguments, "-t", tag, "."], DOCKER_BUILDKIT="1")


def _with_stand_in(tag: str, arguments: Sequence[str]) -> None:
    print(f"No registry is asked: a stand-in takes the place of {base()}.", flush=True)  # noqa: T201
    PLACE.mkdir(parents=True, exist_ok=True)
    _make_base()
    with step(f"buildah built {tag} on the stand-in"):
        _buildah_builds(tag, arguments)


def _again(arguments: Sequence[str]) -> None:
    """Build what is ours a second time, where nothing of the first is taken but _KEPT_STAGES."""
    text = (ROOT / "Dockerfile").read_text("utf-8")
    for stage in _KEPT_STAGES:
        kept = f"{TAG}-{stage}"
        _buildah_builds(kept, [*arguments, f"--target={stage}"])
        text = re.sub(
            rf"^FROM \S+ AS {stage}\n.*?(?=^FROM )",
            f"FROM localhost/{kept} AS {stage}\n\n",
            text,
            flags=re.MULTILINE | re.DOTALL,
        )
    second = PLACE / "Dockerfile.second"
    second.write_text(text, "utf-8")
    with step(f"buildah built {WITHOUT_MODELS}, what is ours of it a second time"):
        _buildah_builds(WITHOUT_MODELS, [*arguments, _NO_MODELS, "--no-cache", f"-f={second}"])


def _buildah_builds(tag: str, arguments: Sequence[str]) -> None:
    command = [
        *_apart("bud", "--layers", "--pull=never", "--isolation=chroot", "--network=host"),
        "--jobs=2",
        # Without it there is no place for HEALTHCHECK.
        "--format=docker",
        *_limits(),
        *(["-v", f"{_CERTIFICATES}:{_CERTIFICATES}:ro"] if _CERTIFICATES.exists() else []),
        f"--timestamp={_DATE}",
        *arguments,
    ]
    scratch = PLACE / "tmp"  # buildah's caches between builds are there, too
    scratch.mkdir(exist_ok=True)
    _watch([*command, "-t", tag, "."], TMPDIR=str(scratch))


def _make_base() -> None:
    archive = PLACE / "base.tar"
    if not archive.exists():
        with step("the stand-in was made"):
            standin.make(archive, base().rpartition("-")[2])
    known = json.loads(run(_apart("images", "--json")) or "[]")
    if not any(base() in (image["names"] or ()) for image in known):
        container = run(_apart("from", "scratch")).strip()
        run(_apart("add", "-q", container, str(archive), "/"))
        run(_apart("commit", "-q", "--rm", container, base()))


def _apart(*arguments: str) -> list[str]:
    """As `buildah`; what it leaves mounted, above all where it fails, goes with it."""
    return ["unshare", "--mount", *buildah(*arguments)]


def _limits() -> list[str]:
    """Those of this process: buildah would ask for more, which not every root may."""
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    processes = resource.getrlimit(resource.RLIMIT_NPROC)[1]
    processes = min(processes, int(_PID_MAX.read_text("ascii")))
    return [f"--ulimit=nofile={files}:{files}", f"--ulimit=nproc={processes}:{processes}"]


def _git(*arguments: str) -> str:
    """What git says; nothing where there is no repository."""
    command = ["git", *arguments]
    told = subprocess.run(command, check=False, capture_output=True, text=True, cwd=ROOT)  # noqa: S603 - ours
    return told.stdout.strip()


if __name__ == "__main__":
    main()
