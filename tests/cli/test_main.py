"""The command line as a user types it."""

import pytest
from click.testing import CliRunner

from proxy import __version__
from proxy.cli.main import COMMANDS, main


def test_every_command_has_help() -> None:
    for name in COMMANDS:
        result = CliRunner().invoke(main, [name, "--help"])
        assert result.exit_code == 0, result.output
        assert f"main {name}" in result.output


def test_the_commands_are_listed_with_what_they_do() -> None:
    result = CliRunner().invoke(main, ["--help"])
    assert result.exit_code == 0
    for name in set(COMMANDS) - {"schema"}:  # for those who work on the program
        assert f"\n  {name} " in result.output


def test_the_version_is_told() -> None:
    assert CliRunner().invoke(main, ["--version"]).output == f"reprise, version {__version__}\n"


@pytest.mark.parametrize("arguments", [["sreve"], ["serve", "--lisen", "x"], ["serve", "extra"]])
def test_what_is_mistyped_is_unusable_input(arguments: list[str]) -> None:
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 2
    assert arguments[-1 if len(arguments) < 3 else 1] in result.output
