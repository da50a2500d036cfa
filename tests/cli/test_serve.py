"""`reprise serve` as a process: what it says, and how it ends when it cannot begin."""

from pathlib import Path

import pytest

from tests.conftest import Serve
from tests.fakes.client import ask, call, connect
from tests.fakes.process import ProxyProcess
from tests.fakes.upstream import ScriptedUpstream


async def failed(process: ProxyProcess) -> str:
    """Wait for the end of a process that cannot begin; what it says on standard error."""
    await process.start()
    try:
        assert await process.wait() == 2
    finally:
        await process.stop()
    return process.stderr


async def test_it_serves_and_says_where(serve: Serve, upstream: ScriptedUpstream) -> None:
    async with serve("--upstream", upstream.url) as process:
        assert process.url != process.admin_url
        first = await ask(process.url)
        again = await ask(process.url)
        assert again.is_hit
        assert again.body == first.body
        assert (await call(process.admin_url, "GET", "/livez")).status == 200
        logged = await process.logged("request", times=2)
        assert (logged["status"], logged["cache"], logged["operation"]) == (200, "exact", "chat")
    assert process.stderr == ""


async def test_the_command_line_wins_over_the_file(
    serve: Serve, upstream: ScriptedUpstream, tmp_path: Path
) -> None:
    file = tmp_path / "reprise.yaml"
    file.write_text("upstream: http://127.0.0.1:9\nlisten: 127.0.0.1:1\n")
    async with serve("--config", str(file), "--upstream", upstream.url) as process:
        assert (await ask(process.url)).status == 200


async def test_the_environment_is_substituted(
    serve: Serve, upstream: ScriptedUpstream, tmp_path: Path
) -> None:
    file = tmp_path / "reprise.yaml"
    file.write_text("upstream: ${UPSTREAM_URL}\n")
    environment = {"UPSTREAM_URL": upstream.url}
    async with serve("--config", str(file), environment=environment) as process:
        assert (await ask(process.url)).status == 200


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((), "upstream"),
        (("--upstream", "127.0.0.1:80"), "command line: upstream: a URL begins with http://"),
        (("--upstream", "http://h", "--config", "/nowhere/reprise.yaml"), "/nowhere/reprise.yaml"),
        (("--upstream", "http://h", "--listen", "nonsense"), "nonsense"),
        (("--upstream", "http://h", "--log-level", "loud"), "command line: log.level: must be"),
    ],
    ids=["no upstream", "no scheme", "no file", "no address", "no level"],
)
async def test_what_it_cannot_use_is_named(
    serve: Serve, arguments: tuple[str, ...], told: str
) -> None:
    assert told in await failed(serve(*arguments))


async def test_a_taken_port_is_named(serve: Serve, upstream: ScriptedUpstream) -> None:
    address = upstream.url.removeprefix("http://")
    told = await failed(serve("--upstream", upstream.url, "--listen", address))
    assert "Cannot listen" in told
    assert address.partition(":")[2] in told


async def test_what_is_not_http_is_refused_without_a_word_in_the_log(
    serve: Serve, upstream: ScriptedUpstream
) -> None:
    async with serve("--upstream", upstream.url) as process:
        for head in (b"\x16\x03\x01", b"GET / HTTP/1.1\r\nAuthoriz\xe9tion: sk-secret\r\n\r\n"):
            async with connect(process.url) as client:
                await client.write(head + b"\r\n\r\n")
                assert b" 400 " in await client.closed()
        assert (await ask(process.url)).status == 200
        await process.logged("request")
        assert process.stderr == ""
        assert "sk-secret" not in process.stdout


async def test_a_url_of_redis_with_an_option_that_is_none_ends_with_its_remedy(
    serve: Serve, tmp_path: Path
) -> None:
    file = tmp_path / "reprise.yaml"
    file.write_text('persist: {redis: {url: "redis://:geheim@127.0.0.1:1/0?foo=1"}}')
    process = serve("--upstream", "http://127.0.0.1:1", "--config", str(file))
    await process.start()
    assert await process.wait() == 2
    await process.stop()
    assert "persist.redis.url has an option" in process.stderr
    assert "geheim" not in process.stdout + process.stderr
