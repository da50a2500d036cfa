"""The directory of what outlasts the process, and a lock for those who share it."""

import contextlib
import fcntl
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

_LOCK = "lock"


def default_directory(environment: Mapping[str, str]) -> Path:
    """Where what was learnt is kept: `reprise` in the user's data directory (XDG)."""
    data = environment.get("XDG_DATA_HOME", "")
    # Relative values are to be ignored, says the XDG base directory specification.
    home = Path(data) if Path(data).is_absolute() else Path.home() / ".local" / "share"
    return home / "reprise"


def make(directory: Path) -> None:
    """Make a directory, for its owner only, if it is not there. Raises OSError."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)


@contextlib.contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Nobody else who asks for it is in here meanwhile. Blocks; raises OSError.

    The kernel gives the lock back when a process dies.
    """
    descriptor = os.open(directory / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
