"""What comes out is valid, stays within the restricted standard, and fits together."""

import re
from typing import Any

import jsonschema
import kubernetes_validate
import pytest

from tests.outside.helm.own_schemas import SCHEMAS
from tests.outside.helm.rendering import NAMESPACE, Rendered

LABELS = {
    "app.kubernetes.io/name",
    "app.kubernetes.io/instance",
    "app.kubernetes.io/component",
    "app.kubernetes.io/part-of",
    "app.kubernetes.io/managed-by",
    "app.kubernetes.io/version",
    "helm.sh/chart",
}
CLUSTER_WIDE = {
    "ClusterRole",
    "ClusterRoleBinding",
    "MutatingWebhookConfiguration",
    "MutatingAdmissionPolicy",
    "MutatingAdmissionPolicyBinding",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
}
VOLUMES = {"configMap", "downwardAPI", "emptyDir", "persistentVolumeClaim", "projected", "secret"}
"""Those of the restricted standard that the chart may use."""


def of_users(item: dict[str, Any]) -> bool:
    """Whether it came from extraObjects; nothing is asked of those."""
    return "labels" not in item["metadata"]


def test_it_is_valid_to_the_letter(rendered: Rendered) -> None:
    for item in rendered.objects():
        if item["kind"] in SCHEMAS:
            jsonschema.validate(item, SCHEMAS[item["kind"]])
        else:
            kubernetes_validate.validate(item, rendered.version, strict=True)


def test_every_object_has_its_labels_and_namespace(rendered: Rendered) -> None:
    for item in rendered.objects():
        if of_users(item):
            continue
        metadata = item["metadata"]
        assert metadata["labels"].keys() >= LABELS, metadata["name"]
        assert all(len(value) <= 63 for value in metadata["labels"].values())
        if item["kind"] in CLUSTER_WIDE:
            assert "namespace" not in metadata
        elif item["kind"] not in ("Role", "RoleBinding"):  # one may be in another's namespace
            wanted = "llm" if rendered.case.name == "gateway-redis-secret" else NAMESPACE
            assert metadata["namespace"] == wanted, metadata["name"]


def test_no_object_is_there_twice(rendered: Rendered) -> None:
    names = [
        (
            item["apiVersion"],
            item["kind"],
            item["metadata"].get("namespace"),
            item["metadata"]["name"],
        )
        for item in rendered.objects()
    ]
    assert len(names) == len(set(names))


def test_every_pod_keeps_to_the_restricted_standard(rendered: Rendered) -> None:
    for name, pod in rendered.pods():
        assert not {"hostNetwork", "hostPID", "hostIPC"} & pod.keys(), name
        for volume in pod.get("volumes", []):
            assert (volume.keys() - {"name"}) <= VOLUMES, name
        of_pod = pod.get("securityContext", {})
        for container in [*pod["containers"], *pod.get("initContainers", [])]:
            of_container = container.get("securityContext", {})
            both = {**of_pod, **of_container}
            assert both["runAsNonRoot"] is True, name
            assert both["seccompProfile"]["type"] == "RuntimeDefault", name
            assert both.get("runAsUser") != 0, name
            assert of_container["allowPrivilegeEscalation"] is False, name
            assert of_container["capabilities"] == {"drop": ["ALL"]}, name
            assert "privileged" not in of_container, name
            assert not [port for port in container.get("ports", []) if "hostPort" in port], name


def test_our_containers_cannot_write_but_where_they_have_a_volume(rendered: Rendered) -> None:
    for name, pod in rendered.pods():
        for container in pod["containers"]:
            if container["name"] != "beside":
                assert container["securityContext"]["readOnlyRootFilesystem"] is True, name
                assert {"cpu", "memory"} <= container["resources"]["requests"].keys(), name


