"""Which policy and which upstream a request gets."""

import pytest

from proxy.core.policy import Match, Policy, Pool, Route, Rules
from tests.core.values import header_of

DEFAULT = Policy()
ALL = Pool("all", "http://all")
QWEN = Pool("qwen", "http://qwen", models=("qwen*", "Qwen/*"))
SMALL = Pool("small", "http://small", models=("*-8b",))
HIDDEN = Pool("hidden", "http://hidden", api_key="sk-1", fields=((b"X-Key", b"sk-2"),))


def route(epoch: str, **match: str) -> Route:
    return Route(Match(**match), Policy(epoch=epoch))


def rules(*routes: Route, pools: tuple[Pool, ...] = (ALL,)) -> Rules:
    return Rules(1, pools, DEFAULT, routes)


@pytest.mark.parametrize(
    ("match", "matches"),
    [
        ({}, True),
        ({"path": "/v1/chat/completions"}, True),
        ({"path": "/v1/*"}, True),
        ({"path": "/v1"}, False),
        ({"path": "/V1/*"}, False),
        ({"model": "qwen3-8b"}, True),
        ({"model": "qwen?-*"}, True),
        ({"model": "*4b"}, False),
        ({"header": "X-Team"}, True),
        ({"header": "x-team", "header_value": "红*"}, True),
        ({"header": "X-Team", "header_value": "蓝*"}, False),
        ({"header": "X-Empty"}, False),
        ({"header": "X-Empty", "header_value": "*"}, True),
        ({"header": "X-Absent"}, False),
        ({"header": "X-Absent", "header_value": "a*"}, False),
        ({"path": "/v1/*", "model": "qwen*", "header": "X-Team"}, True),
        ({"path": "/v1/*", "model": "qwen*", "header": "X-Absent"}, False),
        ({"path": "/v2/*", "model": "qwen*", "header": "X-Team"}, False),
    ],
)
def test_a_route_is_for_what_matches_in_every_member(match: dict[str, str], matches: bool) -> None:
    header = header_of(("X-Team", "红队"), ("X-Empty", ""))
    policy = rules(route("r", **match)).policy_for("/v1/chat/completions", "qwen3-8b", header)
    assert policy.epoch == ("r" if matches else "")


def test_the_first_route_that_matches_decides() -> None:
    several = rules(route("1", model="a"), route("2", model="b*"), route("3"))
    found = [several.policy_for("/", model, header_of()).epoch for model in ("a", "b1", "c")]
    assert found == ["1", "2", "3"]
    assert rules().policy_for("/", "a", header_of()) is DEFAULT


@pytest.mark.parametrize(
    ("pools", "model", "name"),
    [
        ((ALL,), "qwen3", "all"),
        ((ALL, QWEN), "qwen3", "qwen"),
        ((ALL, QWEN), "Qwen/Qwen3", "qwen"),
        ((ALL, QWEN), "QWEN3", "all"),
        ((ALL, QWEN), "", "all"),
        ((QWEN, SMALL), "qwen3-8b", "qwen"),
        ((SMALL, QWEN), "qwen3-8b", "small"),
        ((QWEN, SMALL, ALL), "llama", "all"),
        ((QWEN, SMALL), "llama", "qwen"),
    ],
)
def test_a_model_goes_to_the_first_pool_that_serves_it(
    pools: tuple[Pool, ...], model: str, name: str
) -> None:
    assert rules(pools=pools).pool_for(model).name == name


def test_models_matter_only_where_a_pool_or_a_route_names_some() -> None:
    assert not rules(route("1", path="/v1/*")).has_models
    assert rules(route("1", model="a")).has_models
    assert rules(pools=(ALL, QWEN)).has_models


def test_a_pool_does_not_show_its_secrets() -> None:
    assert "sk-" not in repr(HIDDEN)
    assert "sk-" not in repr(rules(pools=(HIDDEN,)))
