"""What an application in a pod sees, whichever SDK it has, told nothing but OPENAI_BASE_URL."""

import asyncio
import signal
from typing import Any

import pytest

from proxy.k8s.names import ADMIN_PORT, PORT
from tests.fakes.answers import chat_answer, chat_stream
from tests.fakes.client import call, connect
from tests.fakes.upstream import ScriptedUpstream, error_reply, json_reply, sse_reply
from tests.outside.pod.application import running
from tests.outside.pod.conftest import PORT_OF_MODEL, ConfigMap, MakeSidecar
from tests.outside.pod.hosts import Host

PIECES = ["bis", " zum", " Ende 完"]
FRAMES = chat_stream(PIECES)
WHY = "Why is the sky blue?"
SUM = "2 + 2 = ?"
"""The small model ends its answer to this one, at temperature 0."""


@pytest.fixture
def environment(container: tuple[Any, dict[str, str]]) -> dict[str, str]:
    """What the injector set for the app."""
    assert set(container[1]) == {"OPENAI_BASE_URL"}
    return container[1]


async def test_the_app_is_answered_again_in_either_shape(
    sdk: str,
    pod: Host,
    environment: dict[str, str],
    sidecar: MakeSidecar,
    upstream: ScriptedUpstream,
) -> None:
    upstream.will(json_reply(chat_answer("Rayleigh"), fields=[("x-request-id", "theirs")]))
    async with sidecar() as process, running(sdk, pod, environment) as app:
        await process.started()
        first = await app.ask(WHY)
        assert first["text"] == "Rayleigh"
        assert first["request_id"] == "theirs"
        assert "fwd=miss" in first["cache_status"]
        again = await app.ask(WHY)
        assert again["text"] == "Rayleigh"
        assert "hit" in again["cache_status"]
        assert again["request_id"] not in {None, "theirs"}
        assert (await app.ask(WHY, stream=True))["text"] == "Rayleigh"
        assert upstream.calls == 1
        assert upstream.requests[0].header("Authorization") == "Bearer key-of-the-app"

        upstream.will(sse_reply(*FRAMES))
        streamed = await app.ask("And at night?", stream=True)
        assert streamed["text"] == "".join(PIECES)
        assert (await app.ask("And at night?"))["text"] == "".join(PIECES)
        assert upstream.calls == 2


async def test_the_app_meets_a_real_model(
    sdk: str,
    pod: Host,
    environment: dict[str, str],
    sidecar: MakeSidecar,
    config_map: ConfigMap,
    llama: str,
) -> None:
    config_map.swap(f"upstream: {llama}\n")
    async with sidecar() as process, running(sdk, pod, environment) as app:
        await process.started()
        streamed = await app.ask(SUM, stream=True)
        again = await app.ask(SUM)
    assert streamed["text"]
    assert again["text"] == streamed["text"]
    assert "hit" in again["cache_status"]


async def test_an_app_that_comes_first_waits_by_its_own_attempts(
    sdk: str,
    pod: Host,
    environment: dict[str, str],
    sidecar: MakeSidecar,
    upstream: ScriptedUpstream,
) -> None:
    """As beside a classic sidecar, which has no order."""
    async with running(sdk, pod, environment) as app:
        refused = await app.ask(WHY)
        assert refused["error"]["kind"] == "APIConnectionError"
        async with sidecar() as process:
            await process.started()
            assert (await app.ask(WHY))["text"] == "answer 1"


async def test_the_sidecar_is_up_before_the_model_is(
    sdk: str, pod: Host, model_host: Host, environment: dict[str, str], sidecar: MakeSidecar
) -> None:
    async with sidecar() as process, running(sdk, pod, environment) as app:
        await process.started()
        failed = (await app.ask(WHY))["error"]
        assert (failed["status"], failed["code"]) == (502, "upstream_unreachable")
        assert failed["request_id"]
        async with ScriptedUpstreamAt(model_host):
            assert (await app.ask(WHY))["text"] == "answer 1"


