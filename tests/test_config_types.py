"""How values are written back and described."""

import re
from typing import Any, get_args

import pytest
from pydantic import TypeAdapter

from proxy.config_types import (
    Count,
    Deadline,
    Duration,
    ErrorRate,
    Flag,
    Headers,
    HighTemperature,
    Languages,
    ScriptName,
    Scripts,
    Secret,
    Similarity,
    Size,
    Temperature,
    Timeout,
)
from proxy.core.meaning.script import Script


@pytest.mark.parametrize(
    ("kind", "value", "written"),
    [
        (Duration, "90m", "1h30m"),
        (Timeout, "none", "none"),
        (Deadline, "1500ms", "1s500ms"),
        (Size, 4096, "4KiB"),
        (Size, 4097, 4097),
        (Secret, "geheim", "***"),
        (Secret, "", ""),
        (Headers, {"x-a": "geheim"}, {"x-a": "***"}),
    ],
)
def test_value_is_written_as_in_a_file(kind: Any, value: object, written: object) -> None:
    adapter = TypeAdapter[object](kind)
    assert adapter.dump_python(adapter.validate_python(value), mode="json") == written


@pytest.mark.parametrize(
    "kind",
    [
        *(Count, Deadline, Duration, ErrorRate, Flag),
        *(HighTemperature, Similarity, Size, Temperature, Timeout),
    ],
)
def test_schema_lets_the_environment_stand_for_a_value(kind: Any) -> None:
    choices = TypeAdapter[object](kind).json_schema()["anyOf"]
    assert any(re.search(choice.get("pattern", "^$"), "${NAME:-5}") for choice in choices)


@pytest.mark.parametrize(
    ("kind", "text", "matches"),
    [
        (Duration, "1h30m", True),
        (Duration, "30", False),
        (Duration, "", False),
        (Size, "64KiB", True),
        (Size, "64kib", False),
    ],
)
def test_schema_knows_the_notation(kind: Any, text: str, matches: bool) -> None:
    notation = TypeAdapter[object](kind).json_schema()["anyOf"][0]["pattern"]
    assert bool(re.search(notation, text)) is matches


@pytest.mark.parametrize("kind", [Languages, Scripts])
def test_schema_knows_that_a_list_may_not_be_empty(kind: Any) -> None:
    assert TypeAdapter[object](kind).json_schema()["minItems"] == 1


def test_scripts_are_those_that_texts_have() -> None:
    assert get_args(ScriptName) == tuple(script.value for script in Script if script != "none")
