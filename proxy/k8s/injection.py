"""What is done to a pod so that it has its sidecar: each piece is put where it is missing.

So a pod that has all of them stays as it is, and one to which others have added a container since
gets the rest. Nothing is taken away or moved, and of what others wrote only a variable's value is
replaced, where its owner asks for that.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from proxy.k8s import wishes as annotations
from proxy.k8s.environment import rewrite
from proxy.k8s.json_patch import Json, Operation, add, step
from proxy.k8s.names import DEFAULT_CONTAINER, INJECTED, SIDECAR
from proxy.k8s.pod import Container, NotAPod, Pod, read
from proxy.k8s.refusal import Reason, Refusal, Surroundings, refuse, sidecar_of
from proxy.k8s.settings import Settings
from proxy.k8s.sidecar import container, volumes
from proxy.k8s.wishes import Wishes


class Done(Enum):
    """What was done to a pod that is not left alone."""

    NATIVE = "native"
    CLASSIC = "classic"
    COMPLETED = "completed"
    """It had its sidecar; something else was missing."""
    NOTHING = "complete"
    """It had everything."""


class Fault(Enum):
    """Why nobody can say what is to be done."""

    MALFORMED = "malformed"
    TOO_LARGE = "too-large"
    NOT_A_POD = "not-a-pod"
    NOT_A_CREATION = "not-a-creation"
    INTERNAL = "internal"


Outcome: TypeAlias = Done | Reason | Fault


def result_of(outcome: Outcome) -> str:
    """The outcome in one word: injected, unchanged, skipped or failed."""
    match outcome:
        case Done.NOTHING:
            return "unchanged"
        case Done():
            return "injected"
        case Reason():
            return "skipped"
        case Fault():
            return "failed"


OUTCOMES: tuple[Outcome, ...] = (*Done, *Reason, *Fault)


@dataclass(frozen=True, slots=True)
class Injection:
    """What is to be done to a pod, and what its owner should know."""

    outcome: Outcome
    patch: tuple[Operation, ...] = ()
    warnings: tuple[str, ...] = ()


def inject(value: object, surroundings: Surroundings, settings: Settings) -> Injection:
    """Give a pod (JSON) its sidecar."""
    try:
        pod = read(value)
    except NotAPod as error:
        return Injection(Fault.MALFORMED, warnings=(f"the pod is left alone: {error}",))
    wishes, warnings = annotations.read(pod.annotations or {})
    sidecar = sidecar_of(pod)
    is_native = settings.is_native if wishes.is_native is None else wishes.is_native
    if sidecar is not None:
        is_native = sidecar in (pod.init_containers or ())
    refusal = refuse(pod, surroundings, own_namespace=settings.namespace, is_native=is_native)
    if refusal is not None:
        return _left_alone(refusal, ())
    running = None if sidecar is None else _upstream_of(sidecar)
    is_named = wishes.upstream is not None or wishes.config_map is not None
    environment = rewrite(
        _told(pod, wishes, sidecar, is_native=is_native),
        settings.variables,
        wishes.env_policy,
        upstream=running,
        is_named=is_named or (sidecar is not None and running is None),
    )
    upstream = wishes.upstream or environment.upstream
    if upstream is None and wishes.config_map is None:
        upstream = settings.upstream
    if sidecar is None and upstream is None and wishes.config_map is None:
        return _left_alone(_NO_UPSTREAM, warnings)
    warnings += _strangers(pod, wishes)
    added: list[Operation] = []
    mounted = () if sidecar is None else sidecar.volumes
    if sidecar is None:
        new, told = container(settings, wishes, upstream=upstream, is_native=is_native)
        warnings += told
        mounted = tuple(mount["name"] for mount in new["volumeMounts"])
        added.append(_placed(pod, new, is_native=is_native))
    added += _volumes(pod, mounted, wishes.config_map)
    added += _metadata(pod, is_native=is_native)
    # The variables first: their places are those of before the sidecar was put in front.
    patch = (*environment.operations, *added)
    return Injection(
        _outcome(patch, sidecar, is_native=is_native),
        patch,
        tuple(warnings + environment.warnings),
    )


_NO_UPSTREAM = Refusal(
    Reason.NO_UPSTREAM,
    "nobody says where the LLM server is; annotate the pod with reprise.dev/upstream or "
    "reprise.dev/config-map",
)


def _left_alone(refusal: Refusal, warnings: Iterable[str]) -> Injection:
    told = [f"the pod gets no sidecar: {refusal.warning}"] if refusal.warning else []
    return Injection(refusal.reason, warnings=(*warnings, *told))


def _outcome(
    patch: tuple[Operation, ...], sidecar: Container | None, *, is_native: bool
) -> Outcome:
    if not patch:
        return Done.NOTHING
    if sidecar is not None:
        return Done.COMPLETED
    return Done.NATIVE if is_native else Done.CLASSIC


def _told(
    pod: Pod, wishes: Wishes, sidecar: Container | None, *, is_native: bool
) -> list[Container]:
    """The containers that are told of the proxy: those that begin after it."""
    behind: list[Container] = []
    if is_native:
        behind += pod.init_containers or ()
        if sidecar is not None:
            behind = behind[behind.index(sidecar) + 1 :]
    return [
        each
        for each in (*behind, *pod.containers)
        if each is not sidecar and (wishes.containers is None or each.name in wishes.containers)
    ]


def _strangers(pod: Pod, wishes: Wishes) -> list[str]:
    """Names of containers that the pod does not have; others may add them later."""
    missing = (wishes.containers or frozenset()) - {each.name for each in pod.all_containers}
    return [f"reprise.dev/containers: there is no container {name}" for name in sorted(missing)]


def _upstream_of(sidecar: Container) -> str | None:
    """What it was told; None where its configuration names it."""
    places = [position for position, word in enumerate(sidecar.args) if word == "--upstream"]
    if not places or places[-1] + 1 == len(sidecar.args):
        return None
    return sidecar.args[places[-1] + 1]


def _placed(pod: Pod, new: Json, *, is_native: bool) -> Operation:
    if not is_native:
        # Last, for kubectl shows the first one's log where none is named.
        return add("/spec/containers/-", new)
    if pod.init_containers is None:
        return add("/spec/initContainers", [new])
    # First, so that the others can use it.
    return add("/spec/initContainers/0", new)


def _volumes(pod: Pod, mounted: tuple[str, ...], config_map: str | None) -> Iterator[Operation]:
    """Those that are missing; one of that name which the pod has already is used."""
    present = pod.volumes or ()
    missing = [one for one in volumes(mounted, config_map) if one["name"] not in present]
    if missing and pod.volumes is None:
        yield add("/spec/volumes", missing)
    else:
        yield from (add("/spec/volumes/-", one) for one in missing)


def _metadata(pod: Pod, *, is_native: bool) -> Iterator[Operation]:
    labels: dict[str, str] = {}
    told: dict[str, str] = {}
    if (pod.labels or {}).get(INJECTED) != "true":
        labels[INJECTED] = "true"
    if not is_native and DEFAULT_CONTAINER not in (pod.annotations or {}):
        first = next((each.name for each in pod.containers if each.name != SIDECAR), None)
        if first is not None:
            told[DEFAULT_CONTAINER] = first
    if not pod.has_metadata:
        members = {"labels": labels, "annotations": told}
        yield add("/metadata", {name: entries for name, entries in members.items() if entries})
        return
    yield from _entries("/metadata/labels", labels, exists=pod.labels is not None)
    yield from _entries("/metadata/annotations", told, exists=pod.annotations is not None)


def _entries(path: str, entries: dict[str, str], *, exists: bool) -> Iterator[Operation]:
    if entries and not exists:
        yield add(path, entries)
    else:
        yield from (add(f"{path}/{step(key)}", value) for key, value in entries.items())
