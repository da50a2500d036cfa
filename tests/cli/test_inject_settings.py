"""How sidecars look, by the file and the command line."""

from pathlib import Path

import pytest

from proxy import __version__
from proxy.cli.inject_settings import settings_of
from proxy.k8s.settings import Settings

FILE = """
image: file:1
image_pull_policy: Never
upstream: http://file
log_level: debug
run_as_user: null
resources: {requests: {cpu: 50m}, limits: {}}
env: [A]
native_sidecar: false
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "sidecar.yaml"
    path.write_text(FILE)
    return path


def test_by_themselves_they_are_the_defaults() -> None:
    found = settings_of(None, image=None, upstream=None, is_native=None)
    assert found == Settings(image=f"reprise:{__version__}")


def test_the_file_says_otherwise(file: Path) -> None:
    found = settings_of(file, image=None, upstream=None, is_native=None, namespace="own")
    assert found == Settings(
        image="file:1",
        pull_policy="Never",
        upstream="http://file",
        log_level="debug",
        user=None,
        requests={"cpu": "50m", "memory": "256Mi"},
        limits={},
        variables=("A",),
        is_native=False,
        namespace="own",
    )


def test_what_it_leaves_out_stays(tmp_path: Path) -> None:
    path = tmp_path / "empty.json"
    path.write_text("{}")
    found = settings_of(path, image=None, upstream=None, is_native=None)
    assert found == Settings(image=f"reprise:{__version__}")


def test_the_command_line_wins(file: Path) -> None:
    found = settings_of(file, image="line:1", upstream="http://line/", is_native=True)
    assert (found.image, found.upstream, found.is_native) == ("line:1", "http://line", True)


@pytest.mark.parametrize(
    ("text", "upstream", "told"),
    [("imag: x", None, 'did you mean "image"?'), ("", "llm:1", "--upstream: a URL begins with")],
)
def test_a_mistake_ends_with_2_and_its_remedy(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    text: str,
    upstream: str | None,
    told: str,
) -> None:
    path = tmp_path / "sidecar.yaml"
    path.write_text(text)
    with pytest.raises(SystemExit) as ended:
        settings_of(path, image=None, upstream=upstream, is_native=None)
    assert ended.value.code == 2
    assert told in capsys.readouterr().err
