"""What is done to a pod."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.k8s.injection import OUTCOMES, Done, Fault, inject, result_of
from proxy.k8s.refusal import Reason, Surroundings
from proxy.k8s.settings import Settings
from tests.k8s.pods import (
    CLASSIC,
    NAMED,
    OURS,
    PODS,
    SETTINGS,
    UPSTREAM,
    Pod,
    base_urls,
    holding,
    injected,
    patched,
    pod,
    sidecar,
    stays,
    wishing,
)

HERE = Surroundings("apps")
EVERY = st.sampled_from([SETTINGS, CLASSIC, Settings(), Settings(is_native=False)])


@given(PODS, EVERY)
def test_twice_is_as_good_as_once(value: Pod, settings: Settings) -> None:
    first = inject(value, HERE, settings)
    again = inject(patched(value, first), HERE, settings)
    assert again.patch == ()
    assert again.outcome in (Done.NOTHING, first.outcome)


@given(PODS, EVERY)
def test_what_others_wrote_stays_and_keeps_its_order(value: Pod, settings: Settings) -> None:
    untouched = copy.deepcopy(value)
    injection = inject(value, HERE, settings)
    assert value == untouched
    after = patched(value, injection)
    for each in _without_ours(value), _without_ours(after):
        assert each["spec"]["containers"]
    assert stays(_without_ours(value), _without_ours(after))
    assert {operation["op"] for operation in injection.patch} <= {"add", "replace"}
    if injection.patch == ():
        assert after == value


def _without_ours(value: Pod) -> Pod:
    """What may change: the variable's value, and our label."""
    value = copy.deepcopy(value)
    ((value.get("metadata") or {}).get("labels") or {}).pop("reprise.dev/injected", None)
    for kind in ("containers", "initContainers"):
        for container in value["spec"].get(kind) or []:
            for variable in container.get("env") or []:
                if variable["name"] == NAMED:
                    variable.pop("value", None)
    return value


@given(PODS, EVERY, st.sampled_from(["containers", "initContainers"]))
def test_a_container_that_comes_late_gets_the_rest(
    value: Pod, settings: Settings, kind: str
) -> None:
    first = inject(value, HERE, settings)
    once = patched(value, first)
    once["spec"][kind] = [*(once["spec"].get(kind) or []), {"name": "late", "image": "late:1"}]
    again = inject(once, HERE, settings)
    twice = patched(once, again)
    if first.patch == () or again.outcome is not Done.COMPLETED:
        return
    assert again.patch[0]["path"].endswith("/env")
    assert base_urls(twice)["late"] in ("http://127.0.0.1:11480/v1", "http://127.0.0.1:11480")
    assert inject(twice, HERE, settings).patch == ()


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=3),
        lambda inner: (
            st.lists(inner, max_size=2)
            | st.dictionaries(
                st.sampled_from(
                    ["metadata", "spec", "containers", "initContainers", "env", "labels", "name"]
                ),
                inner,
                max_size=3,
            )
        ),
    )
)
def test_whatever_it_is_there_is_an_answer(value: Any) -> None:
    injection = inject(value, HERE, SETTINGS)
    if isinstance(value, dict):
        patched(value, injection)
    else:
        assert injection.outcome is Fault.MALFORMED


def test_a_native_sidecar_comes_before_all_others() -> None:
    init = [{"name": "migrate", "image": "m"}]
    after = injected(pod(initContainers=init))
    assert [each["name"] for each in after["spec"]["initContainers"]] == ["reprise", "migrate"]
    assert sidecar(after)["restartPolicy"] == "Always"
    assert base_urls(after) == {"migrate": OURS["value"], "app": OURS["value"]}
    assert after["metadata"]["labels"] == {"reprise.dev/injected": "true"}
    assert "annotations" not in after["metadata"]


def test_a_classic_sidecar_comes_last_and_kubectl_shows_the_first() -> None:
    init = [{"name": "migrate", "image": "m"}]
    after = injected(pod({"name": "app"}, {"name": "web"}, initContainers=init), CLASSIC)
    assert [each["name"] for each in after["spec"]["containers"]] == ["app", "web", "reprise"]
    assert "restartPolicy" not in sidecar(after)
    assert base_urls(after) == {"migrate": None, "app": OURS["value"], "web": OURS["value"]}
    told = {"kubectl.kubernetes.io/default-container": "app"}
    assert after["metadata"]["annotations"] == told


def test_a_pod_may_choose_its_kind_of_sidecar() -> None:
    classic = inject(wishing(native_sidecar="false"), HERE, SETTINGS)
    native = inject(wishing(native_sidecar="true"), HERE, CLASSIC)
    assert (classic.outcome, native.outcome) == (Done.CLASSIC, Done.NATIVE)


