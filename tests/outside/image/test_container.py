"""The image runs without a network, without rights, and with a root that cannot be written."""

import asyncio
import json
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from proxy.cli.main import COMMANDS
from tests.fakes.answers import chat_stream
from tests.fakes.client import CHAT, Answer, ask, call, connect, posting, question
from tests.fakes.process import DEADLINE
from tests.fakes.upstream import ScriptedUpstream, sse_reply
from tests.outside.image.conftest import Note, Start
from tests.outside.image.container import Container, Image, run_once

TOKEN = "admin-token"
PATIENT = "semantic: {deadline: 10s}"
"""A busy machine shall not decide what is found."""
REWORDED = {
    "English": ("What is the capital city of Peru?", "Which city is the capital of Peru?"),
    "Chinese": ("怎么重置密码？", "请问如何重置密码？"),
}
FRAMES = chat_stream(["bis", " zum", " Ende 完"])
CONFIG = ("--config", "/etc/reprise/reprise.yaml")
HELP = """
from click.testing import CliRunner
from proxy.cli.main import COMMANDS, main
for name in sorted(COMMANDS):
    assert CliRunner().invoke(main, [name, "--help"]).exit_code == 0, name
    print(name)
"""
WRITES = """
import os
for top, folders, _ in os.walk("/"):
    folders[:] = [name for name in folders if os.path.join(top, name) not in ("/proc", "/dev")]
    try:
        with open(os.path.join(top, "written"), "w"):
            print(top)
    except OSError:
        pass
"""


def detail(answer: Answer) -> str:
    """What Cache-Status says in particular."""
    return answer.cache.partition("detail=")[2]


def settings(directory: Path, upstream: ScriptedUpstream, more: str = PATIENT) -> Path:
    """A directory with a configuration, laid out as a ConfigMap's volume."""
    directory.mkdir(exist_ok=True)
    number = len(list(directory.iterdir()))
    version = directory / f"..{number}"
    version.mkdir()
    text = f"upstream: {upstream.url}\nadmin: {{token: {TOKEN}}}\n{more}\n"
    (version / "reprise.yaml").write_text(text)
    (directory / "..next").symlink_to(version.name)
    (directory / "..next").rename(directory / "..data")
    if not (directory / "reprise.yaml").is_symlink():
        (directory / "reprise.yaml").symlink_to("..data/reprise.yaml")
    return directory


async def metric(container: Container, name: str) -> float:
    """One without labels, as a scrape sees it."""
    page = await call(container.admin_url, "GET", "/metrics")
    for line in page.body.decode().splitlines():
        if line.startswith(f"reprise_{name} "):
            return float(line.split()[1])
    raise AssertionError(name)


async def becomes(container: Container, name: str, is_so: Callable[[float], bool]) -> None:
    """Wait until a metric is as it should be."""
    async with asyncio.timeout(DEADLINE):
        while not is_so(await metric(container, name)):  # noqa: ASYNC110 - nothing tells of it
            await asyncio.sleep(0.05)


async def test_it_serves_by_key_and_by_meaning_without_a_network(
    start: Start, upstream: ScriptedUpstream, tmp_path: Path, note: Note
) -> None:
    config = settings(tmp_path / "config", upstream)
    loop = asyncio.get_running_loop()
    began = loop.time()
    async with start("serve", *CONFIG, config=config) as container:
        note("start to listening", f"{loop.time() - began:.2f} s")
        await container.ready()
        note("start to ready", f"{loop.time() - began:.2f} s")
        first, _ = REWORDED["English"]
        assert not (await ask(container.url, question(first))).is_hit
        again = await ask(container.url, question(first))
        note("start to first hit", f"{loop.time() - began:.2f} s")
        assert detail(again) == "exact"
        # The first text of its script has the other encoder loaded.
        await ask(container.url, question(REWORDED["Chinese"][0]))
        await becomes(container, "semantic_entries", lambda count: count == 2)
        calls = upstream.calls
        for language, (_, reworded) in REWORDED.items():
            answer = await ask(container.url, question(reworded))
            assert detail(answer) == "semantic", language
        assert upstream.calls == calls
        note("memory, both encoders", f"{container.resident_bytes() / 1e6:.0f} MB resident")


async def test_it_has_no_rights(start: Start, upstream: ScriptedUpstream) -> None:
    async with start("serve", "--upstream", upstream.url) as container:
        told = container.run("python", "-c", "print(open('/proc/1/status').read())").stdout
        status = dict(line.split(":\t", 1) for line in told.splitlines() if ":\t" in line)
        assert status["Uid"].split() == status["Gid"].split() == ["65532"] * 4
        assert {status[f"Cap{kind}"] for kind in ("Inh", "Prm", "Eff", "Bnd", "Amb")} == {"0" * 16}
        assert status["NoNewPrivs"] == "1"


