"""A node with a pod and a host of the model; the sidecar's container as the injector makes it."""

import os
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from tests.fakes.llama import running_llama_at
from tests.fakes.upstream import ScriptedUpstream
from tests.outside.pod import hosts
from tests.outside.pod.application import SDKS
from tests.outside.pod.hosts import Host
from tests.outside.pod.sidecar import Sidecar, injected

PORT_OF_MODEL = 9000
MakeSidecar: TypeAlias = Callable[[], Sidecar]


@pytest.fixture(scope="session", autouse=True)
def _node() -> None:
    """Fails anywhere but in a namespace of our own."""
    links = Path("/proc/net/dev").read_text("ascii").splitlines()[2:]
    if [line.partition(":")[0].strip() for line in links] != ["lo"]:
        pytest.exit("This wants namespaces of its own: make pod-test", returncode=2)
    hosts.node()


@pytest.fixture(scope="session")
def pod(_node: None) -> Host:
    """Where app and sidecar are."""
    return hosts.host("pod", 2)


@pytest.fixture(scope="session")
def model_host(_node: None) -> Host:
    """Where the model is served."""
    return hosts.host("model", 3)


@pytest.fixture(scope="session")
def container() -> tuple[dict[str, Any], dict[str, str]]:
    """The sidecar's container, and the environment that the injector gave the app."""
    return injected()


@pytest.fixture(scope="session")
def llama(model_host: Host) -> Iterator[str]:
    """A real model's server on the model's host."""
    with running_llama_at(model_host.address, within=model_host.within) as url:
        yield url


@pytest.fixture
async def upstream(model_host: Host) -> AsyncIterator[ScriptedUpstream]:
    """The model's server, on a host of its own."""
    server = ScriptedUpstream()
    await server.start(model_host.listening(PORT_OF_MODEL))
    yield server
    await server.stop()


@pytest.fixture
def config_map(tmp_path: Path, model_host: Host) -> "ConfigMap":
    """The sidecar's configuration, as the kubelet mounts it."""
    mounted = ConfigMap(tmp_path / "config")
    mounted.swap(f"upstream: http://{model_host.address}:{PORT_OF_MODEL}\n")
    return mounted


@pytest.fixture
def sidecar(
    pod: Host,
    container: tuple[dict[str, Any], dict[str, str]],
    config_map: "ConfigMap",
    tmp_path: Path,
) -> MakeSidecar:
    """Makes sidecars that keep what they learn in one place."""
    return lambda: Sidecar(pod, container[0], config=config_map.directory, data=tmp_path / "data")


@pytest.fixture(params=SDKS)
def sdk(request: pytest.FixtureRequest) -> str:
    """Each of the official SDKs."""
    name: str = request.param
    return name


class ConfigMap:
    """A directory as the kubelet makes it: files are links through `..data`, which is swapped."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._generation = 0
        directory.mkdir()
        (directory / "reprise.yaml").symlink_to("..data/reprise.yaml")

    def swap(self, text: str) -> None:
        """Put another content in its place, at once, and take the former away."""
        former = self.directory / f"..{self._generation}"
        self._generation += 1
        new = self.directory / f"..{self._generation}"
        new.mkdir()
        (new / "reprise.yaml").write_text(text)
        link = self.directory / "..data_tmp"
        link.symlink_to(new.name)
        os.replace(link, self.directory / "..data")
        if former.exists():
            (former / "reprise.yaml").unlink()
            former.rmdir()
