"""What each case renders to, kept in helm/reprise/examples so that a change shows in review.

`python -m tests.outside.helm.golden` writes them anew; test_golden.py holds them.
"""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.helm.documents import CHART
from tests.outside.helm.rendering import CASES, Case, template

EXAMPLES = CHART / "examples"


def path_of(case: Case) -> Path:
    """Where what a case renders to is kept."""
    return EXAMPLES / case.name / "rendered.yaml"


def write(case: Case) -> None:
    """Keep what the case renders to for the newest version of Kubernetes."""
    path_of(case).parent.mkdir(parents=True, exist_ok=True)
    text = template("helm4", case.versions[-1], "--values", str(case.path))
    path_of(case).write_text(text, "utf-8")


if __name__ == "__main__":
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(write, CASES))
