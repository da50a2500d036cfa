"""What the gateway's part does with its values."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from proxy.config import load
from tests.helm.documents import CHART
from tests.outside.helm.conftest import Renderings
from tests.outside.helm.rendering import CASES, Case, HelmError, Rendered, helm, template

ENV = {"VLLM_KEY": "k", "REPRISE_REDIS_URL": "redis://redis:6379", "PATH": os.environ["PATH"]}
"""What the pod's environment has: extraEnv of a case, and a Redis."""
SECONDS = 30.0


def render(*values: str, program: str = "helm4", version: str = "1.33") -> Rendered:
    """The defaults with some values, each as `a.b=c`."""
    arguments = [part for value in values for part in ("--set", value)]
    return Rendered(CASES[0], version, template(program, version, *arguments))


def deployment(rendered: Rendered) -> dict[str, Any]:
    """The gateway's pod."""
    (found,) = (
        item
        for item in rendered.of("Deployment")
        if item["metadata"]["labels"]["app.kubernetes.io/component"] == "gateway"
    )
    pod: dict[str, Any] = found["spec"]["template"]["spec"]
    return pod


def file_of(rendered: Rendered) -> str:
    """The configuration file of the ConfigMap."""
    (found,) = (item for item in rendered.of("ConfigMap") if "reprise.yaml" in item.get("data", {}))
    text: str = found["data"]["reprise.yaml"]
    return text


WITH_FILE = [
    case
    for case in CASES
    if (values := yaml.safe_load(case.path.read_text("utf-8")) or {})
    .get("gateway", {})
    .get("enabled", True)
    and not values.get("gateway", {}).get("existingConfigMap")
]


