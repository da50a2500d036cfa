"""The dashboard: `python -m tests.dashboard` writes helm/reprise/dashboards/reprise.json anew.

dashboard_panels.py says what is shown; here it becomes what Grafana reads.
"""

import json
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any, TypeAlias

from tests.dashboard_panels import ROWS, Panel, Query

Json: TypeAlias = dict[str, Any]

PATH = Path(__file__).parents[1] / "helm" / "reprise" / "dashboards" / "reprise.json"
DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}
COLUMNS = 24
HEIGHT = 8
_FILTER = 'namespace=~"$namespace",job=~"$job",instance=~"$instance"'
_RECORDED = 'namespace=~"$namespace",job=~"$job"'


def document() -> str:
    """The dashboard as JSON, a line for each panel."""
    whole = dashboard()
    panels = ",\n".join(json.dumps(panel) for panel in whole.pop("panels"))
    return f'{json.dumps(whole, indent=1)[:-2]},\n "panels": [\n{panels}\n]}}\n'


def dashboard() -> Json:
    """The dashboard as Grafana 10 and newer read it."""
    return {
        "uid": "reprise",
        "title": "Reprise",
        "description": "A caching reverse proxy for LLM APIs: what it answers by itself, how fast, "
        "what is left for the upstreams, and how its parts are doing.",
        "tags": ["reprise", "llm", "cache"],
        "schemaVersion": 39,
        "version": 1,
        "editable": True,
        "graphTooltip": 1,
        "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "timezone": "browser",
        "templating": {"list": list(_variables())},
        "annotations": {"list": [_reloads()]},
        "links": [],
        "panels": list(_panels()),
    }


def _variables() -> Iterator[Json]:
    yield {
        "name": "datasource",
        "label": "Data source",
        "type": "datasource",
        "query": "prometheus",
        "hide": 0,
    }
    known = "reprise_build_info"
    for name, selector in (
        ("namespace", known),
        ("job", known + '{namespace=~"$namespace"}'),
        ("instance", known + '{namespace=~"$namespace",job=~"$job"}'),
    ):
        yield {
            "name": name,
            "label": name.capitalize(),
            "type": "query",
            "datasource": DATASOURCE,
            "query": f"label_values({selector}, {name})",
            "refresh": 2,
            "sort": 1,
            "multi": True,
            "includeAll": True,
            "allValue": ".*",
            "current": {"text": "All", "value": "$__all", "selected": True},
            "hide": 0,
        }
    for name, label, value in (
        ("input_price", "Price of 1M input tokens", "2.5"),
        ("output_price", "Price of 1M output tokens", "10"),
    ):
        yield {
            "name": name,
            "label": label,
            "type": "textbox",
            "query": value,
            "current": {"text": value, "value": value, "selected": True},
            "hide": 0,
        }


def _reloads() -> Json:
    shown = f"changes(reprise_config_last_reload_success_timestamp_seconds{{{_FILTER}}}[1m]) > 0"
    return {
        "name": "Configuration taken over",
        "datasource": DATASOURCE,
        "enable": True,
        "iconColor": "blue",
        "expr": shown,
    }


def _panels() -> Iterator[Json]:
    numbers, top = count(1), 0
    for title, panels in ROWS:
        place = {"x": 0, "y": top, "w": COLUMNS, "h": 1}
        yield {
            "id": next(numbers),
            "type": "row",
            "title": title,
            "gridPos": place,
            "collapsed": False,
            "panels": [],
        }
        top, left = top + 1, 0
        for panel in panels:
            if left + panel.width > COLUMNS:
                top, left = top + HEIGHT, 0
            place = {"x": left, "y": top, "w": panel.width, "h": HEIGHT}
            yield _panel(panel, next(numbers), place)
            left += panel.width
        top += HEIGHT


def _panel(panel: Panel, number: int, place: Json) -> Json:
    return {
        "id": number,
        "type": panel.kind,
        "title": panel.title,
        "description": panel.description,
        "datasource": DATASOURCE,
        "gridPos": place,
        "targets": [_target(panel, query, at) for at, query in enumerate(panel.queries)],
        "fieldConfig": {"defaults": _defaults(panel), "overrides": list(_overrides(panel))},
        "options": _OPTIONS[panel.kind],
    }


def _target(panel: Panel, query: Query, at: int) -> Json:
    expression = query.expression.replace("FILTER", _FILTER).replace("RECORDED", _RECORDED)
    target = {
        "refId": chr(ord("A") + at),
        "datasource": DATASOURCE,
        "editorMode": "code",
        "expr": expression,
        "legendFormat": query.legend,
        "range": panel.kind != "stat",
        "instant": panel.kind == "stat",
        "exemplar": "histogram_quantile" in expression,
    }
    if panel.kind == "heatmap":
        target |= {"format": "heatmap", "legendFormat": "{{le}}", "exemplar": False}
    return target


def _defaults(panel: Panel) -> Json:
    defaults: Json = {"unit": panel.unit}
    if panel.kind == "timeseries":
        stacking = {"mode": "normal" if panel.is_stacked else "none", "group": "A"}
        defaults["custom"] = {
            "drawStyle": "line",
            "fillOpacity": 25 if panel.is_stacked else 5,
            "lineWidth": 1,
            "showPoints": "never",
            "stacking": stacking,
        }
    if panel.unit == "percentunit":
        defaults |= {"min": 0, "max": 1} if panel.is_whole else {"min": 0}
    elif panel.kind == "timeseries":
        defaults["min"] = 0
    return defaults


def _overrides(panel: Panel) -> Iterator[Json]:
    for query in panel.queries:
        if query.unit:
            yield {
                "matcher": {"id": "byName", "options": query.legend},
                "properties": [
                    {"id": "unit", "value": query.unit},
                    {"id": "custom.axisPlacement", "value": "right"},
                    {"id": "custom.lineWidth", "value": 2},
                ],
            }


_OPTIONS: dict[str, Json] = {
    "timeseries": {
        "legend": {
            "calcs": ["mean", "max"],
            "displayMode": "table",
            "placement": "bottom",
            "showLegend": True,
        },
        "tooltip": {"mode": "multi", "sort": "desc"},
    },
    "stat": {
        "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
        "colorMode": "value",
        "graphMode": "area",
        "textMode": "auto",
        "justifyMode": "auto",
        "orientation": "auto",
    },
    "heatmap": {
        "calculate": False,
        "cellGap": 1,
        "color": {"mode": "scheme", "scheme": "Oranges", "steps": 64, "exponent": 0.5},
        "yAxis": {"axisPlacement": "left"},
        "legend": {"show": True},
        "tooltip": {"show": True, "yHistogram": False},
    },
}


if __name__ == "__main__":
    PATH.write_text(document(), "utf-8")
