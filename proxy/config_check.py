"""Checks a configuration file's values and says every mistake at its place, with a remedy."""

import difflib
from collections.abc import Iterator, Mapping
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from proxy.config_file import MAX_PROBLEMS, ConfigError, Document, Steps, dotted
from proxy.config_model import Admin, File
from proxy.config_values import ConfigValueError, FromEnv, looks_secret, shown

_LISTEN = File.model_fields["listen"].default
_ADMIN_LISTEN = Admin.model_fields["listen"].default
_NO_UPSTREAM = 'write "upstream: http://127.0.0.1:11434", or give --upstream'

# pydantic's name of a mistake -> ours, and the remedy; {} stand for the error's own context
_WORDING = {
    "missing": ("is missing", "add it"),
    "bool_type": ("must be true or false", ""),
    "int_type": ("must be a whole number", ""),
    "float_type": ("must be a number", ""),
    "finite_number": ("must be a number", ""),
    "string_type": ("must be text", "put it in quotes"),
    "tuple_type": ("must be a list", "put it in brackets: [...]"),
    "dict_type": ("must be a mapping of names to values", 'write such as {"x-team": "search"}'),
    "too_long": ("names one header at most", "write a route for each"),
    "model_type": ("must be a mapping of keys to values", "delete the line to keep the defaults"),
    "literal_error": ("must be {expected}", ""),
    "greater_than": ("must be more than {gt:g}", ""),
    "greater_than_equal": ("must be at least {ge:g}", ""),
    "less_than_equal": ("must be at most {le:g}", ""),
}


def check(document: Document, given: Mapping[str, str]) -> File:
    """The file's values as models; `given` by the command line replaces what the file says."""
    root = document.root
    if root is not None and not isinstance(root, dict):
        document.add((), "must be a mapping of keys to values", 'begin with "upstream: http://..."')
        raise _error(document)
    command_line = Document("command line")

    def document_of(steps: Steps) -> Document:
        return command_line if dotted(steps) in given else document

    values = _merge(root or {}, given)
    file = None
    try:
        file = File.model_validate(values)
    except ValidationError as error:
        for details in error.errors(include_url=False)[:MAX_PROBLEMS]:
            note(document_of(details["loc"]), details, File)
    for steps, message, remedy in _across(values):
        document_of(steps).add(steps, message, remedy)
    if file is None or document.problems or command_line.problems:
        raise _error(document, command_line)
    return file


def _error(*documents: Document) -> ConfigError:
    problems = [problem for document in documents for problem in document.problems]
    return ConfigError(tuple(sorted(problems, key=lambda problem: (problem.line, problem.column))))


def _merge(root: dict[str, Any], given: Mapping[str, str]) -> dict[str, Any]:
    values = dict(root)
    if "upstream" in given:
        values.pop("upstreams", None)
    for path, value in given.items():
        name, _, key = path.rpartition(".")
        if not name:
            values[key] = value
        elif isinstance(inner := values.get(name, {}), dict):
            values[name] = {**inner, key: value}
    return values


def note(document: Document, details: ErrorDetails, model: type[BaseModel]) -> None:
    """Put what pydantic found at its place of the document, in our words."""
    steps = details["loc"]
    if steps[-1] == "[key]":
        steps = steps[:-1]
    if any(steps[:length] in document.flawed for length in range(len(steps) + 1)):
        return
    kind, context = details["type"], details.get("ctx", {})
    mistake = context.get("error")
    if isinstance(mistake, ConfigValueError):
        document.add(steps, mistake.message, mistake.remedy)
    elif kind == "extra_forbidden":
        document.add(steps, "unknown key", _suggestion(steps, model), at_key=True)
    elif kind == "model_type" and details["input"] is False and _can_be_off(steps, model):
        document.add(steps, _WORDING[kind][0], 'write "{enabled: false}" to switch it off')
    else:
        message, remedy = _WORDING.get(kind, (details["msg"], ""))
        document.add(steps, message.format_map(context), remedy)


def _suggestion(steps: Steps, model: type[BaseModel]) -> str:
    """The nearest key of the same section, else where a key of this name belongs."""
    section, name = _section(model, steps[:-1]), str(steps[-1])
    words = [step for step in steps if isinstance(step, str)]
    if words[0] == "routes" and (path := ".".join(words[1:])) in _settings(model):
        return f"{path} is for all routes: write it at the top level"
    near = difflib.get_close_matches(name, section.model_fields, n=1)
    if near:
        return f'did you mean "{near[0]}"?'
    elsewhere = [path for path in _settings(model) if path.split(".")[-1] == name]
    if elsewhere:
        # best of all one that is further down in the same section
        around = ".".join(words[:-1]).removeprefix("routes.")
        best = max(elsewhere, key=lambda path: path.startswith(f"{around}."))
        return f'did you mean "{best}"?'
    return "known here: " + ", ".join(section.model_fields)


def _can_be_off(steps: Steps, model: type[BaseModel]) -> bool:
    return "enabled" in _section(model, steps).model_fields


