"""Values, schema and table of the chart say the same, and the schema knows the configuration."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from proxy import __version__
from tests.helm.documents import CHART, README, SCHEMA, VALUES, readme, schema_text, table

DEFAULTS = yaml.safe_load(VALUES.read_text("utf-8"))
KNOWN: dict[str, Any] = json.loads(SCHEMA.read_text("utf-8"))
CASES = sorted((CHART / "ci").glob("*-values.yaml"))

NOT_LISTED = {"global"}
"""Keys that Helm itself gives."""


def test_the_schema_has_the_keys_of_the_configuration_as_the_proxy_has_them() -> None:
    assert SCHEMA.read_text("utf-8") == schema_text(), "run `make helm-docs`"


def test_the_table_is_that_of_the_values() -> None:
    assert README.read_text("utf-8") == readme(), "run `make helm-docs`"


def test_a_key_of_the_table_has_its_default_and_the_comment_above_it() -> None:
    text = "# Of all.\na:\n  # What b is,\n  # in two lines.\n  b: 1\n\n  c: {}\nd: [x]\n"
    assert table(text).splitlines()[2:] == [
        "| `a` |  | Of all. |",
        "| `a.b` | `1` | What b is, in two lines. |",
        "| `a.c` | `{}` |  |",
        '| `d` | `["x"]` |  |',
    ]


def resolved(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema, where it is only a reference that of its definition."""
    if "$ref" in schema:
        found: dict[str, Any] = KNOWN["definitions"][schema["$ref"].rpartition("/")[2]]
        return found
    return schema


def of_values(defaults: dict[str, Any], schema: dict[str, Any], path: str) -> Iterator[str]:
    """Where the keys of the values and those of the schema differ."""
    properties = resolved(schema).get("properties")
    if properties is None or path == "gateway.config":
        return
    assert resolved(schema)["additionalProperties"] is False, path
    for name in properties.keys() ^ defaults.keys():
        yield f"{path}.{name}".removeprefix(".")
    for name in properties.keys() & defaults.keys():
        if isinstance(defaults[name], dict):
            yield from of_values(
                defaults[name], properties[name], f"{path}.{name}".removeprefix(".")
            )


def test_the_schema_has_the_keys_of_the_values_and_no_others() -> None:
    optional = {"initialDelaySeconds", "successThreshold", "type", "rollingUpdate", "claims"}
    differing = set(of_values(DEFAULTS, KNOWN, "")) - NOT_LISTED
    assert {path for path in differing if path.split(".")[-1] not in optional} == set()


def test_the_defaults_are_valid() -> None:
    jsonschema.Draft7Validator.check_schema(KNOWN)
    jsonschema.validate(DEFAULTS, KNOWN, jsonschema.Draft7Validator)


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.name)
def test_the_values_of_a_case_are_valid(path: Path) -> None:
    text = path.read_text("utf-8")
    assert text.startswith("# "), "say what the case is for"
    jsonschema.validate(yaml.safe_load(text), KNOWN, jsonschema.Draft7Validator)


def test_the_chart_has_the_version_of_the_proxy() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text("utf-8"))
    assert chart["appVersion"] == __version__
    assert chart["version"] == __version__


def test_static_files_of_the_chart_can_be_read() -> None:
    dashboard = json.loads((CHART / "dashboards" / "reprise.json").read_text("utf-8"))
    assert dashboard["title"]
    rules = yaml.safe_load((CHART / "rules" / "reprise.yaml").read_text("utf-8"))
    assert list(rules) == ["groups"]
