"""`reprise check` says every mistake, or what a file amounts to."""

from pathlib import Path

import orjson
import pytest
from click.testing import CliRunner, Result

from proxy.cli.check import check

GOOD = """\
upstreams:
  - {name: small, url: http://a, models: [x*, y]}
  - {url: http://b}
routes:
  - {match: {path: /v1/*, header: {x-team: ""}}, ttl: {exact: 1h}, tenancy: {scope: shared}}
  - {match: {model: m}}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "reprise.yaml"


def run(*arguments: str, env: dict[str, str] | None = None) -> Result:
    return CliRunner().invoke(check, arguments, env=env)


def test_good_file_is_summed_up(file: Path) -> None:
    file.write_text(GOOD)
    result = run(str(file))
    assert result.exit_code == 0
    assert (
        result.output
        == f"""\
{file}: ok
  listens on 127.0.0.1:8080, admin on 127.0.0.1:8081
  upstream small = http://a: x*, y
  upstream http://b: every model
  route 0: path /v1/*, header x-team: ?*: ttl.exact, tenancy.scope
  route 1: model m: changes nothing
"""
    )


def test_good_file_as_json(file: Path) -> None:
    file.write_text(GOOD)
    result = run(str(file), "--json")
    assert result.exit_code == 0
    found = orjson.loads(result.output)
    assert (found["file"], found["ok"], len(found["digest"])) == (str(file), True, 64)
    assert found["upstreams"][0] == {"name": "small", "url": "http://a", "models": ["x*", "y"]}
    assert found["routes"][0]["tenancy"] == {"scope": "shared"}


def test_every_mistake_is_printed(file: Path) -> None:
    file.write_text("listne: x\nttl: {exact: 5}\n")
    result = run(str(file))
    assert result.exit_code == 2
    assert [line.split("; ")[0] for line in result.output.splitlines()] == [
        f"{file}:1:1: listne: unknown key",
        f"{file}:1:1: upstream: is missing",
        f"{file}:2:14: ttl.exact: the duration 5 has no unit",
    ]


def test_every_mistake_is_in_the_json(file: Path) -> None:
    file.write_text("upstream: http://x\nttl: {exakt: 5}\n")
    result = run(str(file), "--json")
    assert result.exit_code == 2
    assert orjson.loads(result.output) == {
        "file": str(file),
        "ok": False,
        "problems": [
            {
                "path": "ttl.exakt",
                "line": 2,
                "column": 7,
                "message": "unknown key",
                "remedy": 'did you mean "exact"?',
                "source": str(file),
            }
        ],
    }


def test_missing_file_is_a_mistake(file: Path) -> None:
    result = run(str(file))
    assert (result.exit_code, result.output) == (
        2,
        f"{file}: cannot be read: No such file or directory\n",
    )


def test_upstream_may_be_left_to_the_command_line(file: Path) -> None:
    file.write_text("ttl: {exact: 1h}\n")
    assert run(str(file)).exit_code == 2
    assert run(str(file), "--upstream", "http://x").exit_code == 0


def test_environment_is_the_real_one(file: Path) -> None:
    file.write_text("upstream: ${REPRISE_TEST_URL}\n")
    assert run(str(file)).exit_code == 2
    assert run(str(file), env={"REPRISE_TEST_URL": "http://x"}).exit_code == 0