async def test_what_is_known_outlives_the_model_and_a_restart_of_it_is_survived(
    sdk: str, pod: Host, model_host: Host, environment: dict[str, str], sidecar: MakeSidecar
) -> None:
    async with sidecar() as process, running(sdk, pod, environment) as app:
        await process.started()
        async with ScriptedUpstreamAt(model_host) as upstream:
            assert (await app.ask(WHY))["text"] == "answer 1"
            # Connections are kept and die with the server.
            assert upstream.calls == 1
        assert "hit" in (await app.ask(WHY, stream=True))["cache_status"]
        assert (await app.ask("And at night?"))["error"]["status"] == 502
        async with ScriptedUpstreamAt(model_host):
            assert (await app.ask("And at night?"))["text"] == "answer 1"


async def test_the_end_of_the_pod_cuts_no_stream_and_keeps_what_is_known(
    sdk: str,
    pod: Host,
    environment: dict[str, str],
    sidecar: MakeSidecar,
    upstream: ScriptedUpstream,
) -> None:
    gate = asyncio.Event()
    upstream.will(sse_reply(FRAMES[0], gate, *FRAMES[1:]))
    async with sidecar() as process, running(sdk, pod, environment) as app:
        await process.started()
        await app.begin(WHY, stream=True)
        assert await app.told() == {"begun": True}
        process.signal(signal.SIGTERM)
        assert (await process.logged("draining"))["requests"] == 1
        gate.set()
        assert (await app.told())["text"] == "".join(PIECES)
        assert await process.wait() == 0
    async with sidecar() as process, running(sdk, pod, environment) as app:
        await process.started()
        assert "hit" in (await app.ask(WHY))["cache_status"]


async def test_errors_are_the_upstreams_own(
    sdk: str,
    pod: Host,
    environment: dict[str, str],
    sidecar: MakeSidecar,
    upstream: ScriptedUpstream,
) -> None:
    async with sidecar() as process, running(sdk, pod, environment) as app:
        await process.started()
        upstream.will(error_reply(400, fields=[("x-request-id", "bad")]))
        assert (await app.ask(WHY))["error"] == {
            "kind": "BadRequestError",
            "status": 400,
            "code": None,
            "request_id": "bad",
        }
        assert upstream.calls == 1
        # Both SDKs wait as long as they are told, and ask again.
        upstream.will(error_reply(429, fields=[("retry-after-ms", "20")]), error_reply(503))
        assert (await app.ask(WHY))["text"] == "answer 4"
        assert upstream.calls == 4


async def test_a_swapped_config_map_is_taken_over_each_time(
    sdk: str,
    pod: Host,
    model_host: Host,
    environment: dict[str, str],
    sidecar: MakeSidecar,
    config_map: ConfigMap,
    upstream: ScriptedUpstream,
) -> None:
    async with sidecar() as process, running(sdk, pod, environment) as app:
        await process.started()
        url = f"http://{model_host.address}:{PORT_OF_MODEL}"
        for time in (1, 2, 3):
            assert (await app.ask(WHY))["text"] == f"answer {time}"
            assert "hit" in (await app.ask(WHY))["cache_status"]
            config_map.swap(f"upstream: {url}\npolicy: {{epoch: e{time}}}\n")
            await process.logged("configuration applied", times=time)
        config_map.swap("upstreem: nowhere\n")
        await process.logged("configuration failed")
        assert (await app.ask(WHY))["text"] == "answer 4"
        assert await process.figure("reprise_config_last_reload_successful") == 0


async def test_the_node_reaches_probes_and_metrics_and_nothing_else(
    pod: Host, sidecar: MakeSidecar, container: tuple[dict[str, Any], Any]
) -> None:
    async with sidecar() as process:
        await process.started()
        node = f"http://{pod.address}:{ADMIN_PORT}"
        for probe in ("startupProbe", "livenessProbe"):
            path = container[0][probe]["httpGet"]["path"]
            assert (await call(node, "GET", path)).status == 200
        assert await process.figure("reprise_build_info") == 1
        assert (await call(node, "POST", "/admin/purge", body=b'{"all": true}')).status in {
            401,
            403,
        }
        with pytest.raises(ConnectionRefusedError):
            async with connect(f"http://{pod.address}:{PORT}"):
                pass


class ScriptedUpstreamAt(ScriptedUpstream):
    """On the model's host for as long as the block takes."""

    def __init__(self, host: Host) -> None:
        super().__init__()
        self._host = host

    async def __aenter__(self) -> "ScriptedUpstreamAt":
        await self.start(self._host.listening(PORT_OF_MODEL))
        return self
