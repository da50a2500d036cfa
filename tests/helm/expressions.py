"""The PromQL of rules and dashboard, and what it names."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

CHART = Path(__file__).parents[2] / "helm" / "reprise"
RULES = CHART / "rules" / "reprise.yaml"
DASHBOARD = CHART / "dashboards" / "reprise.json"

_SELECTOR = re.compile(r"\b((?:reprise|process)_[a-z0-9_]+)(?:\{([^}]*)\})?")
_MATCHER = re.compile(r'([a-zA-Z_]+)\s*(=~|!~|!=|=)\s*"([^"]*)"')
_VARIABLES = {
    "$__rate_interval": "5m",
    "$__range": "1h",
    "$input_price": "2.5",
    "$output_price": "10",
}


def rules() -> list[dict[str, Any]]:
    """All rules, alerts and records."""
    groups = yaml.safe_load(RULES.read_text("utf-8"))["groups"]
    return [rule for group in groups for rule in group["rules"]]


def alerts() -> list[dict[str, Any]]:
    """Those that are alerts."""
    return [rule for rule in rules() if "alert" in rule]


def panels() -> Iterator[dict[str, Any]]:
    """All panels of the dashboard but the rows."""
    for panel in json.loads(DASHBOARD.read_text("utf-8"))["panels"]:
        if panel["type"] != "row":
            yield panel


def expressions() -> list[str]:
    """The queries of all panels, with values for Grafana's variables."""
    return [resolved(target["expr"]) for panel in panels() for target in panel.get("targets", ())]


def resolved(expression: str) -> str:
    """A query as Prometheus gets it."""
    for name, value in _VARIABLES.items():
        expression = expression.replace(name, value)
    return re.sub(r'=~"\$[a-z]+"', '=~".*"', expression)


def selectors(expression: str) -> Iterator[tuple[str, list[tuple[str, str, str]]]]:
    """Every metric of ours that is named, with the matchers of its labels."""
    for name, matchers in _SELECTOR.findall(expression):
        yield name, _MATCHER.findall(matchers)
