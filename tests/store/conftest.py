"""A file system that is small enough to be full."""

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest


@contextlib.contextmanager
def small_disk(directory: Path) -> Iterator[None]:
    """A real file system of 512 KiB at a directory, where we may mount one."""
    directory.mkdir()
    if os.geteuid() or shutil.which("mount") is None:
        pytest.skip("a small file system can be mounted by root only")
    command = ["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", str(directory)]
    if subprocess.run(command, check=False, capture_output=True).returncode:  # noqa: S603 - ours
        pytest.skip("a small file system cannot be mounted here")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(directory)], check=True)  # noqa: S603, S607 - ours


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """The directory of a small file system."""
    with small_disk(tmp_path / "small"):
        yield tmp_path / "small"
