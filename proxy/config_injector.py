"""The settings file of `reprise inject`: how sidecars look, unless a pod says otherwise."""

import re
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, PlainValidator, ValidationError

from proxy.config_check import note
from proxy.config_file import MAX_PROBLEMS, ConfigError, parse, read_bytes
from proxy.config_model import Section
from proxy.config_types import OptionalUrl
from proxy.config_values import ConfigValueError, check_text, shown
from proxy.core import quantity

_RESOURCE = re.compile(r"[a-z0-9A-Z./_-]{1,253}", re.ASCII)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)


def parse_amounts(value: object) -> dict[str, str]:
    """Amounts by the resource's name, in Kubernetes' notation."""
    if not isinstance(value, dict):
        raise ConfigValueError("must be a mapping of resources to amounts", 'write "{cpu: 100m}"')
    amounts = {}
    for name, amount in value.items():
        text = str(amount)
        try:
            if name in _AMOUNTS:
                _AMOUNTS[name](text)
        except quantity.BadQuantity as error:
            raise ConfigValueError(f"{name}: {shown(text)} is none", error.remedy) from error
        if not _RESOURCE.fullmatch(name) or not text:
            raise ConfigValueError(f"{shown(name)} is no resource with an amount", "take it out")
        amounts[name] = text
    return amounts


_AMOUNTS = {"cpu": quantity.cpu, "memory": quantity.memory}


def _parse_image(value: object) -> str:
    text = check_text(value)
    if not text or text != text.strip():
        raise ConfigValueError("names no image", 'write such as "reprise:0.1.0"')
    return text


def _parse_variable(value: object) -> str:
    text = check_text(value)
    if not _VARIABLE.fullmatch(text):
        raise ConfigValueError(
            f"{shown(text)} is not the name of a variable", 'write such as "OPENAI_BASE_URL"'
        )
    return text


Amounts = Annotated[dict[str, str], PlainValidator(parse_amounts)]
Image = Annotated[str, PlainValidator(_parse_image)]
Variable = Annotated[str, PlainValidator(_parse_variable)]
Variables = Annotated[tuple[Variable, ...], Field(strict=False)]


class Resources(Section):
    """What the sidecar asks for, and what it may take at most."""

    requests: Amounts = Field(default_factory=dict)
    limits: Amounts = Field(default_factory=dict)


class SidecarFile(Section):
    """The keys of the file. What is left out is as `reprise inject` has it by itself."""

    image: Image | None = None
    image_pull_policy: Literal["Always", "IfNotPresent", "Never"] | None = None
    upstream: OptionalUrl = None
    log_level: Literal["debug", "info", "warning", "error"] | None = None
    run_as_user: Annotated[int, Field(ge=1)] | None = None
    resources: Resources = Field(default_factory=Resources)
    env: Variables | None = None
    native_sidecar: bool | None = None


def load(path: Path) -> SidecarFile:
    """The settings of a file (YAML or JSON). Raises ConfigError with all mistakes.

    Reads the file, so it blocks.
    """
    # Nothing of the environment: the file is for pods elsewhere.
    document = parse(read_bytes(path), str(path), {})
    values = {} if document.root is None else document.root
    found = None
    if not isinstance(values, dict):
        document.add((), "must be a mapping of keys to values", 'begin with "upstream: http://..."')
    else:
        try:
            found = SidecarFile.model_validate(_without_nothing(values))
        except ValidationError as error:
            for details in error.errors(include_url=False)[:MAX_PROBLEMS]:
                note(document, details, SidecarFile)
    if found is None or document.problems:
        raise ConfigError(tuple(document.problems))
    return found


def _without_nothing(values: dict[str, object]) -> dict[str, object]:
    """A key without a value is as one that is not there, but for the user: that means none."""
    return {
        key: value for key, value in values.items() if value is not None or key == "run_as_user"
    }
