"""The real proxy runs with what the chart renders: arguments, environment, and a mounted ConfigMap.

There is no kubelet here: these tests lay the volumes out as it does.
"""

import asyncio
import re
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.process import ProxyProcess
from tests.fakes.upstream import ScriptedUpstream
from tests.outside.helm.rendering import CASES, Rendered, template

SECONDS = 30.0


def rendered_for(upstream: str, *values: str) -> Rendered:
    """The defaults before an upstream, with some values, and without encoders, to begin soon."""
    given = [f"gateway.upstream={upstream}", "gateway.config.semantic.enabled=false", *values]
    arguments = [part for value in given for part in ("--set", value)]
    return Rendered(CASES[0], "1.33", template("helm4", "1.33", *arguments))


def mount(rendered: Rendered, directory: Path, serial: int) -> None:
    """The ConfigMap as kubelet shows it: a new directory, and a link renamed over `..data`."""
    (config,) = rendered.of("ConfigMap")
    (directory / f"..{serial}").mkdir(parents=True)
    for name, text in config["data"].items():
        (directory / f"..{serial}" / name).write_text(text, "utf-8")
        if not (directory / name).is_symlink():
            (directory / name).symlink_to(f"..data/{name}")
    (directory / "..data_tmp").symlink_to(f"..{serial}")
    (directory / "..data_tmp").rename(directory / "..data")


def container_of(rendered: Rendered) -> dict[str, Any]:
    """The gateway's container."""
    (deployment,) = rendered.of("Deployment")
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    found: dict[str, Any] = container
    return found


@pytest.fixture
async def upstream() -> AsyncIterator[ScriptedUpstream]:
    """An LLM server."""
    server = ScriptedUpstream()
    await server.start()
    yield server
    await server.stop()


@pytest.fixture
async def gateway(upstream: ScriptedUpstream, tmp_path: Path) -> AsyncIterator[ProxyProcess]:
    """The proxy with the container's arguments and environment, but for places and ports."""
    rendered = rendered_for(upstream.url)
    mount(rendered, tmp_path / "etc" / "reprise", 1)
    container = container_of(rendered)
    arguments = [
        argument.replace("/etc/reprise", str(tmp_path / "etc" / "reprise"))
        .replace("*:8080", "*:0")
        .replace("*:8081", "*:0")
        for argument in container["args"]
    ]
    environment = {item["name"]: item["value"] for item in container["env"]}
    assert environment == {"XDG_DATA_HOME": "/var/lib"}
    (tmp_path / "lib" / "reprise").mkdir(parents=True)
    here = {"XDG_DATA_HOME": str(tmp_path / "lib")}
    async with ProxyProcess(*arguments, environment=here) as process:
        await process.ready()
        yield process


async def test_a_changed_config_map_is_taken_over(
    gateway: ProxyProcess, upstream: ScriptedUpstream, tmp_path: Path
) -> None:
    directory = tmp_path / "etc" / "reprise"
    mount(rendered_for(upstream.url, "gateway.config.ttl.exact=1h"), directory, 2)
    assert (await gateway.logged("configuration applied"))["restart_required"] == []
    mount(rendered_for(upstream.url, "gateway.config.ttl.exact=2h"), directory, 3)
    assert (await gateway.logged("configuration applied", times=2))["problems"] == []


async def test_what_is_learnt_goes_to_the_mounted_directory(
    gateway: ProxyProcess, tmp_path: Path
) -> None:
    (mounted,) = (
        item["mountPath"]
        for item in container_of(rendered_for("http://a"))["volumeMounts"]
        if item["name"] == "data"
    )
    assert mounted == "/var/lib/reprise"
    assert (tmp_path / "lib" / "reprise" / "entries.sqlite").exists()


@pytest.mark.parametrize("name", ["ready", "request"])
async def test_a_pod_of_helm_test_passes(gateway: ProxyProcess, name: str) -> None:
    (pod,) = rendered_for("http://a").of("Pod", f"reprise-test-{name}")
    (container,) = pod["spec"]["containers"]
    (program,) = container["args"]
    places = {
        "reprise-admin.apps.svc:8081": gateway.admin_url,
        "reprise.apps.svc:8080": gateway.url,
    }
    for place, url in places.items():
        program = program.replace(f"http://{place}", re.sub(r"\[::\]", "127.0.0.1", url))
    assert ".svc" not in program
    assert await asked(program) == 0


async def test_a_pod_of_helm_test_fails_where_the_upstream_does(
    gateway: ProxyProcess, upstream: ScriptedUpstream
) -> None:
    await upstream.stop()
    (pod,) = rendered_for("http://a").of("Pod", "reprise-test-request")
    (program,) = pod["spec"]["containers"][0]["args"]
    here = re.sub(r"\[::\]", "127.0.0.1", gateway.url)
    assert await asked(program.replace("http://reprise.apps.svc:8080", here)) == 1


async def asked(program: str) -> int:
    """How a program of a test's pod ends."""
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", program)
    async with asyncio.timeout(SECONDS):
        return await process.wait()