def _section(model: type[BaseModel], steps: Steps) -> type[BaseModel]:
    for step in steps:
        if isinstance(step, str):
            model = _inner(model.model_fields[step].annotation) or model
    return model


def _inner(annotation: object) -> type[BaseModel] | None:
    """The model of a section, or of a list of them."""
    for candidate in (annotation, *get_args(annotation)):
        if isinstance(candidate, type) and issubclass(candidate, BaseModel):
            return candidate
    return None


def _settings(model: type[BaseModel], prefix: str = "") -> Iterator[str]:
    for name, info in model.model_fields.items():
        yield prefix + name
        inner = _inner(info.annotation)
        if inner is not None:
            yield from _settings(inner, f"{prefix}{name}.")


def _across(values: dict[str, Any]) -> Iterator[tuple[Steps, str, str]]:
    """What is wrong between keys. Looks at raw values, so that it does not wait for the rest."""
    upstreams = values.get("upstreams")
    if values.get("upstream") is not None:
        if upstreams is not None:
            yield ("upstreams",), "stands beside upstream", "keep one of the two"
    elif upstreams is None or upstreams == []:
        yield ("upstream",), "is missing", _NO_UPSTREAM
    yield from _across_upstreams(_mappings(upstreams))
    for position, route in _mappings(values.get("routes")):
        match = route.get("match")
        if isinstance(match, dict) and not any(match.values()):
            remedy = "name a path, model or header, or set the keys at the top level"
            yield ("routes", position, "match"), "matches every request", remedy
    semantic = values.get("semantic")
    if isinstance(semantic, dict):
        yield from _across_encoders(_mappings(semantic.get("encoders")))
        if semantic.get("index") == "redis" and not _redis_url(values):
            remedy = "name a Redis by persist.redis.url"
            yield ("semantic", "index"), "is redis, and there is no Redis", remedy
    yield from _across_tracing(values.get("tracing"))
    admin = values.get("admin", {})
    own = admin.get("listen", _ADMIN_LISTEN) if isinstance(admin, dict) else _ADMIN_LISTEN
    if str(own) == str(values.get("listen", _LISTEN)) and not str(own).endswith(":0"):
        steps = ("listen",) if "listen" in values else ("admin", "listen")
        yield steps, "is also the address of the other listener", "write another port"


def _across_tracing(tracing: object) -> Iterator[tuple[Steps, str, str]]:
    headers = tracing.get("headers") if isinstance(tracing, dict) else None
    if isinstance(headers, dict):
        for header, message, remedy in _across_headers(headers, None):
            yield ("tracing", "headers", header), message, remedy


def _redis_url(values: dict[str, Any]) -> object:
    persist = values.get("persist")
    redis = persist.get("redis") if isinstance(persist, dict) else None
    return redis.get("url") if isinstance(redis, dict) else None


def _mappings(values: object) -> list[tuple[int, dict[str, Any]]]:
    items = values if isinstance(values, list) else []
    return [(position, item) for position, item in enumerate(items) if isinstance(item, dict)]


def _across_upstreams(
    upstreams: list[tuple[int, dict[str, Any]]],
) -> Iterator[tuple[Steps, str, str]]:
    names: set[str] = set()
    for position, upstream in upstreams:
        name = upstream.get("name") or str(upstream.get("url", "")).rstrip("/")
        if name and name in names:
            where = "name" if upstream.get("name") else "url"
            message = f"{shown(name)} is the name of an upstream above"
            yield ("upstreams", position, where), message, "give each its own name"
        names.add(name)
        headers = upstream.get("headers")
        if isinstance(headers, dict):
            for header, message, remedy in _across_headers(headers, upstream.get("api_key")):
                yield ("upstreams", position, "headers", header), message, remedy


def _across_encoders(
    encoders: list[tuple[int, dict[str, Any]]],
) -> Iterator[tuple[Steps, str, str]]:
    served: dict[object, int] = {}
    for position, encoder in encoders:
        scripts = encoder.get("scripts")
        for place, script in enumerate(scripts if isinstance(scripts, list) else []):
            if not isinstance(script, str):
                continue
            if script in served:
                steps = ("semantic", "encoders", position, "scripts", place)
                message = f"{shown(script)} is already served by encoders[{served[script]}]"
                yield steps, message, "keep it in one place"
            served.setdefault(script, position)


def _across_headers(headers: dict[str, Any], api_key: object) -> Iterator[tuple[str, str, str]]:
    seen: set[str] = set()
    for name, value in headers.items():
        folded = name.lower()
        if looks_secret(name) and not isinstance(value, FromEnv):
            remedy = "write ${NAME} and put the value in the environment"
            yield name, "looks like a secret", remedy
        if folded == "authorization" and api_key:
            yield name, "stands beside api_key", "keep one of the two"
        if folded in seen:
            yield name, "stands here twice; case does not count", "keep one of the two"
        seen.add(folded)
