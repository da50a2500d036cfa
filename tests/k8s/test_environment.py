"""How containers are told of the proxy."""

import pytest

from proxy.core.upstream_url import BadUpstreamUrl
from proxy.k8s.environment import split
from proxy.k8s.injection import inject
from proxy.k8s.refusal import Surroundings
from proxy.k8s.settings import Settings
from tests.k8s.pods import (
    NAMED,
    OURS,
    SETTINGS,
    UPSTREAM,
    base_urls,
    holding,
    injected,
    patched,
    pod,
    sidecar,
    wishing,
)

HERE = Surroundings("apps")
PROXY = "http://127.0.0.1:11480"
SECRET = {"name": "app", "env": [{"name": NAMED, "valueFrom": {"secretKeyRef": {}}}]}


def upstream_of(value: dict[str, object]) -> str:
    args = sidecar(value)["args"]
    return str(args[args.index("--upstream") + 1])


@pytest.mark.parametrize(
    ("url", "upstream", "path"),
    [
        ("http://llm:8000/v1", "http://llm:8000", "/v1"),
        ("http://llm:8000/v1/", "http://llm:8000", "/v1"),
        ("https://api.example.org/openai/v1", "https://api.example.org/openai", "/v1"),
        ("https://api.example.org", "https://api.example.org", ""),
        ("https://api.example.org/api/v3", "https://api.example.org/api/v3", ""),
        ("http://llm/xv1", "http://llm/xv1", ""),
    ],
)
def test_a_base_url_falls_into_two_parts_that_make_it_up(
    url: str, upstream: str, path: str
) -> None:
    base = split(url)
    assert (base.upstream, base.path) == (upstream, path)
    assert base.upstream + base.path == url.rstrip("/")


def test_what_is_no_url_does_not() -> None:
    with pytest.raises(BadUpstreamUrl):
        split("llm:8000/v1")


def test_it_stands_in_front_so_that_others_can_refer_to_it() -> None:
    own = {"name": "MODELS", "value": f"$({NAMED})/models"}
    after = injected(pod({"name": "app", "env": [own]}))
    assert after["spec"]["containers"][0]["env"] == [OURS, own]


@pytest.mark.parametrize("value", [holding("http://own/v1"), holding(""), SECRET])
def test_what_is_set_stays_with_a_warning(value: dict[str, object]) -> None:
    injection = inject(pod(value), HERE, SETTINGS)
    assert patched(pod(value), injection)["spec"]["containers"] == [value]
    assert 'container "app" sets OPENAI_BASE_URL itself' in injection.warnings[0]


def test_env_from_is_overridden_with_a_warning() -> None:
    value = pod({"name": "app", "envFrom": [{"configMapRef": {"name": "c"}}]})
    injection = inject(value, HERE, SETTINGS)
    assert base_urls(patched(value, injection)) == {"app": OURS["value"]}
    assert 'container "app" has envFrom' in injection.warnings[0]
    assert inject(patched(value, injection), HERE, SETTINGS).warnings == ()


def test_the_policy_none_sets_nothing() -> None:
    injection = inject(wishing(holding("x"), env_policy="none"), HERE, SETTINGS)
    assert injection.warnings == ()
    assert base_urls(patched(wishing(holding("x")), injection)) == {"app": "x"}


def test_more_variables_can_be_set() -> None:
    settings = Settings(upstream=UPSTREAM, variables=(NAMED, "OPENAI_API_BASE"))
    env = injected(pod(), settings)["spec"]["containers"][0]["env"]
    assert sorted(one["name"] for one in env) == ["OPENAI_API_BASE", NAMED]
    assert {one["value"] for one in env} == {OURS["value"]}


def test_forced_the_value_becomes_the_upstream_and_nothing_is_asked_elsewhere() -> None:
    for url in ("http://llm:1/v1", "https://api.example.org", "http://h/api/v3"):
        after = injected(wishing(holding(url), env_policy="force"))
        told = base_urls(after)["app"]
        assert told is not None
        assert upstream_of(after) + told.removeprefix(PROXY) == url


def test_forced_containers_without_the_variable_follow_the_others() -> None:
    three = [holding("https://api.example.org/v3"), {"name": "b"}, {"name": "c", "env": []}]
    after = injected(wishing(*three, env_policy="force"))
    assert base_urls(after) == {"app": PROXY, "b": PROXY, "c": PROXY}
    after["spec"]["containers"].append({"name": "late"})
    assert base_urls(injected(after))["late"] == PROXY


def test_forced_the_last_of_several_counts() -> None:
    twice = {"name": "app", "env": [{"name": NAMED, "value": "x"}, *holding("http://b/v1")["env"]]}
    after = injected(wishing(twice, env_policy="force"))
    assert [one["value"] for one in after["spec"]["containers"][0]["env"]] == ["x", OURS["value"]]
    assert upstream_of(after) == "http://b"


def test_forced_an_empty_value_points_nowhere() -> None:
    for empty in (holding(""), {"name": "app", "env": [{"name": NAMED}]}):
        after = injected(wishing(empty, env_policy="force"))
        assert base_urls(after) == {"app": OURS["value"]}
        assert upstream_of(after) == UPSTREAM


@pytest.mark.parametrize("value", [SECRET, holding("http://$(HOST)/v1"), holding("llm:8000")])
def test_forced_what_cannot_be_passed_on_stays(value: dict[str, object]) -> None:
    injection = inject(wishing(value, env_policy="force"), HERE, SETTINGS)
    after = patched(wishing(value, env_policy="force"), injection)
    assert after["spec"]["containers"] == [value]
    assert 'OPENAI_BASE_URL of container "app" stays' in injection.warnings[0]


def test_forced_values_that_disagree_stay() -> None:
    two = [holding("http://a/v1"), holding("http://b/v1", "web")]
    injection = inject(wishing(*two, env_policy="force"), HERE, SETTINGS)
    after = patched(wishing(*two), injection)
    assert after["spec"]["containers"] == two
    assert upstream_of(after) == UPSTREAM
    assert len(injection.warnings) == 2
    assert "name one upstream by reprise.dev/upstream" in injection.warnings[0]


def test_forced_values_make_way_for_an_upstream_that_is_named() -> None:
    two = [holding("http://a/v1"), holding("http://b", "web")]
    for named in ({"upstream": "http://c"}, {"config_map": "c"}):
        after = injected(wishing(*two, env_policy="force", **named))
        assert base_urls(after) == {"app": OURS["value"], "web": OURS["value"]}


def test_forced_a_late_container_has_to_agree_with_the_sidecar() -> None:
    once = injected(wishing(holding("http://a/v1"), env_policy="force"))
    once["spec"]["containers"] += [holding("http://a", "same"), holding("http://b/v1", "other")]
    assert base_urls(injected(once)) == {
        "app": OURS["value"],
        "same": PROXY,
        "other": "http://b/v1",
    }


def test_forced_a_late_container_behind_a_sidecar_with_a_file_makes_way() -> None:
    once = injected(wishing(config_map="c", env_policy="force"))
    del once["metadata"]["annotations"]["reprise.dev/config-map"]
    once["spec"]["containers"].append(holding("http://b", "late"))
    assert base_urls(injected(once))["late"] == OURS["value"]
