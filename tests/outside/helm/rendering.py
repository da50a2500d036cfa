"""Runs the real Helm, both majors, on the chart."""

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from tests.helm.documents import CHART
from tests.outside.helm.install import KUBE

HELMS = ("helm3", "helm4")
KUBERNETES = ("1.31", "1.33", "1.36")
"""The oldest that the chart is for, the first with native sidecars for all, a new one."""
RELEASE, NAMESPACE = "reprise", "apps"

_NEEDS = re.compile(r"^# Needs Kubernetes (\d\.\d+)\b", re.MULTILINE)
_API_VERSIONS = {"1.36": ("admissionregistration.k8s.io/v1/MutatingAdmissionPolicy",)}
"""What a cluster of this version serves and no Helm knows of by itself."""
_SECONDS = 60.0


class HelmError(Exception):
    """What Helm says of values that it does not take."""


@dataclass(frozen=True, slots=True)
class Case:
    """One of the sets of values in ci/."""

    path: Path

    @property
    def name(self) -> str:
        """As its directory in examples/."""
        return self.path.name.removesuffix("-values.yaml")

    @property
    def versions(self) -> tuple[str, ...]:
        """The versions of Kubernetes that it is for; `# Needs Kubernetes 1.36` in it says so."""
        needs = _NEEDS.search(self.path.read_text("utf-8"))
        return KUBERNETES if needs is None else KUBERNETES[KUBERNETES.index(needs[1]) :]


CASES = tuple(map(Case, sorted((CHART / "ci").glob("*-values.yaml"))))


@dataclass(frozen=True, slots=True)
class Rendered:
    """What Helm made of a case."""

    case: Case
    version: str
    text: str

    def __str__(self) -> str:
        return f"{self.case.name}-{self.version}"

    def objects(self) -> list[dict[str, Any]]:
        """What would be applied, the pods of `helm test` among them."""
        return _parsed(self.text)

    def of(self, kind: str, name: str = "") -> list[dict[str, Any]]:
        """The objects of a kind, with this name if one is given."""
        return [
            item
            for item in self.objects()
            if item["kind"] == kind and name in ("", item["metadata"]["name"])
        ]

    def pods(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """The specification of every pod that comes of it, and which one it is."""
        for item in self.objects():
            name = f"{item['kind']}/{item['metadata']['name']}"
            if item["kind"] == "Pod":
                yield name, item["spec"]
            elif item["kind"] in ("Deployment", "Job", "StatefulSet", "DaemonSet"):
                yield name, item["spec"]["template"]["spec"]


@cache
def _parsed(text: str) -> list[dict[str, Any]]:
    return [item for item in yaml.load_all(text, Loader=yaml.CSafeLoader) if item]


def helm(program: str, *arguments: str) -> str:
    """What Helm prints. Raises HelmError where it refuses."""
    done = subprocess.run(  # noqa: S603 - the program that install.py put there
        [KUBE / program, *arguments],
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
    )
    if done.returncode:
        raise HelmError(done.stderr)
    return done.stdout


def template(program: str, version: str, *arguments: str) -> str:
    """The chart as it is rendered for a version of Kubernetes."""
    apis = [f"--api-versions={api}" for api in _API_VERSIONS.get(version, ())]
    place = ("--namespace", NAMESPACE, "--kube-version", f"{version}.0")
    return helm(program, "template", RELEASE, str(CHART), *place, *apis, *arguments)