async def test_only_its_two_places_are_written(start: Start, upstream: ScriptedUpstream) -> None:
    async with start("serve", "--upstream", upstream.url) as container:
        written = set(container.run("python", "-c", WRITES).stdout.split())
        assert written == {"/tmp", "/var/lib/reprise"}  # noqa: S108 - the container's


async def test_the_health_check_tells_who_is_well(
    start: Start, upstream: ScriptedUpstream, image: Image
) -> None:
    check = image.config["Healthcheck"]["Test"][1:]
    async with start("serve", "--upstream", upstream.url) as container:
        await container.ready()
        well = container.run(*check)
        assert (well.returncode, well.stdout) == (0, "ok\n")
        other = container.run(*check, "--admin-url", "http://127.0.0.1:9")
        assert other.returncode == 1
        assert "no proxy answers at http://127.0.0.1:9" in other.stderr


async def test_what_was_learnt_outlasts_the_container(
    start: Start, upstream: ScriptedUpstream, data: Path
) -> None:
    for hits in (False, True):
        async with start("serve", "--upstream", upstream.url, data=data) as container:
            await container.ready()
            assert (await ask(container.url, question())).is_hit is hits
    assert upstream.calls == 1


async def test_a_changed_configuration_is_taken_over(
    start: Start, upstream: ScriptedUpstream, tmp_path: Path
) -> None:
    config = settings(tmp_path / "config", upstream)
    async with start("serve", *CONFIG, config=config) as container:
        await container.ready()
        for times in (1, 2, 3):
            settings(config, upstream, f"ttl: {{exact: {times}h}}")
            await container.logged("configuration applied", times=times)
        assert await metric(container, "config_last_reload_successful") == 1


async def test_a_stream_under_way_ends_whole(start: Start, upstream: ScriptedUpstream) -> None:
    gate = asyncio.Event()
    upstream.will(sse_reply(FRAMES[0], gate, *FRAMES[1:]))
    async with start("serve", "--upstream", upstream.url) as container:
        async with connect(container.url) as client:
            await client.send("POST", CHAT, fields=posting(), body=question(stream=True))
            await client.head()
            container.signal(signal.SIGTERM)
            await container.logged("draining")
            gate.set()
            assert await client.rest() == b"".join(FRAMES)
        assert await container.wait() == 0


async def test_it_runs_without_models_by_key_only(
    start: Start, upstream: ScriptedUpstream, image_without_models: Image
) -> None:
    async with start("serve", "--upstream", upstream.url, of=image_without_models) as container:
        await container.ready()
        await ask(container.url, question())
        assert detail(await ask(container.url, question())) == "exact"


def test_every_command_is_whole(image: Image, tmp_path: Path) -> None:
    """Nothing that a command loads was left out."""
    asking = Image(image.tag, image.root, image.config | {"Entrypoint": ["python", "-c", HELP]}, [])
    told = run_once(asking, "-", bundle=tmp_path / "help")
    assert told.stdout.split() == sorted(COMMANDS)
    assert (told.returncode, told.stderr) == (0, "")


def test_its_models_are_whole(image: Image, tmp_path: Path) -> None:
    told = run_once(image, "models", "verify", "--json", bundle=tmp_path / "models")
    names = {model["name"] for model in json.loads(told.stdout)["models"] if model["ok"]}
    assert names == {"all-minilm-l6-v2", "multilingual-e5-small"}


def test_it_puts_sidecars_into_manifests(image: Image, tmp_path: Path) -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "app"}}
    pod["spec"] = {"containers": [{"name": "app", "image": "app"}]}
    command = ("inject", "render", "-", "--upstream", "http://llm:8000")
    told = run_once(image, *command, bundle=tmp_path / "inject", stdin=json.dumps(pod))
    assert (told.returncode, told.stderr) == (0, "")
    assert "OPENAI_BASE_URL" in told.stdout
    assert "127.0.0.1:11480" in told.stdout


def test_without_an_upstream_it_says_what_is_missing(image: Image, tmp_path: Path) -> None:
    told = run_once(image, bundle=tmp_path / "bare")
    assert told.returncode == 2
    assert "upstream" in told.stderr


@pytest.mark.parametrize("command", [("models", "prepare"), ("models", "pull", "a/b")])
def test_what_is_left_out_is_named(image: Image, tmp_path: Path, command: tuple[str, ...]) -> None:
    pinned = ("--revision", "0" * 40) if "pull" in command else ("--force",)
    told = run_once(image, *command, *pinned, bundle=tmp_path / "left-out")
    assert told.returncode == 1
    assert "pip install" in told.stderr
