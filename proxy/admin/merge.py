"""What several workers say of the same thing, as if one had said it. Decides only.

Each function takes the bodies of the answers that went well, those of the lower workers first, and
there is at least one.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, TypeAlias

Json: TypeAlias = dict[str, Any]
Merge: TypeAlias = Callable[[Sequence[Json]], Json]

_AMOUNTS = {"hits": "hits", "seconds": "saved_seconds", "tokens": "saved_tokens"}
"""What /admin/top sorts by: the member of a row."""


class Answer(NamedTuple):
    """One worker's response."""

    status: int
    body: bytes
    content_type: str

    @property
    def is_error(self) -> bool:
        """Whether the worker did not do as asked."""
        return self.status >= 400


def chosen(answers: Sequence[Answer]) -> Answer:
    """The first that went well, else the worst; of equal ones the first."""
    well = next((answer for answer in answers if not answer.is_error), None)
    return well or max(answers, key=lambda answer: answer.status)


def reloads(told: Sequence[Json]) -> Json:
    """Applied where any has applied it; the problems are those of the first that has some."""
    return {
        "applied": any(one["applied"] for one in told),
        "unchanged": all(one["unchanged"] for one in told),
        "problems": next((one["problems"] for one in told if one["problems"]), []),
        "restart_required": list(dict.fromkeys(key for one in told for key in _required(one))),
    }


def _required(told: Json) -> list[str]:
    keys: list[str] = told["restart_required"]
    return keys


def purges(told: Sequence[Json]) -> Json:
    """Each holds a copy, so what was purged is what the one with the most had."""
    most = max(told, key=lambda one: (_count(one, "purged"), _count(one, "would_purge")))
    forwarded = next((one["forwarded"] for one in told if "forwarded" in one), None)
    return most if forwarded is None else {**most, "forwarded": forwarded}


def _count(told: Json, member: str) -> int:
    count = told.get(member, 0)
    return count if isinstance(count, int) else 0


def without_forward(body: Json, told: Json) -> Json:
    """A purge for the others, when one worker has told the upstreams of it."""
    return {name: value for name, value in body.items() if name != "forward"}


def same_epoch(body: Json, told: Json) -> Json:
    """An epoch for the others, when one worker has `told` which; it may have made one up."""
    return {"model": told.get("model"), "epoch": told.get("epoch")}


def models(told: Sequence[Json]) -> Json:
    """Each holds a copy, so the largest count of a model is its count."""
    entries: Counter[str] = Counter()
    for row in _rows(told, "models"):
        entries[row["model"]] = max(entries[row["model"]], row["entries"])
    return {"models": [{"model": model, "entries": n} for model, n in entries.most_common()]}


def top(told: Sequence[Json], limit: int) -> Json:
    """Hits of the same entry together, then those with the most."""
    by = told[0]["by"]
    rows = [_given(rows) for rows in _by_key(_rows(told, "entries"))]
    rows.sort(key=lambda row: -row[_AMOUNTS[by]])
    return {"by": by, "entries": rows[:limit]}


def _given(rows: list[Json]) -> Json:
    latest = max(rows, key=lambda row: (row["entry"] is not None, row["last"]))
    levels: Counter[str] = Counter()
    for row in rows:
        levels.update(row["levels"])
    return {
        **latest,
        "hits": sum(row["hits"] for row in rows),
        "levels": dict(levels),
        "saved_seconds": round(sum(row["saved_seconds"] for row in rows), 3),
        "saved_tokens": sum(row["saved_tokens"] for row in rows),
        "last": max(row["last"] for row in rows),
    }


def misses(told: Sequence[Json], limit: int) -> Json:
    """Misses of the same question together; groups that have a question in common are one."""
    rows = [_missed(rows) for rows in _by_key(_rows(told, "misses"))]
    rows.sort(key=lambda row: -row["count"])
    groups = _groups(_rows(told, "groups"))
    return {
        "keep_prompts": all(one["keep_prompts"] for one in told),
        "misses": rows[:limit],
        "groups": sorted(groups, key=lambda group: -group["count"]),
    }


def _missed(rows: list[Json]) -> Json:
    latest = max(rows, key=lambda row: row["last"])
    return {**latest, "count": sum(row["count"] for row in rows)}


def _groups(groups: Iterable[Json]) -> list[Json]:
    united: list[Json] = []
    for group in groups:
        asked = set(group["questions"])
        same = [one for one in united if not asked.isdisjoint(one["questions"])]
        united = [one for one in united if one not in same]
        parts = [*same, group]
        questions = dict.fromkeys(text for part in parts for text in part["questions"])
        united.append(
            {
                "count": sum(part["count"] for part in parts),
                # Nobody tells which they are: at least as many as one worker has seen.
                "tenants": max(part["tenants"] for part in parts),
                "questions": list(questions),
            }
        )
    return united


def _rows(told: Sequence[Json], member: str) -> list[Json]:
    return [row for one in told for row in one[member]]


def _by_key(rows: Iterable[Json]) -> list[list[Json]]:
    found: dict[str, list[Json]] = {}
    for row in rows:
        found.setdefault(row["key"], []).append(row)
    return list(found.values())
