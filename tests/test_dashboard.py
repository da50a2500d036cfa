"""The dashboard is what the code says, and what Grafana's own types know."""

import json
from typing import Any

import pytest
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard

from tests.dashboard import COLUMNS, DATASOURCE, PATH, dashboard, document

ROWS = [
    *("Traffic", "Hits by level", "Latency by level", "Upstream load", "Error budget"),
    *("Memory and index", "Background tasks", "Redis", "Injector"),
]
PANELS: list[dict[str, Any]] = dashboard()["panels"]


def test_the_file_is_current() -> None:
    assert PATH.read_text("utf-8") == document(), "run python -m tests.dashboard"


def test_there_is_a_row_for_each_question() -> None:
    assert [panel["title"] for panel in PANELS if panel["type"] == "row"] == ROWS


def kept(ours: Any, theirs: Any, path: str = "") -> list[str]:
    """What of ours is not there as it is."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return [flaw for key in ours for flaw in kept(ours[key], theirs.get(key), f"{path}.{key}")]
    if isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        pairs = enumerate(zip(ours, theirs, strict=True))
        return [flaw for at, pair in pairs for flaw in kept(*pair, f"{path}[{at}]")]
    return [] if ours == theirs or not ours else [f"{path}: {ours!r} is {theirs!r}"]


def test_grafana_s_types_know_all_of_it() -> None:
    register_default_plugins()
    read = Dashboard.from_json(dashboard())
    written = JSONEncoder(sort_keys=True).encode(read)
    assert kept(dashboard(), json.loads(written)) == []


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: panel["title"])
def test_a_panel_is_in_its_place_and_says_what_it_shows(panel: dict[str, Any]) -> None:
    place = panel["gridPos"]
    assert 0 <= place["x"] <= place["x"] + place["w"] <= COLUMNS
    if panel["type"] != "row":
        assert panel["description"].endswith(".")
        assert panel["fieldConfig"]["defaults"]["unit"]
        assert panel["datasource"] == DATASOURCE
        assert all(target["datasource"] == DATASOURCE for target in panel["targets"])


def test_no_two_panels_are_in_one_place() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in PANELS:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken, panel["title"]
        taken |= cells
    assert len({panel["id"] for panel in PANELS}) == len(PANELS)
