"""Puts prometheus and promtool from Debian's package into .venv/share/kube; no service is set up.

`python -m tests.outside.helm.prometheus`. Needs apt-get and dpkg; what is there already stays.
"""

import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.outside.helm.install import KUBE

PROMTOOL = KUBE / "promtool"
PROMETHEUS = KUBE / "prometheus"


def install() -> None:
    """Fetch what is missing. Ends the process with a message where that cannot be done."""
    if PROMTOOL.is_file() and PROMETHEUS.is_file():
        return
    if shutil.which("apt-get") is None or shutil.which("dpkg") is None:
        sys.exit(f"put promtool and prometheus 2.42 or newer into {KUBE}: there is no apt-get.")
    KUBE.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=KUBE) as directory:
        for command in (
            ["apt-get", "download", "--quiet", "prometheus"],
            ["sh", "-c", "dpkg -x prometheus_*.deb unpacked"],
        ):
            subprocess.run(command, cwd=directory, check=True)  # noqa: S603 - named above
        for program in (PROMTOOL, PROMETHEUS):
            (Path(directory) / "unpacked" / "usr" / "bin" / program.name).replace(program)


if __name__ == "__main__":
    install()
