"""`reprise inject render`: what it prints, says and ends with."""

from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from proxy.cli import inject_render
from proxy.cli.main import main
from tests.k8s.pods import base_urls, pod

POD = yaml.safe_dump(pod())
CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap  # stays\n"


def render(*arguments: str, stdin: str | bytes = "") -> Result:
    return CliRunner().invoke(main, ["inject", "render", *arguments], input=stdin)


def test_manifests_come_back_with_sidecars(tmp_path: Path) -> None:
    file = tmp_path / "app.yaml"
    file.write_text(f"{CONFIG_MAP}---\n{POD}")
    result = render(str(file), "--upstream", "http://llm", "--image", "own:1")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith(CONFIG_MAP)
    _, after = yaml.safe_load_all(result.stdout)
    assert base_urls(after)["app"] == "http://127.0.0.1:11480/v1"
    assert after["spec"]["initContainers"][0]["image"] == "own:1"
    again = render("-", "--upstream", "http://other", stdin=result.stdout)
    assert (again.exit_code, again.stdout) == (0, result.stdout)


def test_a_settings_file_is_taken(tmp_path: Path) -> None:
    file = tmp_path / "sidecar.json"
    file.write_text('{"upstream": "http://llm", "native_sidecar": false}')
    result = render("-", "--settings", str(file), stdin=POD)
    assert yaml.safe_load(result.stdout)["spec"]["containers"][1]["name"] == "reprise"


def test_a_pod_that_is_left_alone_ends_with_1_and_why() -> None:
    result = render("-", stdin=POD)
    assert (result.exit_code, result.stdout) == (1, POD)
    assert "Pod/app-: the pod gets no sidecar: nobody says where the LLM server is" in result.stderr


@pytest.mark.parametrize(
    ("stdin", "told"),
    [("kind: [", "-: document 1 is not YAML"), (b"\xff", "-: is not UTF-8")],
)
def test_what_cannot_be_read_ends_with_2(stdin: str | bytes, told: str) -> None:
    result = render("-", stdin=stdin)
    assert (result.exit_code, result.stdout) == (2, "")
    assert told in result.stderr


def test_a_file_that_is_not_there_ends_with_2(tmp_path: Path) -> None:
    result = render(str(tmp_path / "none.yaml"))
    assert result.exit_code == 2
    assert "none.yaml: cannot be read: No such file or directory" in result.stderr


def test_there_is_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inject_render, "MAX_BYTES", 10)
    result = render("-", stdin=POD)
    assert result.exit_code == 2
    assert "larger than" in result.stderr
