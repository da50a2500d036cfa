"""Admission policies as the API server evaluates them, by Google's own CEL.

CEL is that of C++, so what Kubernetes adds to it is added here, as far as the chart uses it. That
the API server's own code does the same with the expressions was seen by hand: docs/kubernetes.md.
"""

import copy
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any, TypeAlias

import jsonpatch
from cel_expr_python import cel
from cel_expr_python.ext.ext_optional import ExtOptional
from cel_expr_python.ext.ext_strings import ExtStrings
from google.protobuf import descriptor_pb2, descriptor_pool, json_format, struct_pb2

Json: TypeAlias = dict[str, Any]

_UNITS = {
    "": 1.0,
    "m": 0.001,
    **{f"{letter}i": 1024.0**power for power, letter in enumerate("KMGT", start=1)},
    **{letter: 1000.0**power for power, letter in enumerate("kMGT", start=1)},
}
_TEXT, _NUMBER, _LIST = cel.Type.STRING, cel.Type.DOUBLE, cel.Type.LIST


def _quantity(text: str) -> float:
    found = re.fullmatch(r"([0-9.]+)([A-Za-z]*)", text)
    assert found is not None, text
    return float(found[1]) * _UNITS[found[2]]


def _find(text: str, pattern: str) -> str:
    found = re.search(pattern, text, re.ASCII)
    return "" if found is None else found[0]


def _functions() -> list[cel.FunctionDecl]:
    """What Kubernetes has beside CEL and its extensions for strings and optional values."""

    def function(
        name: str, takes: list[cel.Type], gives: cel.Type, does: Callable[..., Any], *, member: bool
    ) -> cel.FunctionDecl:
        overload = cel.Overload(
            id=re.sub(r"\W", "_", f"k8s_{name}"),
            return_type=gives,
            parameters=takes,
            is_member=member,
            impl=does,
        )
        return cel.FunctionDecl(name, [overload])

    return [
        function("lists.range", [cel.Type.INT], _LIST, lambda n: list(range(n)), member=False),
        function("flatten", [_LIST], _LIST, lambda lists: _flat(lists), member=True),
        function("find", [_TEXT, _TEXT], _TEXT, _find, member=True),
        function("quantity", [_TEXT], _NUMBER, _quantity, member=False),
        function("isLessThan", [_NUMBER, _NUMBER], cel.Type.BOOL, lambda a, b: a < b, member=True),
        function(
            "jsonpatch.escapeKey",
            [_TEXT],
            _TEXT,
            lambda key: key.replace("~", "~0").replace("/", "~1"),
            member=False,
        ),
    ]


def _flat(lists: Iterable[Any]) -> list[Any]:
    return [item for each in lists for item in each]


@cache
def _environment() -> cel.Env:
    pool = descriptor_pool.DescriptorPool()
    structs = descriptor_pb2.FileDescriptorProto()
    struct_pb2.DESCRIPTOR.CopyToProto(structs)
    pool.Add(structs)
    file = descriptor_pb2.FileDescriptorProto(
        name="jsonpatch.proto", syntax="proto3", dependency=[structs.name]
    )
    message = file.message_type.add(name="JSONPatch")
    text, value = (
        descriptor_pb2.FieldDescriptorProto.TYPE_STRING,
        descriptor_pb2.FieldDescriptorProto.TYPE_MESSAGE,
    )
    for number, name in enumerate(("op", "path"), start=1):
        message.field.add(name=name, number=number, type=text, label=1)
    message.field.add(
        name="value", number=3, type=value, label=1, type_name=".google.protobuf.Value"
    )
    pool.Add(file)
    return cel.NewEnv(
        descriptor_pool=pool,
        variables={"object": cel.Type.DYN, "variables": cel.Type.DYN},
        extensions=[ExtOptional(), ExtStrings()],
        functions=_functions(),
    )


@cache
def _compiled(expression: str) -> cel.Expression:
    return _environment().compile(expression)


def evaluate(expression: str, pod: Json, variables: Json | None = None) -> Any:
    """What an expression says of a pod."""
    data = {"object": pod, "variables": variables or {}}
    return _compiled(expression).eval(data=data).plain_value()


def selects(selector: Json, labels: Mapping[str, str]) -> bool:
    """Whether a label selector (its matchExpressions) finds labels."""
    return all(_holds(each, labels) for each in selector["matchExpressions"])


def _holds(expression: Json, labels: Mapping[str, str]) -> bool:
    value = labels.get(expression["key"])
    match expression["operator"]:
        case "In":
            return value in expression["values"]
        case "NotIn":  # so is a label that is not there
            return value not in expression["values"]
        case other:
            raise NotImplementedError(other)


def _applies(item: Json, pod: Json, namespace: Mapping[str, str]) -> bool:
    """Whether the selectors of a webhook, or of a binding's matchResources, find a pod there."""
    labels = pod["metadata"].get("labels", {})
    return selects(item["namespaceSelector"], namespace) and selects(item["objectSelector"], labels)


def ways(items: Iterable[Json], pod: Json, namespace: Mapping[str, str]) -> list[str]:
    """Which webhooks of a configuration the API server calls for a pod."""
    return [item["name"] for item in items if _applies(item, pod, namespace)]


class Policies:
    """The policies of a rendered chart, with their bindings."""

    def __init__(self, objects: Iterable[Json]) -> None:
        self._objects = list(objects)

    def mutated(self, pod: Json, namespace: Mapping[str, str]) -> Json:
        """A pod as the mutating policies make it."""
        for policy, _binding in self._bound("MutatingAdmissionPolicy", pod, namespace):
            variables: Json = {}
            for each in policy["spec"]["variables"]:
                variables[each["name"]] = evaluate(each["expression"], pod, variables)
            for mutation in policy["spec"]["mutations"]:
                found = evaluate(mutation["jsonPatch"]["expression"], pod, variables)
                operations = [json_format.MessageToDict(each) for each in found]
                pod = jsonpatch.apply_patch(copy.deepcopy(pod), operations)
        return pod

    def told(self, pod: Json, namespace: Mapping[str, str]) -> list[tuple[str, list[str]]]:
        """The first message of each validating policy that a pod fails, and what is done then."""
        found = []
        for policy, binding in self._bound("ValidatingAdmissionPolicy", pod, namespace):
            for each in policy["spec"]["validations"]:
                if not evaluate(each["expression"], pod):
                    found.append((each["message"], binding["spec"]["validationActions"]))
                    break
        return found

    def _bound(self, kind: str, pod: Json, namespace: Mapping[str, str]) -> list[tuple[Json, Json]]:
        """The policies that apply to a pod, each with the binding by which it does."""
        policies = {
            item["metadata"]["name"]: item for item in self._objects if item["kind"] == kind
        }
        bindings = [item for item in self._objects if item["kind"] == f"{kind}Binding"]
        return [
            (policies[binding["spec"]["policyName"]], binding)
            for binding in bindings
            if _applies(binding["spec"]["matchResources"], pod, namespace)
            and all(
                evaluate(each["expression"], pod)
                for each in policies[binding["spec"]["policyName"]]["spec"].get(
                    "matchConditions", ()
                )
            )
        ]
