"""A base image where no registry can be reached: Debian with its own Python, under the real name.

The Dockerfile builds on it unchanged. What comes out is for tests: it has Debian's build of Python,
in other places than the real base, and nothing that the makers of the real base do besides.
"""

import shutil
import subprocess
from pathlib import Path

_PACKAGES = "ca-certificates,python3,python3-pip"
_WITHOUT = ("doc", "man", "locale", "info", "groff", "lintian")
_MIRROR = "http://deb.debian.org/debian"
# The real base has Python's header files, and no others. Debian's come with those of libc.
_HEADERS = (
    'chroot "$1" sh -c "cd /tmp && apt-get -qq download libpython3.13-dev"'
    ' && for package in "$1"/tmp/libpython3.13-dev*.deb; do'
    ' dpkg-deb --fsys-tarfile "$package" | tar -x -C "$1" --wildcards "./usr/include/*"'
    ' && rm "$package"; done'
)
# Nor does the real base have bytecode.
_BYTECODE = 'find "$1"/usr/lib/python3* -depth -name __pycache__ -exec rm -rf "{}" +'


def make(into: Path, suite: str) -> None:
    """Write the file system of a Debian `suite` with Python as a tar file. Takes a minute.

    Raises CalledProcessError.
    """
    options = [
        "--quiet",
        "--variant=minbase",
        "--mode=root",
        f"--include={_PACKAGES}",
        '--aptopt=Acquire::Languages "none"',
        # It need not outlast a crash of the machine.
        "--dpkgopt=force-unsafe-io",
        *(f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in _WITHOUT),
        f"--customize-hook={_HEADERS}",
        f"--customize-hook={_BYTECODE}",
        '--customize-hook=ln -s /usr/bin/python3 "$1/usr/local/bin/python"',
    ]
    scratch = into.with_suffix(".partial.tar")
    command = [shutil.which("mmdebstrap") or "mmdebstrap", *options, suite, str(scratch), _MIRROR]
    subprocess.run(command, check=True)  # noqa: S603 - ours
    scratch.replace(into)
