"""The built image, and containers of it that crun runs, as strict as a cluster may be."""

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from signal import Signals
from typing import Any

from tests.fakes.process import ProxyProcess
from tests.outside.image.build import buildah, run

OWN = ("pid", "ipc", "uts", "mount")
"""Namespaces of a container. Its network is the tests' own, which has loopback only."""
_MASKED = ["/proc/kcore", "/proc/keys", "/proc/latency_stats", "/proc/timer_list"]
_READ_ONLY = ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"]


@dataclass(frozen=True, slots=True)
class Image:
    """An image of buildah's, mounted."""

    tag: str
    root: Path
    config: dict[str, Any]
    """What it says of how it is to be run, as Docker has it."""
    layers: list[str]

    @classmethod
    def mount(cls, tag: str) -> "Image":
        """Mount one; `unmount` takes it away again. Raises CalledProcessError."""
        run(buildah("from", "--pull=never", "--name", _working(tag), tag))
        root = run(buildah("mount", _working(tag))).strip()
        told = json.loads(run(buildah("inspect", "--type", "image", tag)))
        layers = told["OCIv1"]["rootfs"]["diff_ids"]
        return cls(tag, Path(root), told["Docker"]["config"], layers)

    def unmount(self) -> None:
        """Leave nothing of it but the image."""
        run(buildah("umount", _working(self.tag)))
        run(buildah("rm", _working(self.tag)))

    @property
    def user(self) -> int:
        """The number of the user that it is run as."""
        return int(self.config["User"].partition(":")[0])


class Container(ProxyProcess):
    """`docker run --read-only --cap-drop=ALL --network=none ...`, and what it prints."""

    def __init__(
        self, image: Image, name: str, *arguments: str, bundle: Path, binds: dict[str, Path]
    ) -> None:
        """`binds` are directories of this machine by their places in the container."""
        super().__init__()
        self._name = name
        self._user = image.config["User"]
        self._crun = ("crun", "--cgroup-manager=disabled", "--root", str(bundle.parent / "state"))
        self._command = (*self._crun, "run", "--bundle", str(bundle), name)
        bundle.mkdir()
        (bundle / "config.json").write_text(json.dumps(_specification(image, arguments, binds)))

    def signal(self, number: Signals) -> None:
        """Send its first process a signal."""
        self._do("kill", self._name, str(int(number)))

    def run(self, *command: str) -> "subprocess.CompletedProcess[str]":
        """Run a program beside its first process, as `kubectl exec` does."""
        return self._do("exec", "--user", self._user, self._name, *command)

    def resident_bytes(self) -> int:
        """The memory of its first process, as the kernel counts it."""
        pid = json.loads(self._do("state", self._name).stdout)["pid"]
        for line in Path(f"/proc/{pid}/status").read_text("ascii").splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
        raise AssertionError("a process without memory")

    def _do(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        command = [*self._crun, *arguments]
        return subprocess.run(command, check=False, capture_output=True, text=True)  # noqa: S603 - ours


def run_once(
    image: Image, *arguments: str, bundle: Path, stdin: str = ""
) -> "subprocess.CompletedProcess[str]":
    """`docker run --rm -i IMAGE ...`; waits until it has ended."""
    bundle.mkdir()
    (bundle / "config.json").write_text(json.dumps(_specification(image, arguments, {})))
    state = str(bundle.parent / "state")
    command = ["crun", "--cgroup-manager=disabled", "--root", state, "run", "--bundle", str(bundle)]
    environment = {"PATH": os.environ["PATH"]}
    return subprocess.run(  # noqa: S603 - ours
        [*command, bundle.name],
        check=False,
        capture_output=True,
        text=True,
        env=environment,
        input=stdin,
    )


def _working(tag: str) -> str:
    return f"test-{tag.replace(':', '-')}"


def _specification(
    image: Image, arguments: tuple[str, ...], binds: dict[str, Path]
) -> dict[str, Any]:
    """What the image says, and what a restricted namespace of a cluster says, for a runtime."""
    sets = ("bounding", "effective", "inheritable", "permitted", "ambient")
    hidden = {"nosuid", "nodev", "noexec"}
    return {
        "ociVersion": "1.0.2",
        "process": {
            "user": {"uid": image.user, "gid": int(image.config["User"].partition(":")[2])},
            "args": [*image.config["Entrypoint"], *(arguments or image.config["Cmd"])],
            "env": image.config["Env"],
            "cwd": image.config["WorkingDir"],
            "capabilities": {name: [] for name in sets},
            "noNewPrivileges": True,
        },
        "root": {"path": str(image.root), "readonly": True},
        "hostname": "reprise",
        "mounts": [
            _mount("/proc", "proc"),
            _mount("/dev", "tmpfs", "nosuid", "mode=755"),
            _mount("/tmp", "tmpfs", "nosuid", "nodev", "mode=1777"),  # noqa: S108 - the container's
            *(
                {"destination": place, "source": str(source), "options": ["bind", "rw", *hidden]}
                for place, source in binds.items()
            ),
        ],
        "linux": {
            "namespaces": [{"type": name} for name in OWN],
            "maskedPaths": _MASKED,
            "readonlyPaths": _READ_ONLY,
        },
    }


def _mount(place: str, kind: str, *options: str) -> dict[str, Any]:
    return {"destination": place, "type": kind, "source": kind, "options": list(options)}
