"""A pod, or a pod template, as far as the injector looks at it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from proxy.k8s.json_patch import Json


class NotAPod(Exception):
    """What was given has not the form of a pod; says where."""


@dataclass(frozen=True, slots=True)
class Variable:
    """An entry of a container's `env`."""

    name: str
    value: str | None
    """None where it comes from elsewhere: `valueFrom`, or a value that names other variables."""


@dataclass(frozen=True, slots=True)
class Container:
    """One of a pod's containers."""

    path: str
    """Where it stands, as a JSON pointer."""
    name: str
    env: tuple[Variable, ...] | None
    """None where it has no such list."""
    has_env_from: bool
    ports: tuple[int, ...]
    """Those of TCP that it declares."""
    args: tuple[str, ...]
    volumes: tuple[str, ...]
    """Names of those that it mounts."""


@dataclass(frozen=True, slots=True)
class Pod:
    """What matters of a pod. What it may have or not is None where it has not."""

    has_metadata: bool
    labels: Mapping[str, str] | None
    annotations: Mapping[str, str] | None
    owners: tuple[str, ...]
    """Kinds of what it belongs to."""
    containers: tuple[Container, ...]
    init_containers: tuple[Container, ...] | None
    volumes: tuple[str, ...] | None
    """Their names."""
    is_on_host_network: bool
    is_windows: bool
    restart_policy: str

    @property
    def all_containers(self) -> tuple[Container, ...]:
        """In the order in which they begin."""
        return (*(self.init_containers or ()), *self.containers)


def read(value: object) -> Pod:
    """The pod of a JSON value. Raises NotAPod.

    Numbers and truth values where Kubernetes wants text are taken as text: manifests have them
    without quotes, and the API server will say so.
    """
    whole = _mapping(value, "the pod")
    metadata = _mapping(whole.get("metadata"), "metadata")
    spec = whole.get("spec")
    if not isinstance(spec, dict):
        raise NotAPod("spec is no mapping")
    if spec.get("containers") is None:
        raise NotAPod("spec.containers is no list")  # a sidecar alone is nobody's
    init_containers = spec.get("initContainers")
    selector = _mapping(spec.get("nodeSelector"), "spec.nodeSelector")
    system = _mapping(spec.get("os"), "spec.os").get("name") or selector.get("kubernetes.io/os")
    return Pod(
        has_metadata=whole.get("metadata") is not None,
        labels=_texts(metadata.get("labels"), "metadata.labels"),
        annotations=_texts(metadata.get("annotations"), "metadata.annotations"),
        owners=tuple(
            _text(owner.get("kind"))
            for owner in _mappings(metadata.get("ownerReferences"), "metadata.ownerReferences")
        ),
        containers=_containers(spec.get("containers"), "containers"),
        init_containers=(
            None if init_containers is None else _containers(init_containers, "initContainers")
        ),
        volumes=_names(spec.get("volumes"), "spec.volumes"),
        is_on_host_network=spec.get("hostNetwork") is True,
        is_windows=system == "windows",
        restart_policy=_text(spec.get("restartPolicy")),
    )


def _containers(value: object, kind: str) -> tuple[Container, ...]:
    place = f"spec.{kind}"
    return tuple(
        _container(container, f"/spec/{kind}/{position}", f"{place}[{position}]")
        for position, container in enumerate(_mappings(value, place))
    )


def _container(value: Json, path: str, place: str) -> Container:
    variables = value.get("env")
    args = value.get("args")
    return Container(
        path=path,
        name=_text(value.get("name")),
        env=None if variables is None else tuple(map(_variable, _mappings(variables, place))),
        has_env_from=bool(value.get("envFrom")),
        ports=tuple(
            port["containerPort"]
            for port in _mappings(value.get("ports"), f"{place}.ports")
            if isinstance(port.get("containerPort"), int) and port.get("protocol") in (None, "TCP")
        ),
        args=tuple(map(_text, args)) if isinstance(args, list) else (),
        volumes=tuple(
            _text(mount.get("name"))
            for mount in _mappings(value.get("volumeMounts"), f"{place}.volumeMounts")
        ),
    )


def _variable(value: Json) -> Variable:
    text = _text(value.get("value"))
    is_literal = value.get("valueFrom") is None and "$(" not in text
    return Variable(_text(value.get("name")), text if is_literal else None)


def _names(value: object, place: str) -> tuple[str, ...] | None:
    if value is None:
        return None
    return tuple(_text(item.get("name")) for item in _mappings(value, place))


def _texts(value: object, place: str) -> Mapping[str, str] | None:
    if value is None:
        return None
    return {str(key): _text(item) for key, item in _mapping(value, place).items()}


def _mapping(value: object, place: str) -> Json:
    """A mapping; an absent one is empty."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise NotAPod(f"{place} is no mapping")
    return value


def _mappings(value: object, place: str) -> list[Json]:
    """A list of mappings; an absent one is empty."""
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise NotAPod(f"{place} is no list of mappings")
    return value


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)
