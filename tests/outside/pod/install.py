"""Puts the official Node SDK into .venv/share/node.

`python -m tests.outside.pod.install`. Needs npm, root and iproute2 (which it installs by
apt-get); what is there already stays.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
MODULES = Path(os.environ.get("REPRISE_NODE", ROOT / ".venv" / "share" / "node"))
"""Where the Node SDK is, or is to be."""
SDK = "openai@7.59.0"


def install() -> None:
    """Fetch what is missing. Ends the process with a message where that cannot be done."""
    if os.geteuid() != 0:
        sys.exit("make pod-test wants to be root: it makes network namespaces of its own.")
    if shutil.which("ip") is None:
        _do("apt-get", "update", "-qq")
        _do("apt-get", "install", "-y", "-qq", "--no-install-recommends", "iproute2")
    if (MODULES / "node_modules" / "openai").is_dir():
        return
    if shutil.which("npm") is None:
        sys.exit("npm is needed to fetch the Node SDK: install Node.js 20 or newer.")
    MODULES.mkdir(parents=True, exist_ok=True)
    _do(
        "npm",
        "install",
        "--no-audit",
        "--no-fund",
        "--ignore-scripts",
        "--prefix",
        str(MODULES),
        SDK,
    )


def _do(*command: str) -> None:
    subprocess.run(command, check=True)  # noqa: S603 - named above


if __name__ == "__main__":
    install()
