"""Every metric that there is, by its name. docs/metrics.md is made of it."""

from collections.abc import Mapping

from proxy.telemetry.catalog_injector import INJECTOR
from proxy.telemetry.catalog_parts import PARTS
from proxy.telemetry.catalog_traffic import TRAFFIC
from proxy.telemetry.described import PREFIX, Described

CATALOG: Mapping[str, Described] = {
    described.family: described for described in (*TRAFFIC, *PARTS, *INJECTOR)
}
"""By the name of its family: without `_total`."""


def figure(name: str) -> Described:
    """The metric of a figure, which a part names without `reprise_` and `_total`."""
    return CATALOG[PREFIX + name]
