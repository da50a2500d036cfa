"""The image, mounted, in a place where nothing else is: `make image-test` goes there.

The tests run in namespaces of their own (network, mounts, processes). So there is no network but
loopback, and whatever happens, no mount and no container is left when they have ended.
"""

import itertools
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

import pytest

from tests.outside.image.build import TAG, WITHOUT_MODELS, buildah, run
from tests.outside.image.container import Container, Image

FIGURES = pytest.StashKey[dict[str, str]]()
Start: TypeAlias = Callable[..., Container]
"""`async with start("serve", ...) as container`; data=DIRECTORY, config=DIRECTORY."""
Note: TypeAlias = Callable[[str, str], None]
"""What was measured, for the end of the report."""


@pytest.fixture(scope="session", autouse=True)
def _alone() -> None:
    """Fails anywhere else; lifts the loopback, and gives crun the control groups it knows."""
    links = Path("/proc/net/dev").read_text("ascii").splitlines()[2:]
    if [line.partition(":")[0].strip() for line in links] != ["lo"]:
        pytest.exit("This wants namespaces of its own: make image-test", returncode=2)
    _do("ip", "link", "set", "lo", "up")
    if not Path("/sys/fs/cgroup/cgroup.controllers").exists():
        _do("umount", "--lazy", "/sys/fs/cgroup")
        _do("mount", "-t", "cgroup2", "none", "/sys/fs/cgroup")
    # Of tests that were killed; the place is ours alone.
    run(buildah("rm", "--all"))


@pytest.fixture(scope="session")
def image(_alone: None) -> Iterator[Image]:
    """The image as `make image` builds it."""
    yield from _mounted(TAG)


@pytest.fixture(scope="session")
def image_without_models(_alone: None) -> Iterator[Image]:
    """The variant that compares nothing by meaning."""
    yield from _mounted(WITHOUT_MODELS)


def _mounted(tag: str) -> Iterator[Image]:
    mounted = Image.mount(tag)
    yield mounted
    mounted.unmount()


@pytest.fixture
def data(image: Image, tmp_path: Path) -> Path:
    """A volume for what is kept, as the image's user owns it."""
    return _owned(tmp_path / "volume", image.user)


@pytest.fixture
def start(image: Image, tmp_path: Path) -> Start:
    """Makes containers of the image."""
    # Those of the container's user must get there.
    tmp_path.chmod(0o755)
    numbers = itertools.count()

    def make(
        *arguments: str,
        data: Path | None = None,
        config: Path | None = None,
        of: Image | None = None,
    ) -> Container:
        name = f"reprise-{next(numbers)}"
        kept = data or _owned(tmp_path / f"{name}-data", image.user)
        binds = {"/var/lib/reprise": kept} | ({"/etc/reprise": config} if config else {})
        return Container(of or image, name, *arguments, bundle=tmp_path / name, binds=binds)

    return make


def _owned(directory: Path, user: int) -> Path:
    directory.mkdir()
    subprocess.run(["chown", f"{user}:{user}", str(directory)], check=True)  # noqa: S603, S607 - ours
    return directory


def _do(*command: str) -> None:
    subprocess.run(command, check=True)  # noqa: S603 - ours


@pytest.fixture
def note(request: pytest.FixtureRequest) -> Note:
    """Keeps a figure for the end of the report."""
    figures = request.config.stash.setdefault(FIGURES, {})

    def keep(name: str, value: str) -> None:
        figures[name] = value

    return keep


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what was measured."""
    figures = terminalreporter.config.stash.get(FIGURES, {})
    for name, value in figures.items():
        terminalreporter.write_line(f"{name}: {value}")
