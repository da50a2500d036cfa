"""The policies of the API server do as the webhook does, and tell who is without a sidecar."""

import copy
from functools import cache
from typing import Any

import pytest

from proxy.k8s.refusal import Surroundings
from proxy.k8s.settings import Settings
from tests.k8s.pods import Pod, injected, pod
from tests.outside.helm.cel import Policies
from tests.outside.helm.rendering import HELMS, NAMESPACE, HelmError, Rendered, template
from tests.outside.helm.test_injector import LABELLED, OFF, PLAIN, render

ASKS = {"reprise.dev/inject": "true"}
PORT = {"ports": [{"containerPort": 11481}]}
IN_PLACE = {
    "name": "reprise",
    "image": "reprise:0",
    "restartPolicy": "Always",
    "args": ["serve", "--upstream", "http://u"],
    "volumeMounts": [
        {"name": "reprise-tmp", "mountPath": "/tmp"},  # noqa: S108
        {"name": "reprise-data", "mountPath": "/var/lib/reprise"},
    ],
}


def asking(*containers: dict[str, Any], **more: Any) -> Pod:
    """A pod that asks for a sidecar; `wishes` are annotations of ours."""
    wishes = more.pop("wishes", {})
    annotations = {f"reprise.dev/{name}": value for name, value in wishes.items()}
    labels = ASKS | more.pop("labels", {})
    if annotations:
        more["annotations"] = annotations | more.get("annotations", {})
    return pod(*containers, labels=labels, **more)


LEFT_ALONE = {
    "bad label": asking(labels={"reprise.dev/inject": "yes"}),
    "mirror pod": asking(annotations={"kubernetes.io/config.mirror": "x"}),
    "windows": asking(os={"name": "windows"}),
    "windows by its nodes": asking(nodeSelector={"kubernetes.io/os": "windows"}),
    "host network": asking(hostNetwork=True),
    "name": asking({"name": "reprise"}),
    "port": asking({"name": "a", **PORT}),
    "port of an init container": asking(initContainers=[{"name": "a", **PORT}]),
}

PODS = {
    **LEFT_ALONE,
    "plain": asking(),
    "no labels": pod(),
    "opted out": pod(labels={"reprise.dev/inject": "false"}),
    "variables": asking(
        {"name": "a", "env": [{"name": "X", "value": "1"}]},
        {"name": "b", "env": [{"name": "OPENAI_BASE_URL", "value": "http://x/v1"}]},
        {"name": "c", "envFrom": [{"configMapRef": {"name": "m"}}]},
        {"name": "d", "env": [{"name": "OPENAI_BASE_URL", "valueFrom": {}}]},
    ),
    "init containers": asking(
        initContainers=[{"name": "i"}, {"name": "j", "env": [{"name": "Z", "value": "2"}]}]
    ),
    "volumes": asking(volumes=[{"name": "v", "emptyDir": {}}]),
    "volume of that name": asking(volumes=[{"name": "reprise-tmp", "emptyDir": {}}]),
    "configuration": asking(wishes={"config-map": "our.cache-1"}),
    "no configuration": asking(wishes={"config-map": "Our_cache"}),
    "upstream": asking(wishes={"upstream": "http://llm.here:9000"}),
    "upstream and configuration": asking(wishes={"upstream": "http://u/base", "config-map": "c"}),
    "no upstream": asking(wishes={"upstream": "llm.here"}),
    "upstream of a variable": asking(wishes={"upstream": "http://$(HOST)"}),
    "log level": asking(wishes={"log-level": "debug"}),
    "log level and configuration": asking(wishes={"log-level": "debug", "config-map": "c"}),
    "no log level": asking(wishes={"log-level": "loud"}),
    "image": asking(wishes={"image": "registry.example/x:2@sha256:ab"}),
    "no image": asking(wishes={"image": "a b"}),
    "chosen": asking(
        {"name": "a"},
        {"name": "b"},
        initContainers=[{"name": "i"}, {"name": "j"}],
        wishes={"containers": "b, i"},
    ),
    "no variables": asking(wishes={"env-policy": "none"}),
    "cpu": asking(wishes={"cpu-request": "2", "cpu-limit": "3"}),
    "limit below what is requested by default": asking(wishes={"cpu-limit": "50m"}),
    "limit below the request": asking(wishes={"cpu-limit": "50m", "cpu-request": "60m"}),
    "request above the limit by default": asking(wishes={"memory-request": "5Gi"}),
    "little memory": asking(wishes={"memory-limit": "100Mi"}),
    "no amount": asking(wishes={"memory-limit": "lots", "cpu-limit": "0"}),
    "a unit that was forgotten": asking(wishes={"memory-request": "512"}),
    "job": asking(restartPolicy="Never"),
    "other protocol": asking({"name": "a", "ports": [{"containerPort": 11480, "protocol": "UDP"}]}),
    "a container came later": asking(
        {"name": "a"},
        {"name": "late"},
        labels={"reprise.dev/injected": "true"},
        initContainers=[{"name": "before"}, IN_PLACE, {"name": "behind"}],
        volumes=[{"name": "reprise-tmp", "emptyDir": {}}],
    ),
    "classic sidecar": asking(
        {"name": "a"},
        IN_PLACE,
        labels={"reprise.dev/injected": "true"},
        annotations={"kubectl.kubernetes.io/default-container": "a"},
        initContainers=[{"name": "before"}],
        volumes=[{"name": "reprise-tmp", "emptyDir": {}}],
    ),
    "label alone": asking(labels={"reprise.dev/injected": "true"}),
}

