"""What the injector, its users and the chart call things."""

PREFIX = "reprise.dev/"
INJECT = f"{PREFIX}inject"
"""Label of a pod or namespace: `true` asks for a sidecar, `false` forbids it."""
INJECTED = f"{PREFIX}injected"
"""Label of a pod that has its sidecar: `true`."""

SIDECAR = "reprise"
PORT = 11480
"""Of the proxy, on the pod's loopback."""
ADMIN_PORT = 11481
"""Of probes and metrics, on all of the pod's addresses."""
ADMIN_PORT_NAME = "reprise-admin"
PROXY_URL = f"http://127.0.0.1:{PORT}"
"""The loopback has this address in pods that have IPv6 only, too."""
BASE_PATH = "/v1"
"""Ends the base URL that OpenAI's SDKs want."""

TMP_VOLUME = "reprise-tmp"
DATA_VOLUME = "reprise-data"
CONFIG_VOLUME = "reprise-config"
CONFIG_DIRECTORY = "/etc/reprise"
CONFIG_FILE = f"{CONFIG_DIRECTORY}/reprise.yaml"

DEFAULT_CONTAINER = "kubectl.kubernetes.io/default-container"
"""Annotation: whose log and shell kubectl shows where none is named."""
MIRROR = "kubernetes.io/config.mirror"
"""Annotation of what the kubelet tells of a static pod: it runs already."""

SYSTEM_NAMESPACES = frozenset({"kube-system", "kube-public", "kube-node-lease"})
