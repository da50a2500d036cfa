"""Reads a YAML file into plain values, and knows where each of them stood.

Narrower than YAML on purpose: no anchors, aliases, tags or second document, every key once, and
the scalar types of YAML 1.2 (`no` and `on` are text, `1:30` is not a number).
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import yaml

from proxy.config_values import FromEnv, shown

Steps: TypeAlias = tuple[str | int, ...]
"""The way to a value: the keys and list positions that lead to it."""

MAX_BYTES = 1024 * 1024
_MAX_DEPTH = 16
_MAX_NODES = 50_000
MAX_PROBLEMS = 100
"""More are not worth the time, and would make a long answer of the admin plane."""
_TOO_LARGE = "the file is larger than 1 MiB"
_NO_ANCHOR = "anchors (&) and aliases (*) are not taken; write it out"

# The parser in C is ten times faster; a build of PyYAML without libyaml lacks it.
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_VARIABLE = re.compile(r"\$(?:(\$)|\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}$]*))?\}|(\{))", re.ASCII)
_INTEGER = re.compile(r"[-+]?\d{1,30}|0x[0-9a-fA-F]{1,16}|0o[0-7]{1,20}", re.ASCII)
_FLOAT = re.compile(r"[-+]?(?:\.\d+|\d+(?:\.\d*)?)(?:[eE][-+]?\d{1,4})?", re.ASCII)
_WORDS = {
    word: value
    for name, value in (("null", None), ("true", True), ("false", False))
    for word in (name, name.capitalize(), name.upper())
} | {"": None, "~": None}


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake: where it is, what it is, what to do."""

    path: str
    """Such as `routes[0].ttl.exact`; empty for the file as a whole."""
    line: int
    """From 1; 0 where the mistake has no place in the file."""
    column: int
    message: str
    remedy: str = ""
    source: str = ""
    """The file's name, or "command line"."""

    def __str__(self) -> str:
        place = f"{self.source}:{self.line}:{self.column}" if self.line else self.source
        parts = (place, self.path, self.message)
        return ": ".join(filter(None, parts)) + (f"; {self.remedy}" if self.remedy else "")


class ConfigError(Exception):
    """The configuration cannot be used; every mistake that was found."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        super().__init__(problems)
        self.problems = problems

    def __str__(self) -> str:
        return "\n".join(map(str, self.problems))


@dataclass(slots=True)
class Document:
    """A file's values and the place of each key and value."""

    source: str
    root: object = None
    keys: dict[Steps, tuple[int, int]] = field(default_factory=dict)
    values: dict[Steps, tuple[int, int]] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    flawed: set[Steps] = field(default_factory=set)
    """Values that could not be made out; what else seems wrong with them does not matter."""

    def add(self, steps: Steps, message: str, remedy: str = "", *, at_key: bool = False) -> None:
        """Note a problem at a key or value, or at the nearest place around it.

        The first MAX_PROBLEMS are kept.
        """
        places = (self.keys, self.values) if at_key else (self.values, self.keys)
        around = steps
        while around and not any(around in known for known in places):
            around = around[:-1]
        line, column = next((known[around] for known in places if around in known), (0, 0))
        self.add_at((line, column), steps, message, remedy)

    def add_at(self, place: tuple[int, int], steps: Steps, message: str, remedy: str) -> None:
        """Note a problem at a place of the file."""
        if len(self.problems) < MAX_PROBLEMS:
            problem = Problem(dotted(steps), *place, message, remedy, self.source)
            self.problems.append(problem)


def dotted(steps: Steps) -> str:
    """The way to a value as people write it."""
    text = ""
    for step in steps:
        text += f"[{step}]" if isinstance(step, int) else f".{step}"
    return text.removeprefix(".")


def read_bytes(path: Path) -> bytes:
    """The content of a file that is not too large."""
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except OSError as error:
        message = f"cannot be read: {error.strerror}"
        raise ConfigError((Problem("", 0, 0, message, source=str(path)),)) from error
    if len(raw) > MAX_BYTES:
        raise ConfigError((Problem("", 0, 0, _TOO_LARGE, source=str(path)),))
    return raw


def parse(raw: bytes, source: str, env: Mapping[str, str]) -> Document:
    """The values of a file. Raises ConfigError where it cannot be read to its end."""
    document = Document(source)
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        column = error.start - raw.rfind(b"\n", 0, error.start)
        document.add_at((line, column), (), "is not UTF-8", "save the file as UTF-8")
        raise ConfigError(tuple(document.problems)) from error
    try:
        document.root = _Reader(text, document, env).read()
    except yaml.MarkedYAMLError as error:
        _add_syntax_error(document, error, text)
        raise ConfigError(tuple(document.problems)) from error
    except yaml.reader.ReaderError as error:
        before = text.encode()[: error.position]
        place = (before.count(b"\n") + 1, len(before) - before.rfind(b"\n"))
        document.add_at(place, (), f"is not YAML: {error.reason}", "")
        raise ConfigError(tuple(document.problems)) from error
    return document


