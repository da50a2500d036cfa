"""Which pods are left alone, and what their owners are told."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from proxy.k8s.names import (
    ADMIN_PORT,
    INJECT,
    INJECTED,
    MIRROR,
    PORT,
    SIDECAR,
    SYSTEM_NAMESPACES,
)
from proxy.k8s.pod import Container, Pod
from proxy.k8s.wishes import shown


class Reason(Enum):
    """Why a pod is left alone."""

    OPTED_OUT = "opted-out"
    BAD_LABEL = "bad-label"
    SYSTEM_NAMESPACE = "system-namespace"
    OWN_NAMESPACE = "own-namespace"
    MIRROR_POD = "mirror-pod"
    WINDOWS = "windows"
    HOST_NETWORK = "host-network"
    NAME_TAKEN = "name-taken"
    PORT_TAKEN = "port-taken"
    CLASSIC_JOB = "classic-job"
    NO_UPSTREAM = "no-upstream"


@dataclass(frozen=True, slots=True)
class Refusal:
    """A pod is left alone."""

    reason: Reason
    warning: str
    """What its owner should know; empty where he wanted it so."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Where a pod is to live."""

    namespace: str = ""
    """Empty where it is not known."""
    is_of_job: bool = False
    """It comes from a Job, though it does not say so itself."""


def sidecar_of(pod: Pod) -> Container | None:
    """The sidecar that the pod has from us."""
    if (pod.labels or {}).get(INJECTED) != "true":
        return None
    return next((each for each in pod.all_containers if each.name == SIDECAR), None)


def refuse(
    pod: Pod, surroundings: Surroundings, *, own_namespace: str, is_native: bool
) -> Refusal | None:
    """Why this pod is left alone; None where it is not. The first reason counts.

    `is_native` is whether its sidecar is to be a native one.
    """
    found = _refusals(pod, surroundings, own_namespace, is_native=is_native)
    return next(found, None)


def _refusals(
    pod: Pod, surroundings: Surroundings, own_namespace: str, *, is_native: bool
) -> Iterator[Refusal]:
    label = (pod.labels or {}).get(INJECT, "true")
    if label == "false":
        yield Refusal(Reason.OPTED_OUT, "")
    elif label != "true":
        told = f'label {INJECT}: {shown(label)} is neither "true" nor "false"'
        yield Refusal(Reason.BAD_LABEL, told)
    if surroundings.namespace in SYSTEM_NAMESPACES:
        yield Refusal(Reason.SYSTEM_NAMESPACE, f"the namespace is {surroundings.namespace}")
    if own_namespace and surroundings.namespace == own_namespace:
        yield Refusal(Reason.OWN_NAMESPACE, "the namespace is that of the injector itself")
    if MIRROR in (pod.annotations or {}):
        yield Refusal(Reason.MIRROR_POD, "a static pod is told of by its node, it cannot change")
    if pod.is_windows:
        yield Refusal(Reason.WINDOWS, "there is no image for Windows")
    if pod.is_on_host_network:
        told = "with hostNetwork its ports would be the node's; set OPENAI_BASE_URL to a gateway"
        yield Refusal(Reason.HOST_NETWORK, told)
    yield from _clashes(pod)
    if not is_native and _ends(pod, surroundings):
        told = (
            "a classic sidecar would keep a Job from ending; use native sidecars "
            "(Kubernetes 1.29 or newer), or a gateway"
        )
        yield Refusal(Reason.CLASSIC_JOB, told)


def _clashes(pod: Pod) -> Iterator[Refusal]:
    ours = sidecar_of(pod)
    for container in pod.all_containers:
        if container is ours:
            continue
        if container.name == SIDECAR:
            told = f"it has a container {SIDECAR} that is not the injector's; rename it"
            yield Refusal(Reason.NAME_TAKEN, told)
        for port in {PORT, ADMIN_PORT} & set(container.ports):
            told = f"container {shown(container.name)} has port {port}, which the sidecar needs"
            yield Refusal(Reason.PORT_TAKEN, told)


def _ends(pod: Pod, surroundings: Surroundings) -> bool:
    """Whether it is to end by itself. What must run for ever is always begun again."""
    is_of_job = surroundings.is_of_job or "Job" in pod.owners
    return is_of_job or pod.restart_policy in ("Never", "OnFailure")
