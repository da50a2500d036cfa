"""`reprise inject`: its commands and their options."""

import sys

import pytest
from click.testing import CliRunner, Result

from proxy.cli.main import main

FILES = ("--tls-cert", "/nowhere/tls.crt", "--tls-key", "/nowhere/tls.key")


def serve(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["inject", "serve", *arguments])


def test_its_commands_are_told() -> None:
    result = CliRunner().invoke(main, ["inject", "--help"])
    assert result.exit_code == 0
    for command in ("render", "serve"):
        assert f"\n  {command} " in result.output


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((), "--tls-cert"),
        ((*FILES, "--listen", "8443"), '"*:8443" for every interface'),
        ((*FILES, "--admin-listen", "x:99999"), "write a number from 0 to 65535"),
        ((*FILES, "--upstream", "llm"), "--upstream: a URL begins with http"),
    ],
)
def test_what_cannot_be_used_ends_with_2(arguments: tuple[str, ...], told: str) -> None:
    result = serve(*arguments)
    assert result.exit_code == 2
    assert told in result.stderr


def test_without_its_library_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in [name for name in sys.modules if name.partition(".")[0] == "cryptography"]:
        monkeypatch.delitem(sys.modules, module)
    for module in ("proxy.cli.inject_serve", "proxy.k8s.tls", "proxy.k8s.certificate_files"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.setitem(sys.modules, "cryptography", None)
    result = serve(*FILES)
    assert result.exit_code == 2
    assert "pip install 'reprise-proxy[inject]'" in result.stderr
