"""Which pods are left alone."""

from pathlib import Path
from typing import Any

import pytest

from proxy.k8s.pod import read
from proxy.k8s.refusal import Reason, Surroundings, refuse, sidecar_of
from tests.k8s.pods import injected, pod

HERE = Surroundings("apps")
MIRROR = {"kubernetes.io/config.mirror": "5f3c"}


def asked(
    value: dict[str, Any], surroundings: Surroundings = HERE, *, is_native: bool = True
) -> Reason | None:
    refusal = refuse(read(value), surroundings, own_namespace="reprise", is_native=is_native)
    if refusal is None:
        return None
    assert bool(refusal.warning) is (refusal.reason is not Reason.OPTED_OUT)
    return refusal.reason


def test_every_reason_is_documented() -> None:
    documented = (Path(__file__).parents[2] / "docs/kubernetes.md").read_text("utf-8")
    for reason in Reason:
        assert f"`{reason.value}`" in documented


def test_an_ordinary_pod_is_not() -> None:
    assert asked(pod()) is None
    assert asked(pod(labels={"reprise.dev/inject": "true"})) is None


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (pod(labels={"reprise.dev/inject": "false"}), Reason.OPTED_OUT),
        (pod(labels={"reprise.dev/inject": False}), Reason.OPTED_OUT),
        (pod(labels={"reprise.dev/inject": "disabled"}), Reason.BAD_LABEL),
        (pod(annotations=MIRROR), Reason.MIRROR_POD),
        (pod(os={"name": "windows"}), Reason.WINDOWS),
        (pod(hostNetwork=True), Reason.HOST_NETWORK),
        (pod({"name": "reprise"}), Reason.NAME_TAKEN),
        (pod(initContainers=[{"name": "reprise"}]), Reason.NAME_TAKEN),
        (pod({"name": "app", "ports": [{"containerPort": 11480}]}), Reason.PORT_TAKEN),
        (pod(initContainers=[{"ports": [{"containerPort": 11481}]}]), Reason.PORT_TAKEN),
    ],
)
def test_what_a_pod_is_left_alone_for(value: dict[str, Any], reason: Reason) -> None:
    assert asked(value) is reason


@pytest.mark.parametrize("namespace", ["kube-system", "kube-public", "kube-node-lease"])
def test_the_systems_namespaces_are(namespace: str) -> None:
    assert asked(pod(), Surroundings(namespace)) is Reason.SYSTEM_NAMESPACE


def test_the_injectors_own_namespace_is() -> None:
    assert asked(pod(), Surroundings("reprise")) is Reason.OWN_NAMESPACE
    assert refuse(read(pod()), Surroundings(), own_namespace="", is_native=True) is None


def test_opting_out_is_never_commented() -> None:
    assert asked(pod(labels={"reprise.dev/inject": "false"}, hostNetwork=True)) is Reason.OPTED_OUT


@pytest.mark.parametrize(
    ("value", "surroundings"),
    [
        (pod(ownerReferences=[{"kind": "Job"}]), HERE),
        (pod(restartPolicy="Never"), HERE),
        (pod(restartPolicy="OnFailure"), HERE),
        (pod(), Surroundings("apps", is_of_job=True)),
    ],
)
def test_what_ends_by_itself_gets_no_classic_sidecar(
    value: dict[str, Any], surroundings: Surroundings
) -> None:
    assert asked(value, surroundings, is_native=False) is Reason.CLASSIC_JOB
    assert asked(value, surroundings) is None


def test_a_port_of_another_protocol_is_no_clash() -> None:
    udp = {"name": "app", "ports": [{"containerPort": 11480, "protocol": "UDP"}]}
    assert asked(pod(udp)) is None


def test_our_own_sidecar_is_no_clash() -> None:
    after = injected(pod())
    assert asked(after) is None
    ours = sidecar_of(read(after))
    assert ours is not None
    assert ours.name == "reprise"
    after["metadata"]["labels"] = {}
    assert sidecar_of(read(after)) is None
    assert asked(after) is Reason.NAME_TAKEN
