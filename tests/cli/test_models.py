"""`reprise models` prepares, lists and checks, and says what is wrong."""

import asyncio
import os
import sys
from pathlib import Path

import orjson
import pytest
from click.testing import CliRunner, Result

from proxy.cli.models import models as command
from proxy.semantic import manifest
from proxy.semantic.models import E5, MINILM
from tests.fakes.hub import COMMIT, REPOSITORY, running_hub
from tests.fakes.models import prepared_models
from tests.semantic import tiny


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """An empty directory of models."""
    return tmp_path / "models"


def run(place: Path, *arguments: str, **environment: str) -> Result:
    environment = {"REPRISE_MODELS": str(place), "COLUMNS": "200", **environment}
    return CliRunner().invoke(command, arguments, env=environment)


def told(result: Result) -> dict[str, object]:
    found: dict[str, object] = orjson.loads(result.stdout.splitlines()[-1])
    return found


def test_list_tells_what_is_installed_and_what_is_prepared(place: Path) -> None:
    tiny.prepared(place / "mine")
    (tiny.prepared(place / "torn") / manifest.FILE).write_bytes(b"{")
    result = run(place, "list", "--json")
    assert result.exit_code == 0
    found = orjson.loads(result.stdout)
    assert found["directory"] == str(place)
    assert {model["name"]: model["state"] for model in found["models"]} == {
        MINILM.name: "installed",
        E5.name: "installed",
        "mine": "prepared",
        "torn": "damaged",
    }
    mine = next(model for model in found["models"] if model["name"] == "mine")
    assert mine["identity"].startswith("mine@")


def test_list_is_a_table_for_people(place: Path) -> None:
    result = run(place, "list")
    assert result.exit_code == 0
    assert MINILM.name in result.stdout
    assert f"prepared models are in {place}" in result.stdout


def test_named_directory_wins_over_the_environment(place: Path, tmp_path: Path) -> None:
    tiny.prepared(tmp_path / "other" / "mine")
    result = run(place, "list", "--json", "--models", str(tmp_path / "other"))
    assert orjson.loads(result.stdout)["directory"] == str(tmp_path / "other")


def test_packaged_model_is_prepared_once(place: Path) -> None:
    result = run(place, "prepare", MINILM.name)
    assert result.exit_code == 0
    assert result.stdout.startswith(f"{MINILM.name}: {MINILM.name}@")
    written = (place / MINILM.name).stat().st_mtime_ns
    assert run(place, "prepare", MINILM.name).stdout == result.stdout
    assert (place / MINILM.name).stat().st_mtime_ns == written
    assert run(place, "prepare", MINILM.name, "--force").exit_code == 0
    assert (place / MINILM.name).stat().st_mtime_ns != written


def test_without_names_all_installed_models_are_prepared() -> None:
    result = run(prepared_models(), "prepare", "--json")
    assert result.exit_code == 0
    found = orjson.loads(result.stdout)
    assert found["ok"]
    assert [model["name"] for model in found["models"]] == [MINILM.name, E5.name]


def test_unknown_name_is_unusable_input(place: Path) -> None:
    result = run(place, "prepare", "no-such")
    assert result.exit_code == 2
    assert f"no package holds 'no-such'; there are {MINILM.name}, {E5.name}" in result.stderr


def test_damaged_model_is_told_and_not_overwritten(place: Path) -> None:
    model = tiny.prepared(place / MINILM.name)
    (model / "model.onnx").write_bytes(b"")
    result = run(place, "prepare", MINILM.name, "--json")
    assert result.exit_code == 1
    assert told(result)["ok"] is False
    assert "model.onnx: is damaged" in result.stderr


def test_model_of_a_path_is_prepared_under_its_name(place: Path, tmp_path: Path) -> None:
    source = tiny.write(tmp_path / "source")
    arguments = ["prepare", "--path", str(source), "--name", "mine", "--prefix", "shoes "]
    result = run(place, *arguments, "--script", "latin", "--script", "greek", "--pooling", "mean")
    assert result.exit_code == 0, result.output
    found = manifest.read(place / "mine")
    assert (found.prefix, found.scripts, found.source) == (
        "shoes ",
        ["latin", "greek"],
        str(source),
    )
    assert run(place, "verify", "mine").exit_code == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ["--path", "."],
        ["--path", ".", "--name", "a", "b"],
        ["--name", "a"],
        ["--path", ".", "--name", "../a"],
        ["--path", ".", "--name", "a", "--script", "klingon"],
        ["--path", "/nowhere", "--name", "a"],
    ],
)
def test_options_that_do_not_go_together_are_unusable(place: Path, arguments: list[str]) -> None:
    assert run(place, "prepare", *arguments).exit_code == 2
    assert not place.exists()


def test_broken_model_of_a_path_is_not_so(place: Path, tmp_path: Path) -> None:
    source = tiny.write(tmp_path / "source", flaw="constant")
    result = run(place, "prepare", "--path", str(source), "--name", "mine")
    assert result.exit_code == 1
    assert "fails its self-test" in result.stderr
    assert list(place.iterdir()) == []


def test_verify_tries_every_prepared_model(place: Path) -> None:
    tiny.prepared(place / "good")
    tiny.prepared(place / "dull", flaw="constant")
    (tiny.prepared(place / "torn") / "tokenizer.json").unlink()
    result = run(place, "verify", "--json")
    assert result.exit_code == 1
    found = orjson.loads(result.stdout)
    assert [(model["name"], model["ok"]) for model in found["models"]] == [
        ("dull", False),
        ("good", True),
        ("torn", False),
    ]
    assert "self-test" in found["models"][0]["why"]
    assert "tokenizer.json" in found["models"][2]["why"]
    assert run(place, "verify", "good").exit_code == 0
    assert run(place, "verify", "nothing").exit_code == 1


def test_nothing_to_verify_is_not_so(place: Path) -> None:
    result = run(place, "verify")
    assert result.exit_code == 1
    assert "there is no prepared model; reprise models prepare" in result.stderr


@pytest.mark.parametrize("revision", ["main", "0123", COMMIT.upper().replace("0", "G")])
def test_pull_wants_the_digits_of_a_commit(place: Path, revision: str) -> None:
    assert run(place, "pull", "someone/encoder", "--revision", revision).exit_code == 2


def test_repository_that_cannot_be_is_told(place: Path) -> None:
    result = run(place, "pull", "no/such/name", "--revision", COMMIT)
    assert result.exit_code == 1
    assert f"no/such/name@{COMMIT}: tokenizer.json cannot be fetched: " in result.stderr


async def test_model_of_the_hub_is_fetched_and_prepared(place: Path, tmp_path: Path) -> None:
    async with running_hub(tmp_path / "source") as hub:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "proxy", "models", "pull", REPOSITORY),
            *("--revision", COMMIT, "--models", str(place), "--json"),
            env={**os.environ, "HF_ENDPOINT": hub.url, "HF_HOME": str(tmp_path / "home")},
            stdout=asyncio.subprocess.PIPE,
        )
        stdout, _ = await asyncio.wait_for(process.communicate(), 60)
    assert process.returncode == 0
    assert orjson.loads(stdout)["ok"]
    found = await asyncio.to_thread(manifest.read, place / "some-encoder")
    assert found.source == f"{REPOSITORY}@{COMMIT}"


def test_pull_without_the_extra_names_it(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "proxy.semantic.hub", raising=False)
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    result = run(place, "pull", REPOSITORY, "--revision", COMMIT)
    assert result.exit_code == 1
    assert "cannot be fetched without huggingface_hub; pip install 'reprise-proxy[hub]'" in (
        result.stderr
    )
