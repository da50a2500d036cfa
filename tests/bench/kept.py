"""Figures that are measured by commands of their own, and kept in docs/bench.json until then."""

import json
from collections.abc import Mapping

from tests.bench.processes import ROOT

FILE = ROOT / "docs" / "bench.json"


def keep(name: str, found: Mapping[str, object]) -> None:
    """Put what was found into the file."""
    content = json.loads(FILE.read_text())
    content[name] = found
    FILE.write_text(json.dumps(content, indent=2) + "\n")