@pytest.mark.parametrize("case", WITH_FILE, ids=lambda case: case.name)
def test_the_proxy_takes_the_configuration_file(
    case: Case, renderings: Renderings, tmp_path: Path
) -> None:
    path = tmp_path / "reprise.yaml"
    version = case.versions[-1]
    path.write_text(file_of(Rendered(case, version, renderings[case, version, "helm4", 0])))
    command = [sys.executable, "-m", "proxy", "check", str(path)]
    done = subprocess.run(  # noqa: S603 - the proxy itself
        command, env=ENV, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("case", WITH_FILE, ids=lambda case: case.name)
def test_a_pod_has_time_to_drain(case: Case, renderings: Renderings, tmp_path: Path) -> None:
    """The sleep before SIGTERM, the grace of requests, and ten seconds to put things away."""
    path = tmp_path / "reprise.yaml"
    version = case.versions[-1]
    rendered = Rendered(case, version, renderings[case, version, "helm4", 0])
    path.write_text(file_of(rendered))
    pod = deployment(rendered)
    (container,) = (item for item in pod["containers"] if item["name"] == "reprise")
    lifecycle = container.get("lifecycle", {"preStop": {"sleep": {"seconds": 0}}})
    slept = lifecycle["preStop"]["sleep"]["seconds"]
    grace = load(path, env=ENV).dynamic.shutdown_grace
    assert pod["terminationGracePeriodSeconds"] == slept + grace + 10


@pytest.mark.parametrize(
    ("grace", "seconds"),
    [
        ("0", 15),
        ("0s", 15),
        ("1500ms", 17),
        ("30s", 45),
        ("2m", 135),
        ("1h30m", 5415),
        ("0.5m", 45),
        ("1d", 86415),
        ("1m500ms", 76),
    ],
)
def test_the_grace_is_counted_in_whatever_units_it_is_written(grace: str, seconds: int) -> None:
    rendered = render(f"gateway.config.shutdown.grace={grace}")
    assert deployment(rendered)["terminationGracePeriodSeconds"] == seconds


def test_what_is_given_wins_over_the_sum() -> None:
    rendered = render(
        "gateway.terminationGracePeriodSeconds=99", "gateway.config.shutdown.grace=${GRACE}"
    )
    assert deployment(rendered)["terminationGracePeriodSeconds"] == 99


def test_a_configuration_is_taken_over_without_a_restart_unless_asked_for() -> None:
    one, other = (render(f"gateway.config.ttl.exact={ttl}") for ttl in ("1h", "2h"))
    assert one.of("Deployment") == other.of("Deployment")
    assert one.of("ConfigMap") != other.of("ConfigMap")
    asked = "gateway.rolloutOnConfigChange=true"
    one, other = (render(f"gateway.config.ttl.exact={ttl}", asked) for ttl in ("1h", "2h"))
    assert one.of("Deployment") != other.of("Deployment")


def test_another_version_of_the_chart_alone_restarts_no_pod() -> None:
    pod_labels = render().of("Deployment")[0]["spec"]["template"]["metadata"]["labels"]
    assert not {"helm.sh/chart", "app.kubernetes.io/version"} & pod_labels.keys()


def test_the_url_of_a_redis_is_kept_in_a_secret_and_a_new_one_restarts_pods() -> None:
    rendered = render("redis.url=redis://:s3cret@redis:6379")
    everything = [item for item in rendered.objects() if item["kind"] != "Secret"]
    assert "s3cret" not in str(everything)
    (secret,) = rendered.of("Secret")
    variables = {item["name"]: item for item in deployment(rendered)["containers"][0]["env"]}
    reference = variables["REPRISE_REDIS_URL"]["valueFrom"]["secretKeyRef"]
    assert reference == {"name": secret["metadata"]["name"], "key": "url"}
    other = render("redis.url=redis://:other@redis:6379")
    assert rendered.of("Deployment") != other.of("Deployment")


def test_numbers_stay_as_they_are(tmp_path: Path) -> None:
    values = tmp_path / "values.yaml"
    values.write_text("gateway: {config: {memory: {max_entries: 10000000}, ttl: {jitter: 0.05}}}")
    text = template("helm4", "1.33", "--values", str(values))
    assert "      max_entries: 10000000\n" in text
    assert "      jitter: 0.05\n" in text


def test_an_upstream_of_the_configuration_takes_the_place_of_the_charts() -> None:
    assert "upstream: http://a:1\n" in file_of(render("gateway.config.upstream=http://a:1"))
    text = file_of(render("gateway.config.upstreams[0].url=http://a:1"))
    assert "upstream:" not in text


def ports_to(rendered: Rendered) -> list[int]:
    """The ports that the network policy opens besides DNS."""
    (policy,) = rendered.of("NetworkPolicy")
    return [port["port"] for port in policy["spec"]["egress"][1]["ports"]]


@pytest.mark.parametrize(
    ("values", "ports"),
    [
        ([], [443]),
        (["gateway.upstream=http://vllm"], [443, 80]),
        (["gateway.upstream=http://vllm:8000/base"], [443, 8000]),
        (["gateway.upstream=http://[fd00::1]:8000"], [443, 8000]),
        (
            [
                "gateway.config.upstreams[0].url=http://a:1",
                "gateway.config.upstreams[1].url=https://b",
            ],
            [1, 443],
        ),
        (["gateway.config.tracing.endpoint=http://collector:4318"], [4318, 443]),
        (["redis.url=redis://redis"], [443, 6379]),
        (["redis.url=rediss://user:123@redis:6380/0"], [443, 6380]),
        (["redis.url=redis+sentinel://a:26379\\,b:26380/master"], [26379, 26380, 443, 6379]),
        (["redis.url=redis+sentinel://a\\,b/master"], [26379, 443, 6379]),
        (["redis.url=redis+cluster://a:7000\\,b:7001"], [443, 7000, 7001]),
        (["redis.existingSecret=ours"], [26379, 443, 6379]),
    ],
)
def test_the_network_policy_opens_the_ports_of_what_the_proxy_calls(
    values: list[str], ports: list[int]
) -> None:
    rendered = render("gateway.networkPolicy.enabled=true", *values)
    assert ports_to(rendered) == ports


@pytest.mark.parametrize("program", ["helm3", "helm4"])
@pytest.mark.parametrize(
    ("value", "place"),
    [
        ("gatewy.replicas=2", "gatewy"),
        ("gateway.replica=2", "gateway"),
        ("gateway.service.prot=80", "gateway.service"),
        ("gateway.ingress.hosts[0].hots=a", "gateway.ingress.hosts.0"),
        ("gateway.config.tll.exact=1h", "gateway.config"),
        ("gateway.config.semantic.bypass.keyword=x", "gateway.config.semantic.bypass"),
        ("gateway.config.routes[0].match.modl=x", "gateway.config.routes.0.match"),
        ("gateway.config.ttl.exact=5", "gateway.config.ttl.exact"),
        ("gateway.config.shutdown.grace=soon", "gateway.config.shutdown.grace"),
        ("gateway.config.listen=0.0.0.0:1", "listen"),
        ("gateway.config.admin.listen=0.0.0.0:1", "gateway.config.admin"),
        ("gateway.upstream=vllm:8000", "gateway.upstream"),
        ("gateway.ingress.enabled=true", "gateway.ingress.hosts"),
        ("gateway.httpRoute.enabled=true", "gateway.httpRoute.parentRefs"),
        ("gateway.readinessProbe.path=/", "gateway.readinessProbe"),
        ("image.digest=latest", "image.digest"),
        ("redis.url=redis:6379", "redis.url"),
        ("metrics.serviceMonitor.enable=true", "metrics.serviceMonitor"),
        ("gateway.config.admin.token=s3cret", "gateway.config.admin.token"),
        ("gateway.config.upstreams[0].api_key=sk-1", "gateway.config.upstreams.0.api_key"),
    ],
)
def test_a_mistake_in_the_values_is_told_with_its_place(
    program: str, value: str, place: str
) -> None:
    with pytest.raises(HelmError) as told:
        render(value, program=program)
    assert place in str(told.value).replace("/", ".")


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (["gateway.upstream="], "gateway.upstream is empty"),
        (
            ["gateway.config.upstream=http://a", "gateway.config.upstreams[0].url=http://b"],
            "upstream and upstreams",
        ),
        (["gateway.config.semantic.index=redis"], "there is no Redis"),
        (["redis.url=redis://a", "redis.existingSecret=b"], "are both set"),
        (["gateway.persistence.enabled=true", "gateway.replicas=2"], "for one replica"),
        (
            ["gateway.persistence.enabled=true", "gateway.autoscaling.enabled=true"],
            "for one replica",
        ),
        (
            ["gateway.autoscaling.enabled=true", "gateway.autoscaling.minReplicas=9"],
            "minReplicas is more",
        ),
        (
            ["gateway.autoscaling.enabled=true", "gateway.resources.requests=null"],
            "gateway.resources.requests.cpu",
        ),
        (["gateway.persistence.existingClaim=ours"], "persistence.enabled is false"),
        (["gateway.config.persist.disk.max_bytes=3GiB"], "emptyDirSizeLimit is 2Gi, less than"),
        (["gateway.config.persist.disk.max_bytes=3000000000"], "less than"),
        (
            ["gateway.persistence.enabled=true", "gateway.persistence.size=1G"],
            "persistence.size is 1G, less than",
        ),
        (["gateway.config.shutdown.grace=${GRACE}"], "gateway.terminationGracePeriodSeconds"),
        ([r"commonLabels.app\.kubernetes\.io/name=a"], "app.kubernetes.io/name is the chart's own"),
        ([r"gateway.podLabels.reprise\.dev/inject=on"], "reprise.dev/inject is the chart's own"),
    ],
)
def test_values_that_do_not_go_together_are_told_in_words(values: list[str], words: str) -> None:
    with pytest.raises(HelmError, match=words):
        render(*values)


