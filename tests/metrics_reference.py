"""docs/metrics.md, made of the catalogue: `python -m tests.metrics_reference` writes it anew."""

from collections.abc import Iterable
from pathlib import Path

from proxy.telemetry import catalog_parts as parts
from proxy.telemetry.catalog_injector import INJECTOR
from proxy.telemetry.catalog_traffic import TRAFFIC
from proxy.telemetry.counts import SECONDS
from proxy.telemetry.described import Described, Kind, Named, Rule

PATH = Path(__file__).parent.parent / "docs" / "metrics.md"

INTRODUCTION = Path(__file__).with_suffix(".md")
_SECTIONS: tuple[tuple[str, Iterable[Described]], ...] = (
    ("Requests, the cache, upstreams", TRAFFIC),
    ("Memory", parts.MEMORY),
    ("Meaning", parts.SEMANTIC),
    ("Disk", parts.DISK),
    ("Redis", parts.REDIS),
    ("Configuration, background tasks, event loop", parts.RUNNING),
    ("Traces", parts.TRACING),
    ("Workers", (parts.WORKERS, parts.WORKER_RESTARTS)),
    ("The process", (parts.CPU_SECONDS, parts.RESIDENT_BYTES, parts.VIRTUAL_BYTES)),
    ("The injector", INJECTOR),
)


def document() -> str:
    """The whole page."""
    buckets = ", ".join(f"{bound:g}" for bound in SECONDS)
    text = INTRODUCTION.read_text("utf-8").replace("BUCKETS", buckets)
    for title, metrics in _SECTIONS:
        text += f"\n## {title}\n\n| name | type | workers | meaning |\n|---|---|---|---|\n"
        text += "".join(map(_row, metrics))
    return text


def _row(described: Described) -> str:
    united = described.united if described.kind is Kind.GAUGE else Rule.SUM
    labels = "".join(
        f"<br>`{label}`: {_values(values)}" for label, values in described.labels.items()
    )
    return f"| `{described.name}` | {described.kind} | {united} | {described.meaning}{labels} |\n"


def _values(values: tuple[str, ...] | Named) -> str:
    if isinstance(values, Named):
        return values.what
    return " ".join(f"`{value}`" for value in values)


if __name__ == "__main__":
    PATH.write_text(document(), "utf-8")
