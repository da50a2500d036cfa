"""Manifests with sidecars."""

import json
from typing import Any

import kubernetes_validate
import pytest
import yaml
from hypothesis import given

from proxy.k8s import manifests
from proxy.k8s.manifests import BadManifest, rendered
from proxy.k8s.settings import Settings
from tests.k8s.pods import CLASSIC, PODS, SETTINGS, Pod, base_urls, injected, pod

SERVICE = """# Source: app/service.yaml
apiVersion: v1
kind: Service
metadata: {name: app}   # a comment
spec:
    ports: [ {port: 80} ]
"""
DEPLOYMENT = """---
# the app
apiVersion: apps/v1
kind: Deployment
metadata:
  name: app
spec:
  selector: {matchLabels: {app: app}}
  template:
    metadata:
      labels:
        app: app
        day: 2020-01-01
    spec:
      containers:
        - name: app
          image: "app:1"
          env:
            - {name: EXPONENT, value: "1e3"}
            - {name: WORD, value: 'no'}
"""


def templated(kind: str, version: str, *steps: str) -> dict[str, Any]:
    """An object of a kind, with a pod at the end of the steps."""
    inner: dict[str, Any] = {"spec": pod()["spec"]}
    for step in reversed(steps):
        inner = {step: inner}
    return {"apiVersion": version, "kind": kind, "metadata": {"name": "app"}, **inner}


def pod_of(value: dict[str, Any], *steps: str) -> dict[str, Any]:
    for step in steps:
        value = value[step]
    return value


KINDS = [
    ("Pod", "v1"),
    ("PodTemplate", "v1", "template"),
    ("ReplicationController", "v1", "spec", "template"),
    *((kind, "apps/v1", "spec", "template") for kind in ("Deployment", "StatefulSet")),
    *((kind, "apps/v1", "spec", "template") for kind in ("DaemonSet", "ReplicaSet")),
    ("Job", "batch/v1", "spec", "template"),
    ("CronJob", "batch/v1", "spec", "jobTemplate", "spec", "template"),
]


@pytest.mark.parametrize("form", [json.dumps, yaml.safe_dump])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind[0])
def test_every_kind_with_a_pod_gets_the_sidecar(kind: tuple[str, ...], form: Any) -> None:
    name, version, *steps = kind
    rendering = rendered(form(templated(name, version, *steps)), SETTINGS)
    after = pod_of(yaml.safe_load(rendering.text), *steps)
    assert base_urls(after) == {"app": "http://127.0.0.1:11480/v1"}
    assert after["spec"]["initContainers"][0]["name"] == "reprise"
    assert (rendering.is_complete, rendering.warnings) == (True, ())


@given(PODS)
def test_yaml_and_json_say_what_the_webhook_would(value: Pod) -> None:
    whole = {"apiVersion": "v1", "kind": "Pod", **value}
    expected = injected(whole)
    for write, read in ((json.dumps, json.loads), (yaml.safe_dump, yaml.safe_load)):
        once = rendered(write(whole), SETTINGS)
        assert read(once.text) == expected
        assert rendered(once.text, SETTINGS).text == once.text


def test_what_has_no_pod_stays_to_the_byte() -> None:
    other = "---\r\n# odd\r\nkind: Deployment\r\napiVersion: example.org/v1\r\nx: !tag  1\r\n"
    text = SERVICE + DEPLOYMENT + other + "--- # nothing\n---\n"
    after = rendered(text, SETTINGS).text
    assert after.startswith(SERVICE + "---\n# the app\napiVersion: apps/v1\n")
    assert after.endswith(other + "--- # nothing\n---\n")
    for nothing in ("", "\n", "# only words\n", "just text", "[1, 2]", "{}", SERVICE):
        assert rendered(nothing, SETTINGS).text == nothing


def test_no_scalar_is_written_anew() -> None:
    after = rendered(DEPLOYMENT, SETTINGS).text
    for line in (
        "day: 2020-01-01",
        'image: "app:1"',
        '{name: EXPONENT, value: "1e3"}',
        "{name: WORD, value: 'no'}",
        "reprise.dev/injected: 'true'",
    ):
        assert line in after
    (document,) = yaml.safe_load_all(after)
    # A date is text to Kubernetes, and to nobody else.
    document["spec"]["template"]["metadata"]["labels"].pop("day")
    kubernetes_validate.validate(document, "1.33", strict=True)
    assert document["spec"]["template"]["spec"]["containers"][0]["env"][2]["value"] == "no"


def test_rendered_again_it_is_the_same() -> None:
    once = rendered(SERVICE + DEPLOYMENT, SETTINGS).text
    assert rendered(once, SETTINGS).text == once


