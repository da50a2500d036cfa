"""Rules, dashboard and expositions, as the real promtool sees them."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from proxy.k8s.injection import OUTCOMES, result_of
from proxy.telemetry.admissions import Admissions
from tests.conftest import StartProxy
from tests.fakes.client import ask, question
from tests.helm.expressions import RULES, alerts, expressions
from tests.outside.helm.prometheus import PROMTOOL
from tests.outside.helm.rules_cases import BAD, CASES, GOOD, Case


def promtool(*arguments: str, told: bytes = b"") -> str:
    """What it says; fails where it does not like something."""
    done = subprocess.run(  # noqa: S603 - a program that is installed for this
        [str(PROMTOOL), *arguments],
        input=told,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    said = done.stdout.decode()
    assert done.returncode == 0, said
    return said


def test_the_rules_are_rules() -> None:
    assert "SUCCESS" in promtool("check", "rules", str(RULES))


@pytest.fixture(scope="module")
def summaries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The rules; of what alerts tell only the summaries, for promtool compares all of it."""
    content = yaml.safe_load(RULES.read_text("utf-8"))
    for rule in (rule for group in content["groups"] for rule in group["rules"]):
        if "alert" in rule:
            rule["annotations"] = {"summary": rule["annotations"]["summary"]}
    file = tmp_path_factory.mktemp("rules") / "rules.yaml"
    file.write_text(yaml.safe_dump(content))
    return file


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.alert)
def test_an_alert_fires_for_what_is_bad_and_for_nothing_else(
    case: Case, summaries: Path, tmp_path: Path
) -> None:
    file = tmp_path / "test.yaml"
    file.write_text(yaml.safe_dump(promtool_test(case, summaries)))
    assert "SUCCESS" in promtool("test", "rules", str(file))


def test_every_alert_is_tried() -> None:
    assert {case.alert for case in CASES} == {alert["alert"] for alert in alerts()}


def promtool_test(case: Case, rules: Path) -> dict[str, Any]:
    """One alert's test file: nothing at first; in the end the bad one."""
    given = [
        {"series": name.replace('"P"', f'"{label}"').replace("L}", labels + "}"), "values": value}
        for name, values in case.series.items()
        for labels, label, value in zip((BAD, GOOD), "bg", values, strict=True)
        if value
    ]
    labels = {"severity": case.severity, "namespace": "n", "job": "bad", "instance": "b"}
    labels = {name: value for name, value in labels.items() if name not in case.loses}
    expected = [{"exp_labels": labels | case.labels, "exp_annotations": {"summary": case.summary}}]
    group = {
        "interval": case.interval,
        "input_series": given,
        "alert_rule_test": [
            {"eval_time": "1m", "alertname": case.alert, "exp_alerts": []},
            {"eval_time": case.at, "alertname": case.alert, "exp_alerts": expected},
        ],
    }
    return {"rule_files": [str(rules)], "evaluation_interval": case.interval, "tests": [group]}


async def test_what_a_proxy_exposes_is_as_prometheus_wants_it(proxy: StartProxy) -> None:
    async with proxy() as app:
        for _ in range(2):
            await ask(app.url, question("Why?"))
        page = app.exposition()
    promtool("check", "metrics", told=page)


def test_what_the_injector_exposes_is_as_prometheus_wants_it() -> None:
    admissions = Admissions((result_of(one), one.value) for one in OUTCOMES)
    admissions.count("skipped", "windows", 0.1)
    promtool("check", "metrics", told=admissions.exposition())


def test_every_expression_of_the_dashboard_can_be_read(tmp_path: Path) -> None:
    rules = [
        {"record": f"x:x{number}", "expr": expression}
        for number, expression in enumerate(expressions())
    ]
    file = tmp_path / "rules.yaml"
    file.write_text(json.dumps({"groups": [{"name": "x", "rules": rules}]}))
    promtool("check", "rules", str(file))