SETS = {
    "defaults": ((), Settings(image="reprise:0.1.0", upstream="https://api.openai.com")),
    "no upstream": (
        ("injector.sidecar.upstream=", "injector.sidecar.runAsUser=null", "image.tag=v2"),
        Settings(image="reprise:v2", user=None),
    ),
    "much": (
        (
            "injector.sidecar.upstream=http://vllm.models:8000",
            "injector.sidecar.logLevel=warning",
            "injector.sidecar.env={OPENAI_BASE_URL,OPENAI_API_BASE}",
            "injector.sidecar.resources.requests.ephemeral-storage=1Gi",
            "injector.sidecar.resources.limits.cpu=2",
            "image.pullPolicy=Always",
        ),
        Settings(
            image="reprise:0.1.0",
            pull_policy="Always",
            upstream="http://vllm.models:8000",
            log_level="warning",
            variables=("OPENAI_BASE_URL", "OPENAI_API_BASE"),
            requests={"cpu": "100m", "memory": "256Mi", "ephemeral-storage": "1Gi"},
            limits={"cpu": "2", "memory": "1Gi"},
        ),
    ),
}


@cache
def rendered(mode: str, *values: str) -> Rendered:
    """The chart's policies in a mode."""
    return render(f"injector.mode={mode}", *values, version="1.36")


def policies(mode: str, *values: str) -> Policies:
    """The same, to be asked."""
    return Policies(rendered(mode, *values).objects())


@pytest.mark.parametrize("name", PODS)
@pytest.mark.parametrize("of", SETS)
def test_the_policy_does_to_a_pod_what_the_webhook_does(of: str, name: str) -> None:
    values, settings = SETS[of]
    value = PODS[name]
    by_policy = policies("admissionPolicy", *values).mutated(value, LABELLED)
    by_webhook = injected(copy.deepcopy(value), settings, Surroundings("team"))
    assert by_policy == by_webhook


@pytest.mark.parametrize("name", PODS)
def test_the_policy_does_it_once(name: str) -> None:
    own = policies("admissionPolicy")
    once = own.mutated(PODS[name], LABELLED)
    assert own.mutated(once, LABELLED) == once


def test_a_container_that_comes_later_is_told_of_the_sidecar_too() -> None:
    own = policies("admissionPolicy")
    once = own.mutated(asking(), LABELLED)
    once["spec"]["containers"].append({"name": "late"})
    late = own.mutated(once, LABELLED)["spec"]["containers"][1]
    assert late["env"] == [{"name": "OPENAI_BASE_URL", "value": "http://127.0.0.1:11480/v1"}]


