"""What the options say about the certificate, together."""

from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from proxy.cli.inject_tls import ACCOUNT, Files, Own, tls_options

FILES = ("--tls-cert", "a.crt", "--tls-key", "a.key")
OWN = ("--tls-secret", "kept", "--tls-service", "called", "--tls-webhook", "configured")


def chosen(*arguments: str) -> Files | Own | str:
    """What a command gets, or what the user is told."""
    got: list[Files | Own] = []

    @click.command()
    @tls_options
    @click.option("--namespace", default="")
    def command(tls: Files | Own, namespace: str) -> None:
        assert namespace in {"", "ours"}
        got.append(tls)

    result = CliRunner().invoke(command, arguments)
    assert result.exit_code == (0 if got else 2)
    return got[0] if got else result.output


def test_files_are_taken_or_a_certificate_is_kept() -> None:
    assert chosen(*FILES) == Files(Path("a.crt"), Path("a.key"))
    own = Own("ours", secret="kept", service="called", configuration="configured", account=ACCOUNT)
    assert chosen(*OWN, "--namespace", "ours") == own


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((), "A certificate is wanted"),
        (FILES[:2], "A certificate is wanted"),
        (OWN[:4], "A certificate is wanted"),
        ((*FILES, *OWN[:2]), "Either"),
        (OWN, "POD_NAMESPACE"),
    ],
)
def test_half_a_choice_is_none(arguments: tuple[str, ...], told: str) -> None:
    assert told in str(chosen(*arguments))
