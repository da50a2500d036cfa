"""`reprise inject serve` as a process."""

import signal
from collections.abc import Callable
from pathlib import Path

import aiohttp
import orjson
import pytest

from tests.fakes.client import call
from tests.fakes.process import ProxyProcess
from tests.k8s.certificates import NAME, Issued, issued
from tests.k8s.reviews import of_1_36

Serving = Callable[..., ProxyProcess]


@pytest.fixture(scope="module")
def own() -> Issued:
    return issued()


@pytest.fixture
def serving(tmp_path: Path, own: Issued) -> Serving:
    (tmp_path / "tls.crt").write_bytes(own.certificate)
    (tmp_path / "tls.key").write_bytes(own.key)

    def make(*arguments: str) -> ProxyProcess:
        return ProxyProcess(
            *("inject", "serve", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"),
            *("--tls-cert", str(tmp_path / "tls.crt"), "--tls-key", str(tmp_path / "tls.key")),
            *arguments,
        )

    return make


async def reviewed(process: ProxyProcess, trusted: Issued) -> dict[str, object]:
    async with (
        aiohttp.ClientSession() as session,
        session.post(
            f"{process.url}/mutate",
            data=orjson.dumps(of_1_36()),
            ssl=trusted.client(),
            server_hostname=NAME,
        ) as response,
    ):
        assert response.status == 200
        told = orjson.loads(await response.read())
    return dict(told["response"])


async def test_it_answers_reviews_and_ends_well(serving: Serving, own: Issued) -> None:
    async with serving("--upstream", "http://llm", "--namespace", "reprise") as process:
        await process.logged("certificate taken")
        assert (await call(process.admin_url, "GET", "/readyz")).status == 200
        assert "patch" in await reviewed(process, own)
        told = await process.logged("admission")
        assert (told["result"], told["reason"], told["pod"]) == (
            "injected",
            "native",
            "nightly-29301200-",
        )
        process.signal(signal.SIGTERM)
        assert await process.wait() == 0
        assert process.events("stopped")
    assert process.stderr == ""


async def test_what_the_command_line_says_is_followed(serving: Serving, own: Issued) -> None:
    async with serving("--upstream", "http://llm", "--classic") as process:
        await process.logged("certificate taken")
        assert "patch" not in await reviewed(process, own)
        assert (await process.logged("admission"))["reason"] == "classic-job"
    async with serving("--upstream", "http://llm", "--namespace", "apps") as process:
        await process.logged("certificate taken")
        await reviewed(process, own)
        assert (await process.logged("admission"))["reason"] == "own-namespace"


async def test_a_taken_port_is_named(serving: Serving) -> None:
    async with serving() as one:
        taken = one.admin_url.removeprefix("http://")
        other = serving("--admin-listen", taken)
        await other.start()
        assert await other.wait() == 2
        await other.stop()
    assert f"Cannot listen on --admin-listen {taken}: Address already in use" in other.stderr