@pytest.mark.parametrize(
    ("release", "values", "name"),
    [
        ("reprise", [], "reprise"),
        ("our-reprise", [], "our-reprise"),
        ("llm", [], "llm-reprise"),
        ("llm", ["nameOverride=cache"], "llm-cache"),
        ("llm", ["fullnameOverride=cache"], "cache"),
        ("a" * 53, [], "a" * 31 + "-1bba0c7b"),
    ],
)
def test_names_follow_the_release_and_leave_room(
    release: str, values: list[str], name: str
) -> None:
    arguments = [part for value in values for part in ("--set", value)]
    text = helm("helm4", "template", release, str(CHART), *arguments)
    (deployment,) = Rendered(CASES[0], "1.33", text).of("Deployment")
    assert deployment["metadata"]["name"] == name


def test_a_label_of_one_object_wins_over_that_of_all() -> None:
    rendered = render(
        "commonLabels.team=all",
        "gateway.podLabels.team=pods",
        "metrics.serviceMonitor.enabled=true",
        "metrics.serviceMonitor.labels.team=monitor",
    )
    (found,) = rendered.of("Deployment")
    assert found["metadata"]["labels"]["team"] == "all"
    assert found["spec"]["template"]["metadata"]["labels"]["team"] == "pods"
    (monitor,) = rendered.of("ServiceMonitor")
    assert monitor["metadata"]["labels"]["team"] == "monitor"
    assert "team: all" not in rendered.text.split("kind: ServiceMonitor")[1].split("---")[0]


