"""`reprise schema` prints what config/ has."""

from pathlib import Path

from click.testing import CliRunner

from proxy.cli.schema import schema

COMMITTED = Path(__file__).parents[2] / "config" / "reprise.schema.json"


def test_schema_is_printed_as_committed() -> None:
    result = CliRunner().invoke(schema)
    assert result.exit_code == 0
    assert result.output == COMMITTED.read_text()
