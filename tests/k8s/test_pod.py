"""A pod as the injector reads it."""

from typing import Any

import pytest

from proxy.k8s.pod import NotAPod, Variable, read


def test_what_matters_is_read() -> None:
    pod = read(
        {
            "metadata": {
                "labels": {"a": True, "b": None},
                "annotations": {"n": 1},
                "ownerReferences": [{"kind": "Job"}],
            },
            "spec": {
                "containers": [
                    {
                        "name": "app",
                        "env": [
                            {"name": "A", "value": "1"},
                            {"name": "B", "value": "$(A)"},
                            {"name": "C", "valueFrom": {}},
                            {"name": "D"},
                        ],
                        "envFrom": [{}],
                        "ports": [
                            {"containerPort": 80},
                            {"containerPort": 53, "protocol": "UDP"},
                            {"name": "none"},
                        ],
                        "args": ["serve"],
                        "volumeMounts": [{"name": "v"}],
                    }
                ],
                "initContainers": [{"name": "init"}],
                "volumes": [{"name": "v"}],
                "os": {"name": "windows"},
                "restartPolicy": "Never",
            },
        }
    )
    assert pod.labels == {"a": "true", "b": ""}
    assert pod.annotations == {"n": "1"}
    assert pod.owners == ("Job",)
    (app,) = pod.containers
    assert (app.path, app.name, app.has_env_from) == ("/spec/containers/0", "app", True)
    assert app.env == (
        Variable("A", "1"),
        Variable("B", None),
        Variable("C", None),
        Variable("D", ""),
    )
    assert (app.ports, app.args, app.volumes) == ((80,), ("serve",), ("v",))
    assert [each.name for each in pod.all_containers] == ["init", "app"]
    assert (pod.volumes, pod.is_windows, pod.restart_policy) == (("v",), True, "Never")


def test_what_is_not_there_is_none() -> None:
    pod = read({"spec": {"containers": [{"name": "app"}], "initContainers": None}})
    assert not pod.has_metadata
    assert (pod.labels, pod.annotations, pod.volumes, pod.init_containers) == (None,) * 4
    assert pod.containers[0].env is None
    assert not pod.is_windows
    on_windows = {"containers": [], "nodeSelector": {"kubernetes.io/os": "windows"}}
    assert read({"spec": on_windows}).is_windows


@pytest.mark.parametrize(
    ("value", "place"),
    [
        ([], "the pod"),
        ({}, "spec"),
        ({"spec": []}, "spec"),
        ({"metadata": 1, "spec": {}}, "metadata"),
        ({"metadata": {"labels": []}, "spec": {"containers": []}}, "metadata.labels"),
        ({"spec": {}}, "spec.containers"),
        ({"spec": {"containers": None}}, "spec.containers"),
        ({"spec": {"containers": {}}}, "spec.containers"),
        ({"spec": {"containers": [1]}}, "spec.containers"),
        ({"spec": {"containers": [{"env": "x"}]}}, r"spec.containers\[0\]"),
        (
            {"spec": {"containers": [], "initContainers": [{"ports": 1}]}},
            r"spec.initContainers\[0\].ports",
        ),
        ({"spec": {"containers": [], "volumes": "x"}}, "spec.volumes"),
    ],
)
def test_what_has_another_form_is_refused_by_its_place(value: Any, place: str) -> None:
    with pytest.raises(NotAPod, match=f"^{place} is no "):
        read(value)
