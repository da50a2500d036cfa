"""What a request's header fields ask of the cache (RFC 9111 5.2.1; design 10)."""

import re
from collections.abc import Callable
from dataclasses import dataclass

MAX_NAMESPACE = 256
MAX_TAGS = 16
MAX_TAG = 64
BACKGROUND = "background"
PRIORITIES = frozenset({BACKGROUND, "normal"})
"""What x-cache-priority may say."""
_LIST_ELEMENT = re.compile(r'(?:"[^"]*"|[^,])+')
_SECONDS = re.compile(r'([0-9]+)|"([0-9]+)"')
_DURATION = re.compile(r"\s*(\d{1,9}(?:\.\d{1,9})?)\s*(ms|s|m|h|d)?\s*", re.ASCII)
_THRESHOLD = re.compile(r"\s*(?:0?\.\d+|0|1|1\.0+)\s*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Directives:
    """The request's wishes. Durations in seconds, None where not given."""

    no_store: bool = False
    no_cache: bool = False
    only_if_cached: bool = False
    max_age: float | None = None
    min_fresh: float | None = None
    max_stale: float | None = None
    """`max-stale` without a value accepts any staleness: infinity."""
    namespace: str = ""
    ttl: float | None = None
    tags: tuple[str, ...] = ()
    threshold: float = 0.0
    """The least similarity that the client accepts."""
    is_background: bool = False
    """What the upstream has to answer waits for its turn (pipeline/background.py)."""
    flaw: str | None = None
    """The name of an x-cache-* field that cannot be read; such a request is left alone."""


NONE = Directives()


def parse(header: Callable[[str], str | None]) -> Directives:
    """Read the fields of one request. `header` gives a field's value by name, or None."""
    cache_control = header("Cache-Control")
    namespace = header("x-cache-namespace")
    ttl = header("x-cache-ttl")
    tags = header("x-cache-tags")
    threshold = header("x-cache-threshold")
    priority = header("x-cache-priority")
    if not (cache_control or namespace or ttl or tags or threshold or priority):
        return NONE
    wishes = _cache_control(cache_control or "")
    seconds = parse_duration(ttl) if ttl else None
    names = tuple(sorted({tag.strip() for tag in (tags or "").split(",")} - {""}))
    flaw = None
    if ttl and seconds is None:
        flaw = "x-cache-ttl"
    elif len(names) > MAX_TAGS or any(len(name) > MAX_TAG for name in names):
        flaw = "x-cache-tags"
    elif namespace and len(namespace) > MAX_NAMESPACE:
        flaw = "x-cache-namespace"
    elif threshold and not _THRESHOLD.fullmatch(threshold):
        flaw = "x-cache-threshold"
    elif priority and priority.strip().lower() not in PRIORITIES:
        flaw = "x-cache-priority"
    return Directives(
        no_store="no-store" in wishes,
        no_cache="no-cache" in wishes,
        only_if_cached="only-if-cached" in wishes,
        max_age=_seconds(wishes, "max-age", unreadable=0.0),
        min_fresh=_seconds(wishes, "min-fresh", unreadable=float("inf")),
        max_stale=_max_stale(wishes),
        namespace=namespace or "",
        ttl=seconds,
        tags=names,
        threshold=float(threshold) if threshold and not flaw else 0.0,
        is_background=(priority or "").strip().lower() == BACKGROUND,
        flaw=flaw,
    )


def parse_duration(text: str) -> float | None:
    """Seconds of "90", "90s", "15m", "2h" or "1d"; None for anything else."""
    match = _DURATION.fullmatch(text)
    if match is None:
        return None
    return float(match[1]) * {"ms": 0.001, "m": 60, "h": 3600, "d": 86400}.get(match[2], 1)


def _cache_control(value: str) -> dict[str, str | None]:
    # Of a directive that is given twice the first counts (RFC 9111 4.2.1).
    wishes: dict[str, str | None] = {}
    for element in _LIST_ELEMENT.findall(value):
        name, separator, argument = element.partition("=")
        wishes.setdefault(name.strip().lower(), argument.strip() if separator else None)
    return wishes


def _seconds(wishes: dict[str, str | None], name: str, *, unreadable: float) -> float | None:
    # A value that cannot be read means the strictest reading: in doubt, a miss.
    if name not in wishes:
        return None
    match = _SECONDS.fullmatch(wishes[name] or "")
    return float(match[1] or match[2]) if match else unreadable


def _max_stale(wishes: dict[str, str | None]) -> float | None:
    if "max-stale" in wishes and wishes["max-stale"] is None:
        return float("inf")
    return _seconds(wishes, "max-stale", unreadable=0.0)
