"""What the injector's part does with its values."""

import base64
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from proxy.cli.inject import inject
from proxy.config_injector import load
from tests.k8s.pods import pod
from tests.outside.helm.cel import ways
from tests.outside.helm.conftest import Renderings
from tests.outside.helm.rendering import CASES, HELMS, NAMESPACE, HelmError, Rendered, template

LABEL = "reprise.dev/inject"
NAME = "kubernetes.io/metadata.name"
PLAIN = {NAME: "team"}
LABELLED = PLAIN | {LABEL: "true"}
OFF = PLAIN | {LABEL: "false"}
CERTIFICATE = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"


def render(*values: str, program: str = "helm4", version: str = "1.33") -> Rendered:
    """The injector alone, with some values, each as `a.b=c`."""
    wanted = ("injector.enabled=true", "gateway.enabled=false", *values)
    arguments = [part for value in wanted for part in ("--set", value)]
    return Rendered(CASES[0], version, template(program, version, *arguments))


def webhooks(rendered: Rendered) -> list[dict[str, Any]]:
    """Those of the configuration."""
    (configuration,) = rendered.of("MutatingWebhookConfiguration")
    found: list[dict[str, Any]] = configuration["webhooks"]
    return found


def container(rendered: Rendered) -> dict[str, Any]:
    """The injector's container."""
    (deployment,) = rendered.of("Deployment", "reprise-injector")
    (found,) = deployment["spec"]["template"]["spec"]["containers"]
    return dict(found)


def settings_text(rendered: Rendered) -> str:
    """The file that says how sidecars look."""
    (found,) = rendered.of("ConfigMap", "reprise-injector")
    text: str = found["data"]["injector.yaml"]
    return text


@pytest.mark.parametrize(
    ("namespace", "label", "is_asked"),
    [
        (PLAIN, None, False),
        (PLAIN, "true", True),
        (PLAIN, "false", False),
        (LABELLED, None, True),
        (LABELLED, "true", True),
        (LABELLED, "false", False),
        (OFF, None, False),
        (OFF, "true", False),
        (OFF, "false", False),
        *(
            ({NAME: name, LABEL: "true"}, "true", False)
            for name in ("kube-system", "kube-public", "kube-node-lease", NAMESPACE, "monitoring")
        ),
    ],
)
def test_either_label_asks_for_a_sidecar_and_any_false_wins(
    namespace: dict[str, str], label: str | None, *, is_asked: bool
) -> None:
    rendered = render("injector.excludedNamespaces={monitoring}")
    value = pod(labels={} if label is None else {LABEL: label})
    assert len(ways(webhooks(rendered), value, namespace)) == int(is_asked)


def test_pods_of_the_chart_are_never_asked_about() -> None:
    rendered = render("gateway.enabled=true")
    for deployment in rendered.of("Deployment"):
        labels = deployment["spec"]["template"]["metadata"]["labels"]
        assert ways(webhooks(rendered), pod(labels=labels), LABELLED) == []


def test_the_webhooks_cannot_keep_the_cluster_from_working() -> None:
    for webhook in webhooks(render()):
        assert webhook["failurePolicy"] == "Ignore"
        assert webhook["reinvocationPolicy"] == "IfNeeded"
        assert webhook["matchPolicy"] == "Equivalent"
        assert webhook["sideEffects"] == "None"
        assert webhook["timeoutSeconds"] == 5
        assert webhook["admissionReviewVersions"] == ["v1"]
        (rule,) = webhook["rules"]
        assert rule["operations"] == ["CREATE"]
        assert rule["resources"] == ["pods"]
        assert rule["scope"] == "Namespaced"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_injector_takes_its_settings(case: Any, renderings: Renderings, tmp_path: Path) -> None:
    rendered = Rendered(case, "1.36", renderings[case, "1.36", "helm4", 0])
    for found in rendered.of("ConfigMap", "reprise-injector"):
        path = tmp_path / "injector.yaml"
        path.write_text(found["data"]["injector.yaml"], "utf-8")
        assert load(path).image


def test_the_settings_are_those_of_the_values() -> None:
    values = (
        "image.tag=v2",
        "injector.sidecar.upstream=http://vllm:8000",
        "injector.sidecar.logLevel=debug",
        "injector.sidecar.runAsUser=null",
        "injector.sidecar.resources.requests.cpu=1",
        "injector.nativeSidecar=false",
    )
    assert yaml.safe_load(settings_text(render(*values))) == {
        "image": "reprise:v2",
        "image_pull_policy": "IfNotPresent",
        "upstream": "http://vllm:8000",
        "log_level": "debug",
        "run_as_user": None,
        "native_sidecar": False,
        "env": ["OPENAI_BASE_URL"],
        "resources": {"requests": {"cpu": "1", "memory": "256Mi"}, "limits": {"memory": "1Gi"}},
    }


def test_other_settings_make_other_pods() -> None:
    def checksum(*values: str) -> str:
        (deployment,) = render(*values).of("Deployment")
        annotations = deployment["spec"]["template"]["metadata"]["annotations"]
        text: str = annotations["reprise.dev/checksum-settings"]
        return text

    assert checksum() == checksum("injector.replicas=3")
    assert checksum() != checksum("injector.sidecar.upstream=http://vllm:8000")


