"""Which stored responses a purge is about (mission B2, E8)."""

import fnmatch
from collections.abc import Mapping
from dataclasses import dataclass

from proxy.core.cache.value import StoredResponse, tenant_name


@dataclass(frozen=True, slots=True)
class Selector:
    """What must agree; empty members agree with everything."""

    model: str = ""
    """Glob of the model asked for."""
    tenant: str = ""
    """A tenant's public name, as in the log."""
    tag: str = ""
    namespace: str = ""
    entry: str = ""
    """The public name of one answer (x-cache-entry)."""

    def selects(self, stored: StoredResponse) -> bool:
        """Whether it is about this one."""
        return (
            (not self.model or fnmatch.fnmatchcase(stored.model, self.model))
            and (not self.tenant or tenant_name(stored.tenant) == self.tenant)
            and (not self.tag or self.tag in stored.tags)
            and (not self.namespace or stored.namespace == self.namespace)
            and (not self.entry or stored.id == self.entry)
        )


def read(body: Mapping[str, object]) -> Selector:
    """The selector of a purge request: one or more of model, tenant, tag, namespace; or all: true.

    Raises ValueError that says what is wrong and what would be right.
    """
    names = ("model", "tenant", "tag", "namespace")
    if unknown := sorted(set(body) - {*names, "all", "soft"}):
        raise ValueError(f"unknown member {unknown[0]!r}; there are {', '.join(names)}, all, soft")
    given = {name: body[name] for name in names if name in body}
    for name, value in given.items():
        if not isinstance(value, str) or not value:
            raise ValueError(f"{name} must be a string that is not empty")
    for name in ("all", "soft"):
        if not isinstance(body.get(name, False), bool):
            raise ValueError(f"{name} must be true or false")
    if bool(given) == (body.get("all") is True):
        raise ValueError(f"say either all: true, or one or more of {', '.join(names)}")
    return Selector(**{name: str(value) for name, value in given.items()})