def test_a_list_is_looked_through() -> None:
    items = [templated("Job", "batch/v1", "spec", "template"), {"kind": "Service"}, pod()]
    whole = {"apiVersion": "v1", "kind": "List", "items": items}
    after = json.loads(rendered(json.dumps(whole), SETTINGS).text)
    assert base_urls(after["items"][0]["spec"]["template"])["app"]
    assert base_urls(after["items"][2])["app"]
    assert after["items"][1] == {"kind": "Service"}


def test_aliases_and_merged_keys_are_written_out() -> None:
    text = """apiVersion: v1
kind: Pod
metadata: &m {name: app, labels: &l {app: x}}
spec:
  containers:
  - &c {name: app, image: "app:1", env: &e [{name: A, value: "1"}]}
  - {<<: *c, name: web}
  - {name: third, image: "app:1", env: *e}
"""
    after = yaml.safe_load(rendered(text, SETTINGS).text)
    assert [each["name"] for each in after["spec"]["containers"]] == ["app", "web", "third"]
    for each in after["spec"]["containers"]:
        assert [one["name"] for one in each["env"]] == ["OPENAI_BASE_URL", "A"]
    assert "*" not in rendered(text, SETTINGS).text.replace("'*:11481'", "")


def test_an_anchor_that_multiplies_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifests, "MAX_NODES", 1000)
    layers = [f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]" for n in range(1, 9)]
    text = "\n".join(["kind: Pod", "l0: &l0 [x]", *layers])
    with pytest.raises(BadManifest, match="document 1"):
        rendered(text, SETTINGS)
    with pytest.raises(BadManifest, match="document 1"):
        rendered("kind: Pod\nspec: &a [*a]\n", SETTINGS)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("kind: [", "document 1 is not YAML"),
        (f"{SERVICE}---\na: b: c\n", "document 2 is not YAML: .* in line 2 of it"),
        ("a: \x00", "document 1"),
        ("{\n\tkind: Pod,", "document 1"),
    ],
)
def test_what_cannot_be_read_is_told_by_its_number(text: str, told: str) -> None:
    with pytest.raises(BadManifest, match=told):
        rendered(text, SETTINGS)


def test_who_opted_out_has_what_he_should() -> None:
    text = json.dumps(pod(labels={"reprise.dev/inject": "false"}))
    rendering = rendered(text, SETTINGS)
    assert (rendering.text, rendering.is_complete, rendering.warnings) == (text, True, ())


@pytest.mark.parametrize(
    ("value", "settings", "told"),
    [
        (pod(hostNetwork=True), SETTINGS, "Pod/app-: the pod gets no sidecar: with hostNetwork"),
        (pod(), Settings(), "nobody says where"),
        (
            templated("CronJob", "batch/v1", "spec", "jobTemplate", "spec", "template"),
            CLASSIC,
            "CronJob/app: the pod gets no sidecar: a classic sidecar",
        ),
        (
            templated("Pod", "v1") | {"metadata": {"namespace": "kube-system"}},
            SETTINGS,
            "the namespace is kube-system",
        ),
        ({"apiVersion": "apps/v1", "kind": "Deployment"}, SETTINGS, "spec is no mapping"),
        ({"apiVersion": "apps/v1", "kind": "Deployment", "spec": 1}, SETTINGS, "is no mapping"),
    ],
)
def test_who_is_left_alone_is_told_and_stays(
    value: dict[str, Any], settings: Settings, told: str
) -> None:
    text = yaml.safe_dump(value)
    rendering = rendered(text, settings)
    assert rendering.text == text
    assert not rendering.is_complete
    assert told in rendering.warnings[0]


def test_json_may_have_half_a_character() -> None:
    text = json.dumps(pod({"name": "app", "image": "app:1", "command": ["\ud800"]}))
    assert json.loads(rendered(text, SETTINGS).text.encode()) == injected(json.loads(text))


def test_single_letters_are_quoted() -> None:
    value = pod({"name": "y", "image": "i"})
    assert 'kubectl.kubernetes.io/default-container: "y"' in (
        rendered(yaml.safe_dump(value), CLASSIC).text
    )


@pytest.mark.parametrize("spec", [{}, {"containers": None}])
def test_a_pod_without_a_list_of_containers_is_left_alone(spec: dict[str, Any]) -> None:
    text = json.dumps({"apiVersion": "v1", "kind": "Pod", "spec": spec})
    outcome = rendered(text, CLASSIC)
    assert (outcome.text, outcome.is_complete) == (text, False)


def test_json_that_is_nested_too_deeply_is_refused() -> None:
    with pytest.raises(BadManifest):
        rendered('{"a":' * 100_000, SETTINGS)