@pytest.mark.parametrize("mode", ["webhook", "admissionPolicy"])
@pytest.mark.parametrize("action", ["Warn", "Deny"])
def test_who_asked_and_has_none_is_told(mode: str, action: str) -> None:
    own = policies(mode, f"injector.validation.action={action}")
    for value, namespace in [(asking(), PLAIN), (pod(), LABELLED), (asking(), LABELLED)]:
        (message, actions), *others = own.told(value, namespace)
        assert "was asked for" in message
        assert actions == [action, "Audit"]
        assert others == []


@pytest.mark.parametrize("mode", ["webhook", "admissionPolicy"])
def test_nobody_else_is(mode: str) -> None:
    own = policies(mode)
    refused = pod(labels={"reprise.dev/inject": "false"})
    for value, namespace in [(pod(), PLAIN), (refused, LABELLED), (asking(), OFF), (pod(), OFF)]:
        assert own.told(value, namespace) == []


@pytest.mark.parametrize("name", PODS)
def test_whom_the_policy_serves_is_told_nothing_of_a_missing_sidecar(name: str) -> None:
    own = policies("admissionPolicy", "injector.validation.action=Deny")
    told = own.told(own.mutated(PODS[name], LABELLED), LABELLED)
    assert all(actions == ["Warn"] for _, actions in told)
    assert bool(name in LEFT_ALONE) == any("gets no Reprise" in message for message, _ in told)


@pytest.mark.parametrize("name", LEFT_ALONE)
def test_who_is_left_alone_is_never_denied(name: str) -> None:
    own = policies("webhook", "injector.validation.action=Deny")
    assert own.told(LEFT_ALONE[name], LABELLED) == []


def test_without_an_upstream_a_pod_that_names_none_is_left_alone() -> None:
    value = asking()
    own = policies(
        "admissionPolicy", "injector.sidecar.upstream=", "injector.validation.action=Deny"
    )
    assert own.mutated(value, LABELLED) == value
    ((message, actions),) = own.told(value, LABELLED)
    assert "nobody says where the LLM server is" in message
    assert actions == ["Warn"]


@pytest.mark.parametrize(
    ("values", "wishes"),
    [(["injector.nativeSidecar=false"], {}), ([], {"native-sidecar": "false"})],
)
def test_a_job_that_gets_no_classic_sidecar_is_not_denied(
    values: list[str], wishes: dict[str, str]
) -> None:
    own = policies("webhook", "injector.validation.action=Deny", *values)
    owner = [{"kind": "Job", "name": "j"}]
    assert own.told(asking(restartPolicy="Never", wishes=wishes), LABELLED) == []
    assert own.told(asking(ownerReferences=owner, wishes=wishes), LABELLED) == []
    assert own.told(asking(restartPolicy="Always", wishes=wishes), LABELLED) != []


@pytest.mark.parametrize(
    "wishes",
    [
        {"env-policy": "force"},
        {"native-sidecar": "false"},
        {"upstream": "llm.here"},
        {"config-map": "Our_cache"},
    ],
)
def test_what_the_policy_does_not_follow_is_said(wishes: dict[str, str]) -> None:
    own = policies("admissionPolicy")
    value = own.mutated(asking(wishes=wishes), LABELLED)
    ((message, actions),) = own.told(value, LABELLED)
    assert f"reprise.dev/{next(iter(wishes))}" in message
    assert actions == ["Warn"]


@pytest.mark.parametrize("program", HELMS)
@pytest.mark.parametrize("version", ["1.31", "1.33", "1.35"])
def test_older_clusters_are_told_at_once(program: str, version: str) -> None:
    values = "injector.enabled=true,injector.mode=admissionPolicy"
    with pytest.raises(HelmError, match=r"needs Kubernetes 1\.36 or newer"):
        template(program, version, "--set", values)


def test_there_is_no_server_and_no_certificate() -> None:
    kinds = {item["kind"] for item in rendered("admissionPolicy").objects()}
    assert kinds == {
        "MutatingAdmissionPolicy",
        "MutatingAdmissionPolicyBinding",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
    }
    assert NAMESPACE in rendered("admissionPolicy").text
