"""Which stored responses a purge is about (mission B2, E8)."""

import fnmatch
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from proxy.core.cache.value import tenant_name


class Selectable(Protocol):
    """What a purge may be about: a StoredResponse, or a Refusal."""

    @property
    def id(self) -> str: ...
    @property
    def tenant(self) -> bytes: ...
    @property
    def model(self) -> str: ...
    @property
    def namespace(self) -> str: ...
    @property
    def tags(self) -> tuple[str, ...]: ...


@dataclass(frozen=True, slots=True)
class Selector:
    """What must agree; empty members agree with everything."""

    model: str = ""
    """Glob of the model asked for."""
    tenant: str = ""
    """A tenant's public name, as in the log."""
    tag: str = ""
    """Glob of one of its tags."""
    namespace: str = ""
    """Glob of its namespace."""
    entry: str = ""
    """The public name of one answer (x-cache-entry)."""

    def selects(self, stored: Selectable) -> bool:
        """Whether it is about this one."""
        return (
            (not self.model or _fits(stored.model, self.model))
            and (not self.tenant or tenant_name(stored.tenant) == self.tenant)
            and (not self.tag or any(_fits(tag, self.tag) for tag in stored.tags))
            and (not self.namespace or _fits(stored.namespace, self.namespace))
            and (not self.entry or stored.id == self.entry)
        )


def _fits(value: str, glob: str) -> bool:
    # The client wrote the value: one with a bracket in it shall be found by its own name too.
    return value == glob or fnmatch.fnmatchcase(value, glob)


@dataclass(frozen=True, slots=True)
class PurgeOrder:
    """What an operator asks for."""

    selector: Selector
    soft: bool
    """Make it stale instead."""
    dry_run: bool
    """Only tell what would go."""
    forward: bool
    """Have upstreams that are caches of our kind do the same."""


_FLAGS = ("soft", "dry_run", "forward")


def read(body: Mapping[str, object]) -> PurgeOrder:
    """The order of a purge request: one or more of model, tenant, tag, namespace; or all: true.

    Raises ValueError that says what is wrong and what would be right.
    """
    names = ("model", "tenant", "tag", "namespace")
    if unknown := sorted(set(body) - {*names, "all", *_FLAGS}):
        there_are = ", ".join((*names, "all", *_FLAGS))
        raise ValueError(f"unknown member {unknown[0]!r}; there are {there_are}")
    given = {name: body[name] for name in names if name in body}
    for name, value in given.items():
        if not isinstance(value, str) or not value:
            raise ValueError(f"{name} must be a string that is not empty")
    for name in ("all", *_FLAGS):
        if not isinstance(body.get(name, False), bool):
            raise ValueError(f"{name} must be true or false")
    if bool(given) == (body.get("all") is True):
        raise ValueError(f"say either all: true, or one or more of {', '.join(names)}")
    selector = Selector(**{name: str(value) for name, value in given.items()})
    return PurgeOrder(selector, *(body.get(name) is True for name in _FLAGS))
