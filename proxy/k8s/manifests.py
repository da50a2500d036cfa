"""Manifests with sidecars in their pods. What has no pod stays as it is, to the byte.

A YAML document that changes loses its comments and its anchors, but no scalar is written anew:
what YAML takes `1e3`, `010` or `no` for depends on who reads it.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from proxy.k8s.injection import Fault, Injection, inject
from proxy.k8s.json_patch import Operation
from proxy.k8s.refusal import Reason, Surroundings
from proxy.k8s.settings import Settings

MAX_NODES = 300_000
"""Of a document whose aliases are written out."""
_DOCUMENT = re.compile(r"^---(?=\s|\Z)", re.MULTILINE)
_PREAMBLE = re.compile(r"(?:---[ \t]*(?:#.*)?\n)?(?:[ \t]*(?:#.*)?\n)*")
"""What stands before the first key."""
_LIST = ("", "List")
_WORKLOADS = ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet")
_TEMPLATES: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("", "Pod"): (),
    ("", "PodTemplate"): ("template",),
    ("", "ReplicationController"): ("spec", "template"),
    **{
        (group, kind): ("spec", "template")
        for group in ("apps", "extensions")
        for kind in _WORKLOADS
    },
    ("batch", "Job"): ("spec", "template"),
    ("batch", "CronJob"): ("spec", "jobTemplate", "spec", "template"),
}
"""Where the pod is, by API group and kind."""


class BadManifest(Exception):
    """Input of which nobody can say what it is."""


@dataclass(frozen=True, slots=True)
class Rendering:
    """What is to be printed, and what its owner should know."""

    text: str
    warnings: tuple[str, ...]
    is_complete: bool
    """Every pod that did not opt out has its sidecar."""


@dataclass(frozen=True, slots=True)
class _Target:
    """A pod in a document."""

    pointer: str
    pod: object
    name: str
    surroundings: Surroundings


def rendered(text: str, settings: Settings) -> Rendering:
    """The manifests with sidecars. Raises BadManifest."""
    starts = [0, *(match.start() for match in _DOCUMENT.finditer(text) if match.start())]
    pieces: list[str] = []
    warnings: list[str] = []
    is_complete = True
    for number, (start, end) in enumerate(zip(starts, [*starts[1:], None], strict=True), start=1):
        document = _read(text[start:end], number)
        for target in _targets(document.value, ""):
            injection = inject(target.pod, target.surroundings, settings)
            warnings += (f"{target.name}: {warning}" for warning in injection.warnings)
            is_complete = is_complete and _is_satisfied(injection)
            document.apply(target.pointer, injection.patch)
        pieces.append(document.text())
    return Rendering("".join(pieces), tuple(warnings), is_complete)


def _is_satisfied(injection: Injection) -> bool:
    outcome = injection.outcome
    return outcome is Reason.OPTED_OUT or not isinstance(outcome, Reason | Fault)


def _targets(value: object, pointer: str) -> Iterator[_Target]:
    if not isinstance(value, dict):
        return
    group, kind = _kind(value)
    if (group, kind) == _LIST:
        items = value.get("items")
        for position, item in enumerate(items if isinstance(items, list) else ()):
            yield from _targets(item, f"{pointer}/items/{position}")
    elif (group, kind) in _TEMPLATES:
        pod: object = value
        for key in _TEMPLATES[group, kind]:
            pod = pod.get(key) if isinstance(pod, dict) else None
        metadata = value.get("metadata")
        known = metadata if isinstance(metadata, dict) else {}
        yield _Target(
            "".join([pointer, *(f"/{key}" for key in _TEMPLATES[group, kind])]),
            pod,
            f"{kind}/{known.get('name') or known.get('generateName')}",
            Surroundings(str(known.get("namespace") or ""), is_of_job=group == "batch"),
        )


def _kind(value: Mapping[str, Any]) -> tuple[str, str]:
    """The API group and the kind of an object."""
    return str(value.get("apiVersion")).rpartition("/")[0], str(value.get("kind"))


def _read(text: str, number: int) -> "_JsonDocument | _YamlDocument":
    if text.lstrip().startswith("{"):
        try:
            return _JsonDocument(text, json.loads(text))
        except (ValueError, RecursionError):
            pass  # YAML has such mappings too, and tells what is wrong
    try:
        return _YamlDocument(text)
    except yaml.MarkedYAMLError as error:
        place = f" in line {error.problem_mark.line + 1} of it" if error.problem_mark else ""
        told = f"document {number} is not YAML: {error.problem}{place}"
        raise BadManifest(told) from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise BadManifest(f"document {number} is not YAML that can be read") from error


class _JsonDocument:
    def __init__(self, text: str, value: Any) -> None:
        self.value = value
        self._text = text
        self._is_changed = False

    def apply(self, pointer: str, patch: tuple[Operation, ...]) -> None:
        for operation in patch:
            self._is_changed = True
            *steps, last = _steps(pointer + operation["path"])
            into = self.value
            for step in steps:
                into = into[int(step)] if isinstance(into, list) else into[step]
            if isinstance(into, dict):
                into[last] = operation["value"]
            elif operation["op"] == "add":
                into.insert(len(into) if last == "-" else int(last), operation["value"])

    def text(self) -> str:
        if not self._is_changed:
            return self._text
        return json.dumps(self.value, indent=2) + "\n"


class _YamlDocument:
    """A document as the nodes of its text, so that what is not changed keeps its words."""

    def __init__(self, text: str) -> None:
        self.value: Any = None
        self._text = text
        self._is_changed = False
        root = yaml.compose(text, Loader=_Loader)
        if root is None or not _may_have_pods(root):
            return  # it may use tags that nobody here knows
        self._root = _Expansion().expand(root)
        self.value = _Constructor().construct_document(self._root)

    def apply(self, pointer: str, patch: tuple[Operation, ...]) -> None:
        for operation in patch:
            self._is_changed = True
            *steps, last = _steps(pointer + operation["path"])
            into = self._root
            for step in steps:
                into = _child(into, step)
            _put(into, last, operation)

    def text(self) -> str:
        if not self._is_changed:
            return self._text
        match = _PREAMBLE.match(self._text)
        preamble = "" if match is None else match[0]
        if self._text.startswith("---") and not preamble.startswith("---"):
            preamble = "---\n"
        return preamble + str(
            yaml.serialize(self._root, Dumper=_Dumper, width=1_000_000, allow_unicode=True)
        )


def _steps(pointer: str) -> list[str]:
    return [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]


def _may_have_pods(root: yaml.Node) -> bool:
    if not isinstance(root, yaml.MappingNode):
        return False
    scalars = {
        key.value: value.value
        for key, value in root.value
        if isinstance(key, yaml.ScalarNode) and isinstance(value, yaml.ScalarNode)
    }
    return _kind(scalars) in {_LIST, *_TEMPLATES}


def _child(node: Any, step: str) -> Any:
    if isinstance(node, yaml.SequenceNode):
        return node.value[int(step)]
    return next(value for key, value in node.value if key.value == step)


def _put(into: Any, last: str, operation: Operation) -> None:
    node = _Representer(default_flow_style=False, sort_keys=False).represent_data(
        operation["value"]
    )
    if not into.value:
        into.flow_style = False  # empty ones are written as [] or {}
    if isinstance(into, yaml.SequenceNode):
        into.value.insert(len(into.value) if last == "-" else int(last), node)
        return
    for position, (key, _) in enumerate(into.value):
        if key.value == last:
            into.value[position] = (key, node)
            return
    into.value.append((yaml.ScalarNode("tag:yaml.org,2002:str", last), node))


class _Expansion:
    """Writes aliases and merge keys out, so that each place can change by itself."""

    def __init__(self) -> None:
        self._count = 0
        self._constructor = yaml.constructor.SafeConstructor()

    def expand(self, node: Any) -> Any:
        """A copy in which no node stands twice. Raises ValueError for one that is too large."""
        self._count += 1
        if self._count > MAX_NODES:
            raise ValueError("too many nodes")
        if isinstance(node, yaml.SequenceNode):
            return yaml.SequenceNode(
                node.tag, [self.expand(item) for item in node.value], flow_style=node.flow_style
            )
        if isinstance(node, yaml.MappingNode):
            pairs = [(self.expand(key), self.expand(value)) for key, value in node.value]
            copy = yaml.MappingNode(node.tag, pairs, flow_style=node.flow_style)
            self._constructor.flatten_mapping(copy)
            # What was merged stands first, and gives way to a key of the mapping's own.
            copy.value = list({str(key.value): (key, value) for key, value in copy.value}.values())
            return copy
        return yaml.ScalarNode(node.tag, node.value, style=node.style)


def _without_timestamps(resolvers: Mapping[Any, Any]) -> dict[Any, Any]:
    """Kubernetes knows no dates: they are text."""
    return {
        first: [pair for pair in pairs if pair[0] != "tag:yaml.org,2002:timestamp"]
        for first, pairs in resolvers.items()
    }


# Those in C are ten times faster; a build of PyYAML without libyaml lacks them.
class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    yaml_implicit_resolvers = _without_timestamps(yaml.SafeLoader.yaml_implicit_resolvers)


class _Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
    yaml_implicit_resolvers = _without_timestamps(yaml.SafeDumper.yaml_implicit_resolvers)


class _Constructor(yaml.constructor.SafeConstructor):
    """Makes plain values of nodes."""


class _Representer(yaml.representer.SafeRepresenter):
    """Makes nodes of plain values."""

    def ignore_aliases(self, data: Any) -> bool:
        """Nothing is written only once."""
        return True

    def represent_text(self, data: str) -> yaml.ScalarNode:
        """A single letter in quotes: to some readers `y` and `n` are truth values."""
        style = '"' if len(data) == 1 else None
        return self.represent_scalar("tag:yaml.org,2002:str", data, style=style)


_Representer.add_representer(str, _Representer.represent_text)