def test_no_pod_of_ours_is_given_a_sidecar(rendered: Rendered) -> None:
    for item in rendered.objects():
        if item["kind"] == "Deployment":
            labels = item["spec"]["template"]["metadata"]["labels"]
            assert labels["reprise.dev/inject"] == "false", item["metadata"]["name"]


def test_the_configuration_is_mounted_as_a_directory(rendered: Rendered) -> None:
    assert "subPath:" not in rendered.text
    for deployment in rendered.of("Deployment"):
        pod = deployment["spec"]["template"]["spec"]
        for container in pod["containers"]:
            mounts = {mount["name"]: mount for mount in container.get("volumeMounts", [])}
            if "config" in mounts:
                assert mounts["config"]["mountPath"] == "/etc/reprise"


def test_no_bundle_of_authorities_is_rendered(rendered: Rendered) -> None:
    """The injector or cert-manager writes it; a rendered one would be fought over."""
    assert "caBundle" not in rendered.text or "existing" in rendered.case.name


def matches(selector: dict[str, str], labels: dict[str, str]) -> bool:
    """Whether a selector finds labels."""
    return selector.items() <= labels.items()


def test_selectors_find_the_pods_they_are_for_and_no_others(rendered: Rendered) -> None:
    pods = {
        item["metadata"]["name"]: item["spec"]["template"]["metadata"]["labels"]
        for item in rendered.of("Deployment")
    }
    pods |= {item["metadata"]["name"]: item["metadata"]["labels"] for item in rendered.of("Pod")}
    wanted = [
        *(item["spec"]["selector"] for item in rendered.of("Service")),
        *(item["spec"]["selector"]["matchLabels"] for item in rendered.of("Deployment")),
        *(item["spec"]["selector"]["matchLabels"] for item in rendered.of("PodDisruptionBudget")),
        *(item["spec"]["podSelector"]["matchLabels"] for item in rendered.of("NetworkPolicy")),
    ]
    for selector in wanted:
        found = [name for name, labels in pods.items() if matches(selector, labels)]
        assert len(found) == 1, selector


def test_names_of_ports_lead_somewhere(rendered: Rendered) -> None:
    for service in rendered.of("Service"):
        (deployment,) = (
            item
            for item in rendered.of("Deployment")
            if matches(service["spec"]["selector"], item["spec"]["template"]["metadata"]["labels"])
        )
        ports = {
            port["name"]
            for container in deployment["spec"]["template"]["spec"]["containers"]
            for port in container.get("ports", [])
        }
        assert {port["targetPort"] for port in service["spec"]["ports"]} <= ports


def test_the_service_monitor_finds_the_admin_service_alone(rendered: Rendered) -> None:
    for monitor in rendered.of("ServiceMonitor"):
        selector = monitor["spec"]["selector"]["matchLabels"]
        ports = {endpoint["port"] for endpoint in monitor["spec"]["endpoints"]}
        (service,) = (
            item for item in rendered.of("Service") if matches(selector, item["metadata"]["labels"])
        )
        assert ports <= {port["name"] for port in service["spec"]["ports"]}


def test_volumes_and_what_is_mounted_are_the_same(rendered: Rendered) -> None:
    for name, pod in rendered.pods():
        volumes = {volume["name"] for volume in pod.get("volumes", [])}
        mounted = {
            mount["name"]
            for container in [*pod["containers"], *pod.get("initContainers", [])]
            for mount in container.get("volumeMounts", [])
        }
        assert volumes == mounted, name


def test_accounts_of_pods_are_there(rendered: Rendered) -> None:
    there = {item["metadata"]["name"] for item in rendered.of("ServiceAccount")}
    for name, pod in rendered.pods():
        account = pod.get("serviceAccountName", "default")
        assert account in there | {"default", "ours"}, name


@pytest.mark.parametrize("word", ["<no value>", "%!", "map["])
def test_no_template_went_wrong_silently(rendered: Rendered, word: str) -> None:
    assert word not in re.sub(r"(?s)\n  reprise.json: \|.*?\n---", "", rendered.text)
