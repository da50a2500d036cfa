"""The sidecar as the injector puts it into a pod, run as a process on the pod's host."""

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

from proxy.k8s.names import ADMIN_PORT, CONFIG_DIRECTORY
from tests.fakes.client import call
from tests.fakes.process import ProxyProcess
from tests.outside.pod.hosts import Host

STARTS_WITHIN = 30.0
"""Seconds."""
PERIOD = 0.05
"""Seconds between two probes; the kubelet takes its time."""
POD = """
apiVersion: v1
kind: Pod
metadata: {name: app, annotations: {reprise.dev/config-map: app-cache}}
spec:
  containers: [{name: app, image: app}]
"""


def injected() -> tuple[dict[str, Any], dict[str, str]]:
    """The sidecar's container, and the environment of the app beside it."""
    done = subprocess.run(
        [sys.executable, "-m", "proxy", "inject", "render", "-", "--image", "reprise:dev"],
        input=POD.encode(),
        check=True,
        stdout=subprocess.PIPE,
    )
    spec = yaml.safe_load(done.stdout)["spec"]
    (sidecar,) = spec["initContainers"]
    (app,) = spec["containers"]
    return sidecar, {entry["name"]: entry["value"] for entry in app["env"]}


class Sidecar(ProxyProcess):
    """Run by the arguments of the injected container; its mounts are directories here."""

    def __init__(self, pod: Host, container: dict[str, Any], *, config: Path, data: Path) -> None:
        arguments = [
            argument.replace(CONFIG_DIRECTORY, str(config)) for argument in container["args"]
        ]
        super().__init__(*arguments, environment={"XDG_DATA_HOME": str(data)}, within=pod.within)
        self._pod = pod
        self._probe = container["startupProbe"]["httpGet"]["path"]

    async def started(self) -> None:
        """Wait as the kubelet does: from the node, until the probe succeeds."""
        async with asyncio.timeout(STARTS_WITHIN):
            while not await self._has_started():  # noqa: ASYNC110 - as the kubelet does
                await asyncio.sleep(PERIOD)

    async def figure(self, name: str) -> float:
        """The sum of a metric over its labels, as Prometheus gets it from the node."""
        response = await call(self._seen_from_the_node, "GET", "/metrics")
        lines = response.body.decode().splitlines()
        values = [line.split()[-1] for line in lines if line.startswith((f"{name} ", f"{name}{{"))]
        return sum(map(float, values))

    @property
    def _seen_from_the_node(self) -> str:
        return f"http://{self._pod.address}:{ADMIN_PORT}"

    async def _has_started(self) -> bool:
        try:
            return (await call(self._seen_from_the_node, "GET", self._probe)).status == 200
        except OSError:
            return False
