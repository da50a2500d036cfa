"""What both Helms make of all cases, once for all tests."""

from concurrent.futures import ThreadPoolExecutor
from itertools import product

import pytest

from tests.outside.helm.rendering import CASES, HELMS, Case, Rendered, template

Renderings = dict[tuple[Case, str, str, int], str]
"""Case, version of Kubernetes, program, and which of two times."""


@pytest.fixture(scope="session")
def renderings() -> Renderings:
    """Every case, by both Helms, for all versions of Kubernetes that it is for, twice."""
    wanted = [
        (case, version, program, time)
        for case in CASES
        for version, program, time in product(case.versions, HELMS, range(2))
    ]
    with ThreadPoolExecutor(4) as pool:
        texts = pool.map(
            lambda of: template(of[2], of[1], "--values", str(of[0].path)),
            wanted,
        )
        return dict(zip(wanted, texts, strict=True))


@pytest.fixture(
    params=[(case, version) for case in CASES for version in case.versions],
    ids=lambda of: f"{of[0].name}-{of[1]}",
)
def rendered(request: pytest.FixtureRequest, renderings: Renderings) -> Rendered:
    """One of the cases for one of the versions; each test sees all of them."""
    case, version = request.param
    return Rendered(case, version, renderings[case, version, "helm4", 0])
