"""The container that is put into pods, and the volumes that it needs."""

from collections.abc import Callable
from decimal import Decimal

from proxy.core import quantity
from proxy.k8s.json_patch import Json
from proxy.k8s.names import (
    ADMIN_PORT,
    ADMIN_PORT_NAME,
    CONFIG_DIRECTORY,
    CONFIG_FILE,
    CONFIG_VOLUME,
    DATA_VOLUME,
    PORT,
    SIDECAR,
    TMP_VOLUME,
)
from proxy.k8s.settings import Settings
from proxy.k8s.wishes import Wishes

STARTS_WITHIN = 300
"""Seconds; a node that is busy, or a processor that is rationed, loads encoders slowly."""
LINGERS = 5
"""Seconds that a classic sidecar takes requests after the pod was told to end."""


def container(
    settings: Settings, wishes: Wishes, *, upstream: str | None, is_native: bool
) -> tuple[Json, list[str]]:
    """The sidecar, with a warning for each wish that cannot be had.

    `upstream` is None where the ConfigMap names it.
    """
    resources, warnings = _resources(settings, wishes)
    sidecar: Json = {
        "name": SIDECAR,
        "image": wishes.image or settings.image,
        "imagePullPolicy": settings.pull_policy,
        "args": _arguments(settings, wishes, upstream),
        "ports": [{"name": ADMIN_PORT_NAME, "containerPort": ADMIN_PORT, "protocol": "TCP"}],
        "resources": resources,
        "startupProbe": _probe("/readyz", every=1, failures=STARTS_WITHIN),
        # No readiness: the pod's would depend on it, and the app can do without a cache.
        "livenessProbe": _probe("/livez", every=10, failures=3),
        "securityContext": _security(settings.user),
        "volumeMounts": _mounts(wishes),
    }
    if is_native:
        sidecar["restartPolicy"] = "Always"
    else:
        # All containers are told to end at once, and the app may still have questions. The image
        # has no `sleep`, and old clusters no such action.
        wait = f"import time; time.sleep({LINGERS})"
        sidecar["lifecycle"] = {"preStop": {"exec": {"command": ["python", "-c", wait]}}}
    return sidecar, warnings


def volumes(names: tuple[str, ...], config_map: str | None) -> list[Json]:
    """The volumes of our names that a sidecar mounts.

    Without a limit of their size: the kubelet evicts the whole pod for that, and what is kept is
    bounded by the proxy itself.
    """
    found: list[Json] = [
        {"name": name, "emptyDir": {}} for name in (TMP_VOLUME, DATA_VOLUME) if name in names
    ]
    if CONFIG_VOLUME in names and config_map is not None:
        found.append({"name": CONFIG_VOLUME, "configMap": {"name": config_map}})
    return found


def _arguments(settings: Settings, wishes: Wishes, upstream: str | None) -> list[str]:
    arguments = ["serve"]
    level = wishes.log_level
    if wishes.config_map is not None:
        arguments += ["--config", CONFIG_FILE]
    else:
        level = level or settings.log_level
    if upstream is not None:
        arguments += ["--upstream", upstream]
    arguments += ["--listen", f"127.0.0.1:{PORT}", "--admin-listen", f"*:{ADMIN_PORT}"]
    if level is not None:
        arguments += ["--log-level", level]
    return arguments


def _mounts(wishes: Wishes) -> list[Json]:
    mounts: list[Json] = [
        {"name": TMP_VOLUME, "mountPath": "/tmp"},  # noqa: S108 - of the container
        {"name": DATA_VOLUME, "mountPath": "/var/lib/reprise"},
    ]
    if wishes.config_map is not None:
        # The directory: what is mounted by subPath never changes.
        mounts.append({"name": CONFIG_VOLUME, "mountPath": CONFIG_DIRECTORY, "readOnly": True})
    return mounts


def _probe(path: str, *, every: int, failures: int) -> Json:
    return {
        "httpGet": {"path": path, "port": ADMIN_PORT_NAME},
        "periodSeconds": every,
        "timeoutSeconds": 3,
        "failureThreshold": failures,
    }


def _security(user: int | None) -> Json:
    """All that the restricted Pod Security Standard asks of a container, whatever the pod says."""
    identity = {} if user is None else {"runAsUser": user, "runAsGroup": user}
    return {
        "runAsNonRoot": True,
        **identity,
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
        "seccompProfile": {"type": "RuntimeDefault"},
    }


def _resources(settings: Settings, wishes: Wishes) -> tuple[Json, list[str]]:
    requests, limits = dict(settings.requests), dict(settings.limits)
    warnings: list[str] = []
    for name, amount, request, limit in (
        ("cpu", quantity.cpu, wishes.cpu_request, wishes.cpu_limit),
        ("memory", quantity.memory, wishes.memory_request, wishes.memory_limit),
    ):
        _take(requests, name, request)
        _take(limits, name, limit)
        if name not in limits or not _exceeds(requests[name], limits[name], amount):
            continue
        # The API server would refuse the pod. What was asked for counts more than what was set.
        if limit is None:
            limits[name] = requests[name]
        elif request is None:
            requests[name] = limits[name]
        else:
            limits[name] = requests[name]
            told = f"reprise.dev/{name}-limit is below reprise.dev/{name}-request and is ignored"
            warnings.append(told)
    return {"requests": requests, **({"limits": limits} if limits else {})}, warnings


def _take(amounts: dict[str, str], name: str, wanted: str | None) -> None:
    if wanted is not None:
        amounts[name] = wanted


def _exceeds(request: str, limit: str, amount: Callable[[str], Decimal]) -> bool:
    return amount(request) > amount(limit)
