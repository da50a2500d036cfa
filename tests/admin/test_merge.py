"""What several workers say, as if one had said it."""

from typing import Any

import pytest

from proxy.admin import merge
from proxy.admin.merge import Answer, Json

WELL = Answer(200, b"{}", "application/json")
ABSENT = Answer(404, b"{}", "application/json")
BROKEN = Answer(500, b"{}", "text/plain")


def result(**told: Any) -> Json:
    unchanged: Json = {"applied": False, "unchanged": True, "problems": [], "restart_required": []}
    return unchanged | told


def given(key: str, hits: int = 1, **more: Any) -> Json:
    row: Json = {
        "entry": None,
        "key": key,
        "model": "m1",
        "hits": hits,
        "levels": {"exact": hits},
        "saved_seconds": 1.5 * hits,
        "saved_tokens": 10 * hits,
        "last": 100.0,
        "age": None,
        "ttl": None,
    }
    return row | more


def missed(key: str, count: int = 1, **more: Any) -> Json:
    return {"key": key, "count": count, "last": 100.0, "reason": "absent", **more}


def group(count: int, *questions: str, tenants: int = 1) -> Json:
    return {"count": count, "tenants": tenants, "questions": list(questions)}


@pytest.mark.parametrize(
    ("answers", "first"),
    [
        ([WELL], WELL),
        ([ABSENT, WELL], WELL),
        ([ABSENT, BROKEN, ABSENT], BROKEN),
        ([ABSENT, ABSENT], ABSENT),
    ],
)
def test_what_went_well_comes_before_the_worst_error(answers: list[Answer], first: Answer) -> None:
    assert merge.chosen(answers) is first


def test_a_reload_is_as_good_as_its_worst() -> None:
    applied = result(applied=True, unchanged=False, restart_required=["listen"])
    problems = result(unchanged=False, problems=["1:1: no"], restart_required=["listen", "workers"])
    assert merge.reloads([result(), result()]) == result()
    assert merge.reloads([applied, result()]) == applied
    assert merge.reloads([applied, problems, problems]) == {
        "applied": True,
        "unchanged": False,
        "problems": ["1:1: no"],
        "restart_required": ["listen", "workers"],
    }


def test_a_purge_took_what_the_fullest_worker_had() -> None:
    assert merge.purges([{"purged": 2}, {"purged": 5, "dry_run": True}, {}]) == {
        "purged": 5,
        "dry_run": True,
    }
    assert merge.purges([{"purged": "many"}]) == {"purged": "many"}
    assert merge.purges([{"purged": 0, "would_purge": 2}, {"purged": 0, "would_purge": 3}]) == {
        "purged": 0,
        "would_purge": 3,
    }
    assert merge.purges([{"purged": 1, "forwarded": ["a"]}, {"purged": 2}]) == {
        "purged": 2,
        "forwarded": ["a"],
    }


def test_models_are_counted_once() -> None:
    told: list[Json] = [
        {"models": [{"model": "a", "entries": 2}, {"model": "b", "entries": 1}]},
        {"models": [{"model": "b", "entries": 7}]},
    ]
    assert merge.models(told) == {
        "models": [{"model": "b", "entries": 7}, {"model": "a", "entries": 2}]
    }


def test_what_is_given_most_in_sum_is_first() -> None:
    told: list[Json] = [
        {"by": "hits", "entries": [given("a", 5), given("b", 3)]},
        {
            "by": "hits",
            "entries": [
                given("b", 4, entry="e", age=7, ttl=8, last=50.0, levels={"alias": 4}),
                given("c", 1),
            ],
        },
    ]
    united = merge.top(told, 2)
    assert [row["key"] for row in united["entries"]] == ["b", "a"]
    assert united["by"] == "hits"
    assert united["entries"][0] == {
        "entry": "e",
        "key": "b",
        "model": "m1",
        "hits": 7,
        "levels": {"exact": 3, "alias": 4},
        "saved_seconds": 10.5,
        "saved_tokens": 70,
        "last": 100.0,
        "age": 7,
        "ttl": 8,
    }


@pytest.mark.parametrize(("by", "first"), [("hits", "a"), ("seconds", "b"), ("tokens", "c")])
def test_the_most_is_by_what_was_asked(by: str, first: str) -> None:
    rows = [given("a", 9), given("b", 1, saved_seconds=99.0), given("c", 1, saved_tokens=999)]
    assert merge.top([{"by": by, "entries": rows}], 1)["entries"][0]["key"] == first


def test_misses_are_added_up_and_told_as_of_the_last() -> None:
    told: list[Json] = [
        {"keep_prompts": True, "misses": [missed("a", 3, last=9.0), missed("b", 4)], "groups": []},
        {
            "keep_prompts": True,
            "misses": [missed("a", 2, last=8.0, reason="guard"), missed("c")],
            "groups": [],
        },
    ]
    united = merge.misses(told, 2)
    assert united["misses"] == [missed("a", 5, last=9.0), missed("b", 4)]
    assert united["keep_prompts"]
    assert not merge.misses([*told, {"keep_prompts": False, "misses": [], "groups": []}], 9)[
        "keep_prompts"
    ]


def test_groups_with_a_question_in_common_are_one() -> None:
    told: list[Json] = [
        {
            "keep_prompts": True,
            "misses": [],
            "groups": [group(2, "a", "b", tenants=2), group(9, "x", "y"), group(1, "c", "d")],
        },
        {"keep_prompts": True, "misses": [], "groups": [group(8, "b", "c")]},
    ]
    assert merge.misses(told, 5)["groups"] == [
        group(11, "a", "b", "c", "d", tenants=2),
        group(9, "x", "y"),
    ]
