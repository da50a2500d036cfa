"""The catalogue: names as Prometheus wants them, and closed sets that are those of the code."""

import importlib
import pkgutil
import re

import pytest

from proxy.core.cache.outcome import MissReason
from proxy.core.errors import ProxyError, UpstreamError, codes
from proxy.core.meaning import gate, guards
from proxy.core.meaning.uncompared import Uncompared
from proxy.core.wire.operation import discover
from proxy.k8s.injection import OUTCOMES, result_of
from proxy.pipeline.background import Kind as WhyAsked
from proxy.pipeline.background import Result
from proxy.pipeline.feedback import Verdict
from proxy.telemetry import catalog_traffic as traffic
from proxy.telemetry.catalog import CATALOG, figure
from proxy.telemetry.catalog_injector import INJECTOR, REASONS
from proxy.telemetry.catalog_parts import PARTS
from proxy.telemetry.described import Described, Kind, Named
from proxy.telemetry.load import CUT


def values(described: Described, label: str) -> set[str]:
    """The closed set of a label."""
    found = described.labels[label]
    assert not isinstance(found, Named)
    return set(found)


@pytest.mark.parametrize("described", CATALOG.values(), ids=CATALOG.keys())
def test_a_name_follows_the_rules(described: Described) -> None:
    """https://prometheus.io/docs/practices/naming: what promtool does not see is seen here."""
    name = described.name
    assert re.fullmatch("(reprise|process)_[a-z_]+[a-z]", name)
    assert name.endswith("_total") == (described.kind is Kind.COUNTER)
    assert not re.search("_(age|ms|milliseconds|minutes|percent|kb|mb)(_|$)", name)
    if described.kind is Kind.HISTOGRAM:
        assert name.endswith(("_seconds", "_similarity"))
    assert described.meaning.endswith(".")
    assert not {"le", "worker", "job", "instance", "namespace", "pod"} & described.labels.keys()


def test_no_metric_is_described_twice() -> None:
    assert len(CATALOG) == len(traffic.TRAFFIC) + len(PARTS) + len(INJECTOR)


def test_a_figure_is_found_by_the_name_that_its_part_has_for_it() -> None:
    assert figure("evictions").name == "reprise_evictions_total"
    with pytest.raises(KeyError):
        figure("no_such")


def test_the_operations_are_those_that_there_are() -> None:
    assert set(traffic.OPERATIONS) == {operation.name for operation in discover()}


def test_the_guards_are_those_that_there_are() -> None:
    modules = [
        importlib.import_module(f"{guards.__name__}.{found.name}")
        for found in pkgutil.iter_modules(guards.__path__)
    ]
    assert set(traffic.GUARDS) == {one.NAME for one in modules if hasattr(one, "compare")}


def test_what_comes_of_looking_by_meaning_is_known() -> None:
    known = values(traffic.MEANINGS, "result")
    assert known >= {*Uncompared, *gate.Reason, MissReason.REQUEST} - {gate.Reason.NONE}


def test_what_comes_of_a_call_to_an_upstream_is_known() -> None:
    kinds: list[type[UpstreamError]] = [UpstreamError, *UpstreamError.__subclasses__()]
    errors = {kind.code for kind in kinds}
    classes = {f"{first}xx" for first in range(1, 6)}
    assert set(traffic.RESULTS) == classes | errors | {"429", CUT}
    assert set(codes()) >= errors | {ProxyError.code}


def test_what_comes_of_an_injection_is_known() -> None:
    assert tuple(one.value for one in OUTCOMES) == REASONS
    assert values(INJECTOR[0], "result") == {result_of(one) for one in OUTCOMES}


def test_reasons_of_other_parts_are_known() -> None:
    assert values(traffic.BACKGROUND, "kind") == set(WhyAsked)
    assert values(traffic.BACKGROUND, "result") == set(Result)
    assert values(traffic.FEEDBACK, "verdict") == set(Verdict)
