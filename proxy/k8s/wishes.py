"""What a pod's annotations ask for. What cannot be meant is told and left out."""

import difflib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeAlias

from proxy.core import quantity
from proxy.core.upstream_url import BadUpstreamUrl, normalized
from proxy.k8s.names import INJECT, INJECTED, PREFIX

_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", re.ASCII)
_OBJECT_NAME = re.compile(rf"(?=.{{1,253}}\Z){_NAME.pattern}(\.{_NAME.pattern})*", re.ASCII)
_IMAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/:@-]{0,511}", re.ASCII)
_LOG_LEVELS = ("debug", "info", "warning", "error")
_MAX_SHOWN = 60


class EnvPolicy(Enum):
    """What becomes of a container's variable."""

    IF_UNSET = "if-unset"
    """It is set where it is not there."""
    FORCE = "force"
    """So too, and a value that is there makes way."""
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Wishes:
    """What is asked for; None and the empty mapping where nothing is."""

    upstream: str | None = None
    config_map: str | None = None
    containers: frozenset[str] | None = None
    """The only ones whose variables are set."""
    env_policy: EnvPolicy = EnvPolicy.IF_UNSET
    is_native: bool | None = None
    image: str | None = None
    log_level: str | None = None
    cpu_request: str | None = None
    cpu_limit: str | None = None
    memory_request: str | None = None
    memory_limit: str | None = None


class _Unusable(ValueError):
    """A value that cannot be meant; the text is what to write instead."""


def read(annotations: Mapping[str, str]) -> tuple[Wishes, list[str]]:
    """What annotations ask for, and a warning for each that is not followed."""
    asked: dict[str, Any] = {}
    warnings: list[str] = []
    for key, value in sorted(annotations.items()):
        if not key.startswith(PREFIX):
            continue
        name = key.removeprefix(PREFIX)
        if name not in _READERS:
            warnings.append(f"annotation {shown(key)} is not known; {_remedy(name)}")
            continue
        field, reader = _READERS[name]
        try:
            asked[field] = reader(value.strip())
        except _Unusable as error:
            told = f"annotation {key}: {shown(value)} cannot be used and is ignored; {error}"
            warnings.append(told)
    return Wishes(**asked), warnings


def shown(text: str) -> str:
    """A text of somebody else's for a warning: short, in quotes, printable ASCII."""
    cut = text if len(text) <= _MAX_SHOWN else text[:_MAX_SHOWN] + "..."
    return '"' + cut.encode("ascii", "backslashreplace").decode().translate(_CONTROLS) + '"'


_CONTROLS = {code: f"\\x{code:02x}" for code in (*range(32), 127)}


def _remedy(name: str) -> str:
    if PREFIX + name in (INJECT, INJECTED):
        return "it is a label: write it under metadata.labels"
    near = difflib.get_close_matches(name, _READERS, n=1)
    if near:
        return f"did you mean {PREFIX}{near[0]}?"
    return "known are " + ", ".join(_READERS)


def _upstream(text: str) -> str:
    try:
        url = normalized(text)
    except BadUpstreamUrl as error:
        raise _Unusable(f"{error.message}: {error.remedy}") from None
    if "$(" in url:  # in a container's arguments it would stand for a variable
        raise _Unusable("write the URL out, without $( )")
    return url


def _config_map(text: str) -> str:
    if not _OBJECT_NAME.fullmatch(text):
        raise _Unusable("write the name of a ConfigMap in the pod's namespace")
    return text


def _containers(text: str) -> frozenset[str]:
    names = frozenset(name.strip() for name in text.split(","))
    if not all(map(_NAME.fullmatch, names)):
        raise _Unusable('write the names of containers, such as "app,worker"')
    return names


def _policy(text: str) -> EnvPolicy:
    try:
        return EnvPolicy(text)
    except ValueError:
        raise _Unusable("write " + _either([policy.value for policy in EnvPolicy])) from None


def _is_true(text: str) -> bool:
    if text not in ("true", "false"):
        raise _Unusable("write " + _either(["true", "false"]))
    return text == "true"


def _image(text: str) -> str:
    if not _IMAGE.fullmatch(text):
        raise _Unusable('write such as "registry.example/reprise:0.1.0"')
    return text


def _log_level(text: str) -> str:
    if text not in _LOG_LEVELS:
        raise _Unusable("write " + _either(_LOG_LEVELS))
    return text


def _cpu(text: str) -> str:
    try:
        quantity.cpu(text)
    except quantity.BadQuantity as error:
        raise _Unusable(error.remedy) from None
    return text


def _memory(text: str) -> str:
    try:
        quantity.memory(text)
    except quantity.BadQuantity as error:
        raise _Unusable(error.remedy) from None
    return text


def _either(words: list[str] | tuple[str, ...]) -> str:
    *most, last = (f'"{word}"' for word in words)
    return f"{', '.join(most)} or {last}"


_Reader: TypeAlias = Callable[[str], object]

_READERS: Mapping[str, tuple[str, _Reader]] = {
    "upstream": ("upstream", _upstream),
    "config-map": ("config_map", _config_map),
    "containers": ("containers", _containers),
    "env-policy": ("env_policy", _policy),
    "native-sidecar": ("is_native", _is_true),
    "image": ("image", _image),
    "log-level": ("log_level", _log_level),
    "cpu-request": ("cpu_request", _cpu),
    "cpu-limit": ("cpu_limit", _cpu),
    "memory-request": ("memory_request", _memory),
    "memory-limit": ("memory_limit", _memory),
}
"""Each annotation's member of Wishes, and how its value is read."""