def _add_syntax_error(document: Document, error: yaml.MarkedYAMLError, text: str) -> None:
    mark, begin = error.problem_mark, error.context_mark
    place = (mark.line + 1, mark.column + 1) if mark else (0, 0)
    message = str(error.problem)
    if not isinstance(error, _Refused):
        message = f"is not YAML: {message}"
    if begin is not None:
        message += f" ({error.context} that begins in line {begin.line + 1})"
    line = "".join(text.split("\n")[max(place[0] - 1, 0) : place[0]])
    remedy = 'between { } a "${NAME}" stands in quotes' if "${" in line else ""
    document.add_at(place, (), message, remedy)


def resolve(text: str) -> object:
    """The value of a plain scalar by the core schema of YAML 1.2."""
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        return int(text, 0) if text[:2] in ("0x", "0o") else int(text)
    if _FLOAT.fullmatch(text):
        return float(text)
    return text


class _Refused(yaml.MarkedYAMLError):
    """YAML that this reader does not take."""

    def __init__(self, problem: str, event: yaml.Event) -> None:
        mark: Any = event.start_mark  # the mark of the parser in C is a type of its own
        super().__init__(problem=problem, problem_mark=mark)


class _Reader:
    """Builds values from parser events, so that nothing is built before it is found harmless."""

    def __init__(self, text: str, document: Document, env: Mapping[str, str]) -> None:
        self._events: Iterator[yaml.Event] = yaml.parse(text, Loader=_Loader)
        self._document = document
        self._env = env
        self._nodes = 0

    def read(self) -> object:
        next(self._events)  # the start of the stream
        if isinstance(next(self._events), yaml.StreamEndEvent):
            return None
        root = self._value(self._next(), ())
        next(self._events)  # the end of the document
        after = next(self._events)
        if not isinstance(after, yaml.StreamEndEvent):
            raise _Refused("a second document begins here", after)
        return root

    def _next(self) -> yaml.Event:
        event = next(self._events)
        self._nodes += 1
        if self._nodes > _MAX_NODES:
            raise _Refused("there are too many values", event)
        if isinstance(event, yaml.ScalarEvent | yaml.CollectionStartEvent):
            if event.anchor is not None:
                raise _Refused(_NO_ANCHOR, event)
            if event.tag not in (None, "!"):
                raise _Refused("tags (!) are not taken; write the value plainly", event)
        return event

    def _value(self, event: yaml.Event, steps: Steps) -> object:
        if len(steps) > _MAX_DEPTH:
            raise _Refused("is nested too deeply", event)
        self._document.values[steps] = _place(event)
        if isinstance(event, yaml.MappingStartEvent):
            return self._mapping(steps)
        if isinstance(event, yaml.SequenceStartEvent):
            return self._sequence(steps)
        if isinstance(event, yaml.ScalarEvent):
            return self._scalar(event, steps)
        raise _Refused(_NO_ANCHOR, event)

    def _mapping(self, steps: Steps) -> dict[str, object]:
        values: dict[str, object] = {}
        while not isinstance(event := self._next(), yaml.MappingEndEvent):
            if not isinstance(event, yaml.ScalarEvent):
                raise _Refused("a key must be a word", event)
            key = event.value
            inner = (*steps, key)
            if key in values:
                self._document.add_at(_place(event), inner, "stands here twice", "keep one")
                self._skip(self._next(), inner)
                continue
            self._document.keys[inner] = _place(event)
            values[key] = self._value(self._next(), inner)
        return values

    def _skip(self, event: yaml.Event, steps: Steps) -> None:
        """Read over a value; its places must not replace those of the first."""
        document = self._document
        self._document = Document(document.source)
        self._value(event, steps)
        self._document = document

    def _sequence(self, steps: Steps) -> list[object]:
        values: list[object] = []
        while not isinstance(event := self._next(), yaml.SequenceEndEvent):
            values.append(self._value(event, (*steps, len(values))))
        return values

    def _scalar(self, event: yaml.ScalarEvent, steps: Steps) -> object:
        text = event.value
        if "$" not in text:
            return text if event.style else resolve(text)
        filled = _VARIABLE.sub(lambda match: self._variable(match, steps), text)
        return FromEnv(filled) if "${" in text else filled

    def _variable(self, match: re.Match[str], steps: Steps) -> str:
        dollar, name, default, brace = match.groups()
        if dollar:
            return "$"
        value = None if brace else self._env.get(name)
        if value is not None or default is not None:
            return value or default or ""  # as in a shell, `:-` also stands in for an empty value
        message, remedy = f"{shown(name)} is not in the environment", f"write ${{{name}:-default}}"
        if brace:
            message, remedy = "${ does not begin a variable", "write ${NAME}, or $${ for the text"
        self._document.flawed.add(steps)
        self._document.add(steps, message, remedy)
        return match[0]


def _place(event: yaml.Event) -> tuple[int, int]:
    mark: Any = event.start_mark  # None only for events that no parser made
    return mark.line + 1, mark.column + 1
