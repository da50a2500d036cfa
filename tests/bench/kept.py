"""Figures that are measured by commands of their own, and kept in docs/bench.json until then."""

import json
from collections.abc import Mapping
from typing import Any

from tests.bench.lasting import Delay, Sharing, Soak, WarmStart
from tests.bench.lasting_page import HEADING, lasting_section
from tests.bench.processes import ROOT

_FILE = ROOT / "docs" / "bench.json"
_PAGE = ROOT / "docs" / "benchmarks.md"


def keep(name: str, found: Mapping[str, object]) -> None:
    """Put what was found into the file, and into its section of the page."""
    content = _content()
    content[name] = found
    _FILE.write_text(json.dumps(content, indent=2) + "\n")
    section = lasting_section(kept_sharing(), kept_warm_starts(), kept_soak())
    _PAGE.write_text(with_section(_PAGE.read_text(), section))


def with_section(page: str, section: str) -> str:
    """A page with a section in place of the one with the same heading; else before the last."""
    before, heading, after = page.partition(HEADING)
    if heading:
        _, next_one, rest = after.partition("\n## ")
        return before + section + next_one.lstrip("\n") + rest
    before, last, rest = page.rpartition("\n## ")
    return before + "\n" + section + last.lstrip("\n") + rest


def kept_sharing() -> Sharing | None:
    """What was found when it was measured last, as of the following."""
    found = _content().get("sharing")
    if found is None:
        return None
    delays = {name: Delay(**one) for name, one in found["delays"].items()}
    return Sharing(found["absolute"], found["ratios"], delays)


def kept_warm_starts() -> Mapping[str, WarmStart]:
    """By where the entries came from."""
    return {name: WarmStart(**one) for name, one in (_content().get("warm_start") or {}).items()}


def kept_soak() -> Soak | None:
    """Of half an hour."""
    found = _content().get("soak")
    return None if found is None else Soak(**found)


def _content() -> dict[str, Any]:
    content: dict[str, Any] = json.loads(_FILE.read_text())
    return content
