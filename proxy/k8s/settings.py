"""What the injector's operator decides; a pod's annotations may say otherwise."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Settings:
    """How sidecars look."""

    image: str = "reprise"
    pull_policy: str = "IfNotPresent"
    upstream: str | None = None
    """Of pods that name none."""
    log_level: str | None = None
    user: int | None = 65532
    """User and group id; None leaves them to the cluster, as OpenShift wants it."""
    requests: Mapping[str, str] = field(default_factory=lambda: {"cpu": "100m", "memory": "256Mi"})
    """`cpu` and `memory` are always there, or what scales by them stops (HPA)."""
    limits: Mapping[str, str] = field(default_factory=lambda: {"memory": "1Gi"})
    variables: tuple[str, ...] = ("OPENAI_BASE_URL",)
    """What containers are told the proxy's base URL by."""
    is_native: bool = True
    """Whether sidecars are init containers that go on running: Kubernetes from 1.29 on."""
    namespace: str = ""
    """The injector's own, in which it leaves pods alone; empty where it has none."""