def test_a_release_whose_name_is_a_number_has_labels_that_are_text() -> None:
    text = helm("helm4", "template", "2024", str(CHART), "--set", "nameOverride=on")
    (found,) = Rendered(CASES[0], "1.33", text).of("Deployment")
    selected = found["spec"]["selector"]["matchLabels"]
    assert selected["app.kubernetes.io/instance"] == "2024"
    assert selected["app.kubernetes.io/name"] == "on"


def test_a_cluster_that_is_too_old_is_told() -> None:
    with pytest.raises(HelmError, match=r"incompatible with Kubernetes v1\.30\.0"):
        render(version="1.30")


def notes(*values: str) -> str:
    """What `helm install` says in the end. Helm 3 asks a cluster even for a dry run."""
    arguments = [part for value in values for part in ("--set", value)]
    shown = helm(
        *("helm4", "install", "reprise", str(CHART), "--namespace", "apps"),
        *("--dry-run=client", *arguments),
    )
    return shown.partition("\nNOTES:\n")[2]


def test_the_notes_say_how_to_begin_and_what_is_off() -> None:
    said = notes("gateway.upstream=http://vllm.models:8000", "metrics.podMonitor.enabled=true")
    assert "OPENAI_BASE_URL=http://reprise.apps.svc:8080/v1" in said
    assert "http://vllm.models:8000" in said
    assert "Off: injector, metrics.serviceMonitor, metrics.prometheusRule" in said
    assert "no admin token" in said


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (["gateway.replicas=2"], "several replicas without Redis"),
        (["gateway.terminationGracePeriodSeconds=30"], "less than the 315 s"),
        (["gateway.config.memory.max_bytes=1GiB"], "less than the 1324 MiB"),
        (["gateway.config.workers=4"], "less than the 2224 MiB"),
        (
            [
                "gateway.networkPolicy.enabled=true",
                "gateway.config.upstreams[0].url=http://${HOST}:8000",
            ],
            "extraEgress",
        ),
    ],
)
def test_the_notes_warn_of_what_may_surprise(values: list[str], words: str) -> None:
    assert words in notes(*values)


def test_the_notes_say_how_pods_get_a_sidecar() -> None:
    said = notes("gateway.enabled=false", "injector.enabled=true", "injector.failurePolicy=Fail")
    assert "kubectl label namespace NAME reprise.dev/inject=true" in said
    assert "a webhook; its certificate: selfSigned" in said
    assert "Off: gateway, metrics.serviceMonitor" in said
    assert "injector.failurePolicy is Fail" in said
    assert "OPENAI_BASE_URL" not in said


def test_the_notes_warn_of_nothing_where_all_is_well() -> None:
    said = notes("gateway.existingSecret=ours", "gateway.replicas=2", "redis.url=redis://redis")
    assert "WARNING" not in said
