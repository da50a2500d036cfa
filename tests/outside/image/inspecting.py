"""Runs in the image's own Python: what is installed there, and whether it is all that it wants."""

import importlib.metadata
import json
import sys

from packaging.requirements import Requirement

EXTRAS = {"reprise-proxy": ("", "hnsw", "tracing", "inject"), "redis": ("", "hiredis")}


def main() -> None:
    """Print the versions of what is installed, and the requirements that are not met."""
    installed = {
        distribution.metadata["Name"].lower().replace("_", "-"): distribution
        for distribution in importlib.metadata.distributions(path=sys.path[-1:])
    }
    unmet = sorted(
        {
            f"{name} wants {wanted.name}"
            for name, distribution in installed.items()
            for wanted in map(Requirement, distribution.requires or ())
            if any(
                wanted.marker is None or wanted.marker.evaluate({"extra": extra})
                for extra in EXTRAS.get(name, ("",))
            )
            if not _is_met(wanted, installed)
        }
    )
    versions = {name: distribution.version for name, distribution in installed.items()}
    print(json.dumps({"versions": versions, "unmet": unmet}))  # noqa: T201 - the test reads it


def _is_met(wanted: Requirement, installed: dict[str, importlib.metadata.Distribution]) -> bool:
    found = installed.get(wanted.name.lower().replace("_", "-").replace(".", "-"))
    return found is not None and wanted.specifier.contains(found.version, prereleases=True)


main()
