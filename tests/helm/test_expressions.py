"""Rules and dashboard name only what there is."""

import re

import pytest

from proxy.telemetry.catalog import CATALOG
from proxy.telemetry.described import Kind, Named
from tests.helm.expressions import CHART, alerts, expressions, rules, selectors

EVERYWHERE = {"namespace", "job", "instance", "le", "worker"}
RUNBOOK = (CHART.parents[1] / "docs" / "runbook.md").read_text("utf-8")


@pytest.mark.parametrize("expression", [*(rule["expr"] for rule in rules()), *expressions()])
def test_what_an_expression_names_is_there(expression: str) -> None:
    for name, matchers in selectors(expression):
        described = CATALOG[re.sub("_(total|bucket|sum|count)$", "", name)]
        endings = ("_bucket", "_sum", "_count")
        if described.kind is Kind.HISTOGRAM:
            assert name in {described.name + ending for ending in endings}
        else:
            assert name == described.name
        for label, operator, value in matchers:
            if label in EVERYWHERE:
                continue
            values = described.labels[label]
            if isinstance(values, Named):
                continue
            named = value.split("|") if operator in ("=~", "!~") else [value]
            assert set(named) <= {*values} or value == ".*", (name, label, value)


@pytest.mark.parametrize("expression", [*(rule["expr"] for rule in rules()), *expressions()])
def test_records_that_are_read_are_written(expression: str) -> None:
    written = {rule["record"] for rule in rules() if "record" in rule}
    assert set(re.findall(r"\breprise:[a-z0-9_:]+", expression)) <= written


@pytest.mark.parametrize("alert", alerts(), ids=lambda alert: alert["alert"])
def test_an_alert_says_what_to_do(alert: dict[str, dict[str, str]]) -> None:
    name, told = str(alert["alert"]), alert["annotations"]
    assert name.startswith("Reprise")
    assert alert["labels"]["severity"] in {"critical", "warning", "info"}
    assert told.keys() == {"summary", "description", "runbook_url"}
    assert told["runbook_url"] == f"docs/runbook.md#{name.lower()}"
    assert f"\n## {name}\n" in RUNBOOK


def test_the_runbook_has_no_more_than_there_are_alerts() -> None:
    told = re.findall(r"^## (Reprise\w+)$", RUNBOOK, re.MULTILINE)
    assert told == [alert["alert"] for alert in alerts()]
