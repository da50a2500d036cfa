"""What annotations ask for."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.k8s.wishes import EnvPolicy, Wishes, read, shown


def test_each_annotation_is_understood() -> None:
    asked = {
        "upstream": "HTTP://llm:8000/",
        "config-map": "team.settings",
        "containers": "app, worker",
        "env-policy": "force",
        "native-sidecar": "false",
        "image": "registry.example:5000/reprise@sha256:00",
        "log-level": "debug",
        "cpu-request": "50m",
        "cpu-limit": "2",
        "memory-request": "128Mi",
        "memory-limit": "1Gi",
    }
    annotations = {f"reprise.dev/{name}": f" {value} " for name, value in asked.items()}
    wishes, warnings = read({**annotations, "other.example/upstream": "x"})
    assert warnings == []
    assert wishes == Wishes(
        upstream="http://llm:8000",
        config_map="team.settings",
        containers=frozenset({"app", "worker"}),
        env_policy=EnvPolicy.FORCE,
        is_native=False,
        image="registry.example:5000/reprise@sha256:00",
        log_level="debug",
        cpu_request="50m",
        cpu_limit="2",
        memory_request="128Mi",
        memory_limit="1Gi",
    )


@pytest.mark.parametrize(
    ("name", "value", "remedy"),
    [
        ("upstream", "llm:8000", "http://127.0.0.1:11434"),
        ("upstream", "http://h/$(X)", "without $( )"),
        ("config-map", "Team/Settings", "name of a ConfigMap"),
        ("containers", "app,,worker", "app,worker"),
        ("env-policy", "always", '"if-unset", "force" or "none"'),
        ("native-sidecar", "yes", '"true" or "false"'),
        ("image", "two words", "reprise:0.1.0"),
        ("log-level", "loud", '"warning" or "error"'),
        ("cpu-request", "1Gi", "100m"),
        ("cpu-limit", "", "100m"),
        ("memory-request", "256", "256Mi"),
        ("memory-limit", "100m", "256Mi"),
    ],
)
def test_what_cannot_be_meant_is_ignored_with_its_remedy(
    name: str, value: str, remedy: str
) -> None:
    wishes, (warning,) = read({f"reprise.dev/{name}": value})
    assert wishes == Wishes()
    assert warning.startswith(f"annotation reprise.dev/{name}: {shown(value)} cannot be used")
    assert remedy in warning


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("cpu-requests", "did you mean reprise.dev/cpu-request?"),
        ("inject", "it is a label"),
        ("injected", "it is a label"),
        ("zzz", "known are upstream, config-map"),
    ],
)
def test_an_annotation_that_is_not_known_is_told(name: str, remedy: str) -> None:
    wishes, (warning,) = read({f"reprise.dev/{name}": "x"})
    assert wishes == Wishes()
    assert remedy in warning


def test_every_annotation_is_documented() -> None:
    documented = (Path(__file__).parents[2] / "docs/kubernetes.md").read_text("utf-8")
    _, (warning,) = read({"reprise.dev/zzz": "x"})
    for name in warning.rpartition("known are ")[2].split(", "):
        assert f"`{name}`" in documented


@given(st.text())
def test_what_others_wrote_is_told_in_printable_characters(text: str) -> None:
    told = shown(text)
    assert told.isascii()
    assert told.isprintable()
    read({f"reprise.dev/{text}": text, "reprise.dev/upstream": text})
