"""The models, the schema that editors use, and the files that are shipped."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from proxy.config import STATIC_PATHS, load
from proxy.config_file import dotted, parse
from proxy.config_model import NOW_WORDS, File, json_schema
from proxy.semantic.models import PACKAGED

ROOT = Path(__file__).parent.parent
CONFIG = ROOT / "config"
ENV = {"LLM_API_KEY": "k"}


def settings(schema: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every key that has no keys of its own, with its schema; marks of a list are its keys' too."""
    for name, inner in schema["properties"].items():
        path = prefix + name
        reference = inner.get("$ref") or inner.get("items", {}).get("$ref")
        if reference is None:
            yield path, inner
        else:
            dots = "[]." if "items" in inner else "."
            section = json_schema()["$defs"][reference.rpartition("/")[2]]
            marks = {name: value for name, value in inner.items() if name.startswith("x-")}
            yield from ((key, {**found, **marks}) for key, found in settings(section, path + dots))


def test_committed_schema_is_current() -> None:
    committed = json.loads((CONFIG / "reprise.schema.json").read_text())
    assert committed == json_schema(), "run: reprise schema > config/reprise.schema.json"


def test_every_key_has_a_description() -> None:
    assert [path for path, inner in settings(json_schema()) if not inner.get("description")] == []


def test_schema_marks_what_needs_a_restart() -> None:
    marked = {
        path.partition("[]")[0]
        for path, inner in settings(json_schema())
        if "x-needs-restart" in inner
    }
    assert marked == set(STATIC_PATHS)


def test_default_file_is_the_defaults() -> None:
    file = load(CONFIG / "reprise.yaml", env={})
    defaults = load(None, upstream="http://127.0.0.1:11434", env={})
    assert file.static == defaults.static
    assert file.dynamic == defaults.dynamic
    assert file.redacted() == defaults.redacted()


def test_default_file_has_every_key() -> None:
    raw = (CONFIG / "reprise.yaml").read_bytes()
    document = parse(raw, "reprise.yaml", {})
    wanted = {
        path for path, _ in settings(json_schema()) if not path.startswith(("upstreams", "routes"))
    }
    present = {re.sub(r"\[\d+\]", "[]", dotted(steps)) for steps in document.keys}
    assert wanted - present == set()
    assert b"upstreams:" in raw
    assert "routes" in present


@pytest.mark.parametrize(
    "file",
    [CONFIG / "reprise.yaml", *sorted((CONFIG / "examples").glob("*.yaml"))],
    ids=lambda path: path.name,
)
def test_shipped_file_is_usable_and_names_its_schema(file: Path) -> None:
    assert load(file, env=ENV).dynamic.pools
    first = file.read_text().splitlines()[0]
    schema = file.parent / first.removeprefix("# yaml-language-server: $schema=")
    assert schema.resolve() == CONFIG / "reprise.schema.json"


def test_commented_parts_of_the_default_file_are_usable(tmp_path: Path) -> None:
    lines = (CONFIG / "reprise.yaml").read_text().splitlines()
    begin = lines.index("# upstreams:")
    upstreams = [line.removeprefix("# ") for line in lines[begin : begin + 11]]
    routes = [line.removeprefix("#") for line in lines[lines.index("routes: []") + 1 :]]
    file = tmp_path / "f.yaml"
    file.write_text("\n".join([*upstreams, "routes:", *routes]))
    config = load(file, env=ENV)
    assert [pool.name for pool in config.dynamic.pools] == [
        *("small", "hosted", "http://reprise.central:8080")
    ]
    assert len(config.dynamic.routes) == 1


def test_default_encoders_are_those_that_come_with_the_install() -> None:
    encoders = File(upstream="http://x").semantic.encoders
    assert {encoder.model: encoder.scripts for encoder in encoders} == {
        name: tuple(script.value for script in packaged.scripts)
        for name, packaged in PACKAGED.items()
    }


def test_words_that_ask_about_now_stand_once() -> None:
    assert len(set(NOW_WORDS)) == len(NOW_WORDS)


def test_every_key_is_documented_with_its_default() -> None:
    document = (ROOT / "docs" / "configuration.md").read_text()
    rows = {
        cells[1].strip("` "): (cells[3], cells[-2])
        for line in document.splitlines()
        if len(cells := line.replace(r"\|", "/").split("|")) > 4
    }
    for path, inner in settings(json_schema()):
        if path.startswith("routes[]") and ".match." not in path:
            continue
        default, applies = rows[path]
        if (value := inner.get("default")) is not None:
            text = value if isinstance(value, str) and value else json.dumps(value)
            is_long = isinstance(value, list) and len(value) > 10
            assert default.strip() == ("below" if is_long else f"`{text}`"), path
        restart = "x-needs-restart" in inner
        assert applies.strip() == ("restart" if restart else "at once"), path


def test_words_that_ask_about_now_are_documented() -> None:
    document = (ROOT / "docs" / "configuration.md").read_text()
    assert f"``` {', '.join(NOW_WORDS)} ```" in " ".join(document.split())


def test_files_are_yaml_for_others_too() -> None:
    assert yaml.safe_load((CONFIG / "reprise.yaml").read_text())["ttl"]["exact"] == "24h"
