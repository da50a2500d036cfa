"""The API server's AdmissionReview, read and answered. Whatever it says, the pod is let in."""

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from proxy.k8s.injection import Fault, Injection
from proxy.k8s.refusal import Surroundings

_GROUP = "admission.k8s.io/"
_VERSION = f"{_GROUP}v1"
MAX_WARNINGS = 16
_MAX_WARNING = 256
"""Characters; the API server cuts what is longer."""


@dataclass(frozen=True, slots=True)
class Review:
    """What the API server asks."""

    version: str = _VERSION
    """The review's `apiVersion`; the answer has the same."""
    uid: str = ""
    """Which question it is; empty where it could not be read, and the answer counts for nothing."""
    pod: object = None
    surroundings: Surroundings = field(default_factory=Surroundings)
    name: str = ""
    """The pod's, or the beginning of the one that it will get."""
    is_dry_run: bool = False
    fault: Fault | None = None
    """Why it is no question about a new pod."""


def read(body: bytes) -> Review:
    """The review of a request's body."""
    try:
        whole = orjson.loads(body)
    except orjson.JSONDecodeError:
        return Review(fault=Fault.MALFORMED)
    whole = _mapping(whole)
    request = _mapping(whole.get("request"))
    version = _text(whole.get("apiVersion"))
    pod = request.get("object")
    # A pod that a controller makes has no name yet, and its namespace in the request only.
    metadata = _mapping(_mapping(pod).get("metadata"))
    names = (request.get("name"), metadata.get("name"), metadata.get("generateName"))
    return Review(
        version=version if version.startswith(_GROUP) else _VERSION,
        uid=_text(request.get("uid")),
        pod=pod,
        surroundings=Surroundings(
            _text(request.get("namespace")) or _text(metadata.get("namespace"))
        ),
        name=next(filter(None, map(_text, names)), ""),
        is_dry_run=request.get("dryRun") is True,
        fault=_fault(whole, request),
    )


def answer(review: Review, injection: Injection) -> bytes:
    """The answer's body."""
    response: dict[str, Any] = {"uid": review.uid, "allowed": True}
    if injection.patch:
        response["patchType"] = "JSONPatch"
        response["patch"] = base64.b64encode(orjson.dumps(injection.patch)).decode()
    if injection.warnings:
        response["warnings"] = [
            f"reprise: {warning}"[:_MAX_WARNING] for warning in injection.warnings[:MAX_WARNINGS]
        ]
    told = {"apiVersion": review.version, "kind": "AdmissionReview", "response": response}
    return orjson.dumps(told)


def _fault(whole: Mapping[str, Any], request: Mapping[str, Any]) -> Fault | None:
    if whole.get("kind") != "AdmissionReview" or not request.get("uid"):
        return Fault.MALFORMED
    kind = _mapping(request.get("kind"))
    if kind.get("kind") != "Pod" or kind.get("group"):
        return Fault.NOT_A_POD
    if request.get("operation") != "CREATE" or request.get("subResource"):
        return Fault.NOT_A_CREATION
    return None


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