@pytest.mark.parametrize("mode", ["selfSigned", "certManager", "existingSecret"])
def test_the_command_knows_its_options(mode: str) -> None:
    help_text = CliRunner().invoke(inject, ["serve", "--help"]).output
    values = [f"injector.tls.mode={mode}"]
    if mode == "existingSecret":
        values.append("injector.tls.existingSecret=ours")
    first, second, *options = container(render(*values))["args"]
    assert (first, second) == ("inject", "serve")
    for option in options:
        assert option.partition("=")[0] in help_text, option


def test_with_its_own_certificate_it_may_touch_one_secret_and_one_configuration() -> None:
    rendered = render()
    (role,) = rendered.of("Role")
    (cluster_role,) = rendered.of("ClusterRole")
    one = {"resourceNames": ["reprise-injector-tls"], "verbs": ["get", "update"]}
    assert role["rules"] == [
        {"apiGroups": [""], "resources": ["secrets"], **one},
        {"apiGroups": [""], "resources": ["secrets"], "verbs": ["create"]},
    ]
    (configuration,) = rendered.of("MutatingWebhookConfiguration")
    assert cluster_role["rules"] == [
        {
            "apiGroups": ["admissionregistration.k8s.io"],
            "resources": ["mutatingwebhookconfigurations"],
            "resourceNames": [configuration["metadata"]["name"]],
            "verbs": ["get", "patch"],
        }
    ]
    options = set(container(rendered)["args"])
    assert {
        "--tls-secret=reprise-injector-tls",
        "--tls-service=reprise-injector",
        "--tls-webhook=reprise-injector",
    } <= options


@pytest.mark.parametrize(
    "values", [["tls.mode=certManager"], ["tls.mode=existingSecret", "tls.existingSecret=ours"]]
)
def test_with_another_certificate_it_may_do_nothing(values: list[str]) -> None:
    rendered = render(*(f"injector.{value}" for value in values))
    kinds = {item["kind"] for item in rendered.objects()}
    assert not kinds & {"Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"}
    (deployment,) = rendered.of("Deployment")
    assert deployment["spec"]["template"]["spec"]["automountServiceAccountToken"] is False


def test_cert_manager_is_told_where_its_certificate_belongs() -> None:
    rendered = render("injector.tls.mode=certManager")
    (certificate,) = rendered.of("Certificate")
    (configuration,) = rendered.of("MutatingWebhookConfiguration")
    place = f"{NAMESPACE}/{certificate['metadata']['name']}"
    assert configuration["metadata"]["annotations"]["cert-manager.io/inject-ca-from"] == place
    (deployment,) = rendered.of("Deployment")
    volumes = deployment["spec"]["template"]["spec"]["volumes"]
    secret = certificate["spec"]["secretName"]
    assert {"name": "tls", "secret": {"secretName": secret}} in volumes
    service = webhooks(rendered)[0]["clientConfig"]["service"]
    assert f"{service['name']}.{service['namespace']}.svc" in certificate["spec"]["dnsNames"]


def test_a_bundle_of_the_users_own_is_rendered(tmp_path: Path) -> None:
    path = tmp_path / "values.yaml"
    tls = {"mode": "existingSecret", "existingSecret": "ours", "caBundle": CERTIFICATE}
    values = {"gateway": {"enabled": False}, "injector": {"enabled": True, "tls": tls}}
    path.write_text(yaml.safe_dump(values), "utf-8")
    rendered = Rendered(CASES[0], "1.33", template("helm4", "1.33", "--values", str(path)))
    for webhook in webhooks(rendered):
        assert base64.b64decode(webhook["clientConfig"]["caBundle"]).decode() == CERTIFICATE


def test_the_webhooks_service_leads_to_the_injector() -> None:
    rendered = render()
    (service,) = rendered.of("Service")
    for webhook in webhooks(rendered):
        target = webhook["clientConfig"]["service"]
        assert target == {
            "name": service["metadata"]["name"],
            "namespace": service["metadata"]["namespace"],
            "path": "/mutate",
            "port": 443,
        }
    assert {"name": "webhook", "containerPort": 8443, "protocol": "TCP"} in container(rendered)[
        "ports"
    ]


def test_the_network_policy_lets_the_api_server_in_from_anywhere() -> None:
    rendered = render("injector.networkPolicy.enabled=true")
    (policy,) = rendered.of("NetworkPolicy")
    assert policy["spec"]["policyTypes"] == ["Ingress"]
    assert {"ports": [{"port": "webhook", "protocol": "TCP"}]} in policy["spec"]["ingress"]


@pytest.mark.parametrize("program", HELMS)
@pytest.mark.parametrize(
    ("values", "place"),
    [
        (["injector.mode=magic"], "injector.mode"),
        (["injector.tls.mode=existingSecret"], "injector.tls.existingSecret"),
        (["injector.tls.existingSecret=ours"], "injector.tls.existingSecret"),
        (["injector.failurePolicy=ignore"], "injector.failurePolicy"),
        (["injector.sidecar.upstream=vllm:8000"], "injector.sidecar.upstream"),
        (["injector.sidecar.env={1X}"], "injector.sidecar.env"),
        (["injector.validation.action=Audit"], "injector.validation.action"),
        (["injector.sidecars.image=x"], "injector"),
        (["injector.sidecar.resources.requests.memory=2Gi"], "injector.sidecar.resources"),
    ],
)
def test_a_mistake_is_told_with_its_place(program: str, values: list[str], place: str) -> None:
    with pytest.raises(HelmError) as caught:
        render(*values, program=program)
    told = str(caught.value).replace("/", ".")
    assert place in told
