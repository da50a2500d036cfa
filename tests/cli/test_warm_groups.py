"""What is asked most, by key and by meaning."""

from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from proxy.cli.warm_groups import Survey, together
from proxy.cli.warm_input import Entry, Place
from proxy.config import Config, load
from tests.fakes.models import prepared_models

PATH = "/v1/chat/completions"


@pytest.fixture
def config(monkeypatch: pytest.MonkeyPatch) -> Config:
    monkeypatch.setenv("REPRISE_MODELS", str(prepared_models()))
    return load(None, upstream="http://127.0.0.1:9", env={})


def body(text: str, *, before: str = "", **members: Any) -> dict[str, Any]:
    system = [{"role": "system", "content": before}] if before else []
    return {"model": "m", "messages": [*system, {"role": "user", "content": text}]} | members


def surveyed(config: Config, *bodies: dict[str, Any]) -> Survey:
    survey = Survey(config, [("Authorization", "Bearer k")])
    for number, one in enumerate(bodies):
        survey.add(Entry(PATH, one), Place(0, number, number + 1))
    return survey


def shown(items: Sequence[Any]) -> Iterable[Any]:
    return items


def test_equal_questions_are_counted_as_the_proxy_tells_them_apart(config: Config) -> None:
    survey = surveyed(
        config,
        body("a"),
        body("b"),
        body("b", user="u7"),
        body("b", temperature=1.0),
        body("b", metadata={"run": "5"}),
    )
    assert [(q.count, q.place.offset) for q in survey.most_frequent()] == [(3, 1), (1, 0), (1, 3)]


def test_what_the_cache_does_not_look_up_is_told_apart(config: Config) -> None:
    survey = surveyed(config, body("a"), {"messages": "?"})
    survey.add(Entry("/v1/audio/speech", {"input": "x"}), Place(0, 9, 9))
    assert dict(survey.left_alone) == {"form": 1, "path": 1}
    assert (survey.requests, len(survey.most_frequent())) == (3, 1)


def test_rewordings_count_as_one_in_their_partition(config: Config) -> None:
    survey = surveyed(
        config,
        body("What is the capital city of Peru?"),
        body("Which city is the capital of Peru?"),
        body("Which city is the capital of Peru?"),
        body("Which city is the capital of Chile?"),
        body("What is the capital city of Peru?", before="Answer in verse."),
        body("怎么重置路由器"),
        body("如何重置路由器"),
    )
    groups = together(survey.most_frequent(), config, shown)
    assert [(group.count, group.wordings) for group in groups] == [(3, 2), (2, 2), (1, 1), (1, 1)]
    assert groups[0].place.offset == 1  # the most frequent wording
