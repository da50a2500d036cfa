"""Both Helms take the chart and make the same of it, each time."""

import tarfile

import pytest

from tests.helm.documents import CHART
from tests.outside.helm.conftest import Renderings
from tests.outside.helm.golden import EXAMPLES, path_of
from tests.outside.helm.rendering import CASES, HELMS, Case, helm


@pytest.mark.parametrize("program", HELMS)
def test_helm_finds_nothing_to_complain_of(program: str) -> None:
    for case in CASES:
        version = f"--kube-version={case.versions[-1]}.0"
        values = f"--values={case.path}"
        assert "0 chart(s) failed" in helm(program, "lint", "--strict", version, values, str(CHART))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_it_renders_the_same_each_time_with_both_helms(case: Case, renderings: Renderings) -> None:
    for version in case.versions:
        texts = [[renderings[case, version, program, time] for time in (0, 1)] for program in HELMS]
        assert all(first == second for first, second in texts), version
        # They put kinds that they do not know in different places.
        assert len({tuple(sorted(first.split("---\n"))) for first, _ in texts}) == 1, version


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_it_renders_to_what_is_kept(case: Case, renderings: Renderings) -> None:
    kept = path_of(case).read_text("utf-8") if path_of(case).exists() else ""
    assert renderings[case, case.versions[-1], "helm4", 0] == kept, "run `make helm-golden`"


def test_nothing_is_kept_of_a_case_that_is_gone() -> None:
    assert {path.name for path in EXAMPLES.iterdir()} == {case.name for case in CASES}


@pytest.mark.parametrize("program", HELMS)
def test_it_is_packed_without_what_only_its_developers_need(
    program: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    directory = tmp_path_factory.mktemp(program)
    helm(program, "package", "--destination", str(directory), str(CHART))
    (archive,) = directory.iterdir()
    shown = helm(program, "show", "all", str(archive))
    assert "gateway:" in shown
    with tarfile.open(archive) as packed:
        names = packed.getnames()
    assert "reprise/dashboards/reprise.json" in names
    assert "reprise/rules/reprise.yaml" in names
    assert "reprise/values.schema.json" in names
    assert not [name for name in names if "/ci/" in name or "/examples/" in name]
