"""What follows from the chart's values: its README's table, and the schema of gateway.config.

`python -m tests.helm.documents` writes both anew; tests/helm/test_documents.py holds them to it.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from proxy.config_model import json_schema

CHART = Path(__file__).parents[2] / "helm" / "reprise"
VALUES = CHART / "values.yaml"
SCHEMA = CHART / "values.schema.json"
README = CHART / "README.md"
_BEGIN = "<!-- the table of values: written by make helm-docs -->\n"
_END = "<!-- end of the table -->\n"

_OF_CONFIG = "config"
"""Begins the names of definitions that are made from the configuration's model."""
_LEFT_OUT = {"title", "default", "examples", "x-needs-restart", "format"}
"""What a schema of the file says and Helm need not know. Formats of patterns are Python's."""
_NOT_EMPTY = "^(?!$)"
"""Go's regular expressions have no look-ahead."""
_SECRET = {"type": "string", "pattern": r"^$|\$\{"}
"""A ConfigMap is no place for it; gateway.existingSecret, redis and extraEnv are."""
_OF_THE_CHART = {"listen"}
"""Keys that are on the command line, so that ports of containers and probes are always right."""


def schema() -> dict[str, Any]:
    """The chart's schema, with definitions of the configuration as the proxy has them now."""
    known: dict[str, Any] = json.loads(SCHEMA.read_text("utf-8"))
    own = {
        name: definition
        for name, definition in known["definitions"].items()
        if not name.startswith(_OF_CONFIG)
    }
    return {**known, "definitions": {**own, **_config_definitions()}}


def _config_definitions() -> dict[str, Any]:
    file = json_schema()
    definitions = {f"{_OF_CONFIG}{name}": part for name, part in file.pop("$defs").items()}
    del file["$schema"], file["not"]  # templates/gateway/_check.tpl says that in words
    for part in (file, definitions[f"{_OF_CONFIG}Admin"]):
        for name in _OF_THE_CHART:
            del part["properties"][name]
    return {name: _plain(part) for name, part in {_OF_CONFIG: file, **definitions}.items()}


def _plain(part: Any) -> Any:
    """A part of the file's schema as both of Helm's validators take it."""
    if isinstance(part, list):
        return [_plain(item) for item in part]
    if not isinstance(part, dict):
        return part
    if any("${" in str(example) for example in part.get("examples", ())):
        return {"description": part.get("description", ""), **_SECRET}
    plain: dict[str, Any] = {}
    for key, value in part.items():
        if key == "properties":
            plain[key] = {name: _plain(inner) for name, inner in value.items()}
        elif key == "$ref":
            plain[key] = value.replace("#/$defs/", f"#/definitions/{_OF_CONFIG}")
        elif key == "pattern" and value.startswith(_NOT_EMPTY):
            plain |= {"pattern": value.replace(_NOT_EMPTY, "^"), "minLength": 1}
        elif key not in _LEFT_OUT:
            plain[key] = _plain(value)
    return plain


@dataclass(frozen=True, slots=True)
class Value:
    """A key of values.yaml."""

    path: str
    default: str
    """As JSON."""
    description: str


def values(text: str) -> list[Value]:
    """All keys with a default of their own, in the file's order, with the comments above them."""
    root = yaml.compose(text)
    assert isinstance(root, yaml.MappingNode)
    return list(_walk(root, "", text.splitlines()))


def _walk(node: yaml.MappingNode, prefix: str, lines: list[str]) -> Iterator[Value]:
    for key, value in node.value:
        path = prefix + key.value
        said = _comment(lines, key.start_mark.line)
        is_section = isinstance(value, yaml.MappingNode) and value.value
        if said or not is_section:
            default = "" if is_section else json.dumps(yaml.safe_load(yaml.serialize(value)))
            yield Value(path, default, said)
        if is_section:
            yield from _walk(value, f"{path}.", lines)


def _comment(lines: list[str], line: int) -> str:
    """The comment right above a line."""
    said: list[str] = []
    while line > 0 and (above := lines[line - 1].strip()).startswith("#"):
        said.insert(0, above.removeprefix("#").strip())
        line -= 1
    return " ".join(said)


def table(text: str) -> str:
    """The table of values, in Markdown."""
    rows = ["| key | default | |", "|---|---|---|"]
    for value in values(text):
        default = f"`{value.default}`" if value.default else ""
        rows.append(f"| `{value.path}` | {default} | {value.description} |".replace("||", "| |"))
    return "\n".join(rows) + "\n"


def readme() -> str:
    """The chart's README with the table as it should be."""
    before, _, rest = README.read_text("utf-8").partition(_BEGIN)
    _, _, after = rest.partition(_END)
    return before + _BEGIN + table(VALUES.read_text("utf-8")) + _END + after


def schema_text() -> str:
    """The schema's file as it should be."""
    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    SCHEMA.write_text(schema_text(), "utf-8")
    README.write_text(readme(), "utf-8")
