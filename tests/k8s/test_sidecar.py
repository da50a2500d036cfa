"""The container that is put into pods, held to Kubernetes' own schemas."""

from typing import Any

import kubernetes_validate
import pytest

from proxy.k8s.settings import Settings
from tests.k8s.pods import CLASSIC, SETTINGS, UPSTREAM, holding, injected, pod, sidecar, wishing
from tests.k8s.reviews import of_1_20, of_1_31, of_1_36

FULL = wishing(
    {"name": "app", "image": "app:1"},
    config_map="c",
    upstream="http://u",
    memory_limit="2Gi",
    cpu_limit="1",
    log_level="debug",
)


@pytest.mark.parametrize("version", ["1.33", "1.37"])
@pytest.mark.parametrize("settings", [SETTINGS, CLASSIC])
def test_what_comes_out_is_valid_to_the_letter(version: str, settings: Settings) -> None:
    for value in (pod(), FULL, of_1_31()["request"]["object"]):
        after = injected(value, settings)
        assert sidecar(after)
        kubernetes_validate.validate(after, version, strict=True)


@pytest.mark.parametrize("settings", [SETTINGS, CLASSIC])
def test_the_restricted_pod_security_standard_has_what_it_asks_for(settings: Settings) -> None:
    assert sidecar(injected(pod(), settings))["securityContext"] == {
        "runAsNonRoot": True,
        "runAsUser": 65532,
        "runAsGroup": 65532,
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
        "seccompProfile": {"type": "RuntimeDefault"},
    }


def test_the_user_can_be_left_to_the_cluster() -> None:
    security = sidecar(injected(pod(), Settings(upstream=UPSTREAM, user=None)))["securityContext"]
    assert security["runAsNonRoot"] is True
    assert not {"runAsUser", "runAsGroup"} & set(security)


def test_it_listens_on_the_loopback_and_is_probed_from_outside() -> None:
    ours = sidecar(injected(pod()))
    assert ours["args"] == [
        *("serve", "--upstream", UPSTREAM),
        *("--listen", "127.0.0.1:11480", "--admin-listen", "*:11481"),
    ]
    assert ours["ports"] == [{"name": "reprise-admin", "containerPort": 11481, "protocol": "TCP"}]
    startup, liveness = ours["startupProbe"], ours["livenessProbe"]
    assert startup["httpGet"] == {"path": "/readyz", "port": "reprise-admin"}
    assert (startup["periodSeconds"], startup["failureThreshold"]) == (1, 300)
    assert liveness["httpGet"]["path"] == "/livez"
    assert "readinessProbe" not in ours


def test_a_config_map_is_mounted_as_a_directory() -> None:
    mounts = {mount["name"]: mount for mount in sidecar(injected(FULL))["volumeMounts"]}
    assert mounts["reprise-config"] == {
        "name": "reprise-config",
        "mountPath": "/etc/reprise",
        "readOnly": True,
    }
    assert not any("subPath" in mount for mount in mounts.values())
    assert [mount["mountPath"] for mount in mounts.values()] == [
        "/tmp",  # noqa: S108
        "/var/lib/reprise",
        "/etc/reprise",
    ]


def test_the_log_level_of_the_settings_is_not_for_pods_with_a_file() -> None:
    loud = Settings(upstream=UPSTREAM, log_level="debug")
    assert sidecar(injected(pod(), loud))["args"][-2:] == ["--log-level", "debug"]
    assert "--log-level" not in sidecar(injected(wishing(config_map="c"), loud))["args"]


def test_a_classic_sidecar_lingers() -> None:
    command = sidecar(injected(pod(), CLASSIC))["lifecycle"]["preStop"]["exec"]["command"]
    assert command == ["python", "-c", "import time; time.sleep(5)"]
    assert "lifecycle" not in sidecar(injected(pod()))


@pytest.mark.parametrize(
    ("wishes", "requests", "limits"),
    [
        ({}, {"cpu": "100m", "memory": "256Mi"}, {"memory": "1Gi"}),
        (
            {"cpu_request": "1", "memory_request": "512Mi", "cpu_limit": "2"},
            {"cpu": "1", "memory": "512Mi"},
            {"cpu": "2", "memory": "1Gi"},
        ),
        ({"memory_limit": "128Mi"}, {"cpu": "100m", "memory": "128Mi"}, {"memory": "128Mi"}),
        ({"memory_request": "2Gi"}, {"cpu": "100m", "memory": "2Gi"}, {"memory": "2Gi"}),
        ({"cpu_limit": "50m"}, {"cpu": "50m", "memory": "256Mi"}, {"cpu": "50m", "memory": "1Gi"}),
    ],
)
def test_a_limit_is_never_below_its_request(
    wishes: dict[str, str], requests: dict[str, str], limits: dict[str, str]
) -> None:
    resources = sidecar(injected(wishing(**wishes)))["resources"]
    assert resources == {"requests": requests, "limits": limits}


def test_of_two_wishes_that_exclude_each_other_one_is_told() -> None:
    resources: dict[str, Any] = sidecar(injected(wishing(cpu_request="2", cpu_limit="1")))[
        "resources"
    ]
    assert resources["requests"]["cpu"] == resources["limits"]["cpu"] == "2"


def test_there_may_be_no_limits() -> None:
    bare = Settings(upstream=UPSTREAM, limits={})
    assert "limits" not in sidecar(injected(pod(), bare))["resources"]


def test_nothing_of_an_app_gets_into_it() -> None:
    for review in (of_1_20(), of_1_36()):
        assert "env" not in sidecar(injected(review["request"]["object"]))
    assert "env" not in sidecar(injected(pod(holding("http://x"))))