def test_a_pod_without_metadata_and_volumes_gets_them() -> None:
    after = injected({"spec": {"containers": [{"name": "app"}]}}, CLASSIC)
    assert after["metadata"] == {
        "labels": {"reprise.dev/injected": "true"},
        "annotations": {"kubectl.kubernetes.io/default-container": "app"},
    }
    assert [volume["name"] for volume in after["spec"]["volumes"]] == [
        "reprise-tmp",
        "reprise-data",
    ]


def test_a_volume_of_the_pods_own_is_used() -> None:
    own = {"name": "reprise-data", "persistentVolumeClaim": {"claimName": "kept"}}
    after = injected(pod(volumes=[own]))
    assert after["spec"]["volumes"] == [own, {"name": "reprise-tmp", "emptyDir": {}}]


def test_init_containers_before_a_native_sidecar_are_not_told() -> None:
    once = injected(pod())
    once["spec"]["initContainers"].insert(0, {"name": "early"})
    once["spec"]["initContainers"].append({"name": "late"})
    assert base_urls(injected(once)) == {
        "early": None,
        "late": OURS["value"],
        "app": OURS["value"],
    }


def test_only_the_named_containers_are_told() -> None:
    value = wishing({"name": "app"}, {"name": "web"}, containers="web,other")
    injection = inject(value, HERE, SETTINGS)
    assert base_urls(patched(value, injection)) == {"app": None, "web": OURS["value"]}
    assert injection.warnings == ("reprise.dev/containers: there is no container other",)


def test_the_upstream_is_the_pods_or_that_of_the_settings() -> None:
    own = sidecar(injected(wishing(upstream="http://own:1/")))["args"]
    common = sidecar(injected(pod()))["args"]
    assert own[own.index("--upstream") + 1] == "http://own:1"
    assert common[common.index("--upstream") + 1] == UPSTREAM


def test_a_config_map_names_the_upstream_unless_the_pod_does() -> None:
    alone = injected(wishing(config_map="c"), Settings())
    assert sidecar(alone)["args"][:3] == ["serve", "--config", "/etc/reprise/reprise.yaml"]
    assert "--upstream" not in sidecar(injected(wishing(config_map="c")))["args"]
    assert "--upstream" in sidecar(injected(wishing(config_map="c", upstream="http://u")))["args"]
    config = {"name": "reprise-config", "configMap": {"name": "c"}}
    assert alone["spec"]["volumes"][-1] == config


def test_without_an_upstream_a_pod_is_left_alone_and_told_why() -> None:
    injection = inject(wishing(upstream="llm:8000"), HERE, Settings())
    assert (injection.outcome, injection.patch) == (Reason.NO_UPSTREAM, ())
    bad, none = injection.warnings
    assert 'annotation reprise.dev/upstream: "llm:8000" cannot be used' in bad
    assert "reprise.dev/upstream or reprise.dev/config-map" in none


def test_what_is_wrong_with_a_wish_does_not_stop_the_rest() -> None:
    value = wishing(cpu_request="lots", log_level="debug")
    injection = inject(value, HERE, SETTINGS)
    assert injection.outcome is Done.NATIVE
    assert len(injection.warnings) == 1
    assert sidecar(patched(value, injection))["args"][-2:] == ["--log-level", "debug"]


def test_a_sidecar_in_place_stays_as_it_is() -> None:
    once = injected(pod())
    sidecar_before = once["spec"]["initContainers"][0]
    sidecar_before["env"] = [{"name": "ADDED", "value": "by another webhook"}]
    del once["spec"]["volumes"][1]
    injection = inject(once, HERE, Settings(upstream="http://other", image="other:2"))
    after = patched(once, injection)
    assert injection.outcome is Done.COMPLETED
    assert after["spec"]["initContainers"] == [sidecar_before]
    assert {volume["name"] for volume in after["spec"]["volumes"]} == {
        "reprise-tmp",
        "reprise-data",
    }


def test_a_value_that_made_way_is_the_upstream_of_the_pod() -> None:
    value = wishing(holding("https://api.example.org/openai/v1/"), env_policy="force")
    after = injected(value)
    assert base_urls(after) == {"app": OURS["value"]}
    args = sidecar(after)["args"]
    assert args[args.index("--upstream") + 1] == "https://api.example.org/openai"
    assert inject(after, HERE, SETTINGS).outcome is Done.NOTHING


def test_each_outcome_is_one_word_for_the_metrics() -> None:
    pairs = [(result_of(each), each.value) for each in OUTCOMES]
    assert len(set(pairs)) == len(pairs) == 4 + len(Reason) + len(Fault)
    assert {result for result, _ in pairs} == {"injected", "unchanged", "skipped", "failed"}


@pytest.mark.parametrize("settings", [SETTINGS, CLASSIC])
def test_no_value_of_a_variable_is_told(settings: Settings) -> None:
    for policy in ("if-unset", "force"):
        for url in ("https://key:sk-secret@h/v1", "sk-secret"):
            value = wishing(holding(url), env_policy=policy)
            told = " ".join(inject(value, HERE, settings).warnings)
            assert "OPENAI_BASE_URL" in told
            assert "sk-secret" not in told
