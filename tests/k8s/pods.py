"""Pods for tests of the injector: written by hand, and made by hypothesis."""

import copy
from typing import Any

import jsonpatch
from hypothesis import strategies as st

from proxy.k8s.injection import Injection, inject
from proxy.k8s.refusal import Surroundings
from proxy.k8s.settings import Settings
from proxy.k8s.wishes import EnvPolicy

UPSTREAM = "http://llm.models.svc:8000"
SETTINGS = Settings(upstream=UPSTREAM)
CLASSIC = Settings(upstream=UPSTREAM, is_native=False)
NAMED = "OPENAI_BASE_URL"
OURS = {"name": NAMED, "value": "http://127.0.0.1:11480/v1"}

Pod = dict[str, Any]


def pod(*containers: dict[str, Any], **more: Any) -> Pod:
    """A pod of such containers, or of one named `app`; `annotations` and `labels` go to metadata.

    Further arguments are members of `spec`.
    """
    metadata: dict[str, Any] = {"generateName": "app-"}
    for key in ("annotations", "labels", "ownerReferences"):
        if key in more:
            metadata[key] = more.pop(key)
    spec = {"containers": list(containers) or [{"name": "app", "image": "app:1"}], **more}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def holding(value: str, name: str = "app") -> dict[str, Any]:
    """A container that has the variable already."""
    return {"name": name, "env": [{"name": NAMED, "value": value}]}


def wishing(*containers: dict[str, Any], **wishes: str) -> Pod:
    """A pod with annotations of ours; `_` stands for `-`."""
    asked = {f"reprise.dev/{name.replace('_', '-')}": value for name, value in wishes.items()}
    return pod(*containers, annotations=asked)


def patched(value: Pod, injection: Injection) -> Pod:
    """The pod as the API server would have it then."""
    operations = copy.deepcopy(list(injection.patch))
    result: Pod = jsonpatch.JsonPatch(operations).apply(value)
    return result


def injected(
    value: Pod, settings: Settings = SETTINGS, surroundings: Surroundings | None = None
) -> Pod:
    """The pod with its sidecar."""
    return patched(value, inject(value, surroundings or Surroundings("apps"), settings))


def sidecar(value: Pod) -> dict[str, Any]:
    """The sidecar of a pod."""
    everyone = (value["spec"].get("initContainers") or []) + value["spec"]["containers"]
    (found,) = (each for each in everyone if each["name"] == "reprise")
    return dict(found)


def base_urls(value: Pod) -> dict[str, str | None]:
    """What each container is told, by its name."""
    everyone = [*(value["spec"].get("initContainers") or []), *value["spec"]["containers"]]
    return {
        each["name"]: next(
            (one.get("value") for one in reversed(each.get("env") or []) if one["name"] == NAMED),
            None,
        )
        for each in everyone
        if each["name"] != "reprise"
    }


def stays(before: object, after: object) -> bool:
    """Whether all of `before` is in `after`, in its order; a null may have become something."""
    if before is None:
        return True
    if isinstance(before, dict) and isinstance(after, dict):
        return all(key in after and stays(value, after[key]) for key, value in before.items())
    if isinstance(before, list) and isinstance(after, list):
        rest = iter(after)
        return all(any(stays(item, other) for other in rest) for item in before)
    return before == after


def _maybe(**members: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=members)


_URLS = st.sampled_from(
    [
        UPSTREAM,
        f"{UPSTREAM}/v1",
        "https://api.example.org/openai/v1/",
        "https://api.example.org/v3",
        "http://127.0.0.1:11480/v1",
        "http://127.0.0.1:11480",
        "http://$(HOST)/v1",
        "not a url",
        "",
    ]
)
_VARIABLES = st.one_of(
    st.builds(lambda url: {"name": NAMED, "value": url}, _URLS),
    st.just({"name": NAMED}),
    st.just({"name": NAMED, "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}),
    st.just({"name": "OTHER", "value": f"$({NAMED})"}),
)
_CONTAINERS = st.builds(
    lambda name, more: {"name": name, "image": "app:1", **more},
    st.sampled_from(["app", "worker", "istio-proxy", "reprise"]),
    _maybe(
        env=st.none() | st.lists(_VARIABLES, max_size=3),
        envFrom=st.just([{"configMapRef": {"name": "c"}}]),
        ports=st.lists(
            st.sampled_from([{"containerPort": 80}, {"containerPort": 11481}]), max_size=2
        ),
        volumeMounts=st.just([{"name": "reprise-tmp", "mountPath": "/x"}]),
        args=st.lists(st.sampled_from(["serve", "--upstream", "x"]), max_size=3),
    ),
)
_WISHES = _maybe(
    **{
        "reprise.dev/upstream": _URLS,
        "reprise.dev/config-map": st.sampled_from(["settings", "Not A Name"]),
        "reprise.dev/containers": st.sampled_from(["app", "app, worker", ",", "other"]),
        "reprise.dev/env-policy": st.sampled_from([*(one.value for one in EnvPolicy), "maybe"]),
        "reprise.dev/native-sidecar": st.sampled_from(["true", "false", "perhaps"]),
        "reprise.dev/memory-limit": st.sampled_from(["64Mi", "2Gi", "100m"]),
        "reprise.dev/memory-request": st.sampled_from(["512Mi", "much"]),
        "reprise.dev/cpu-limit": st.sampled_from(["50m", "2", "x"]),
        "reprise.dev/typo": st.text(max_size=5),
        "kubectl.kubernetes.io/default-container": st.just("app"),
    }
)
_LABELS = _maybe(
    **{
        "app": st.just("app"),
        "reprise.dev/inject": st.sampled_from(["true", "true", "false", "yes"]),
        "reprise.dev/injected": st.sampled_from(["true", "false"]),
    }
)
PODS: st.SearchStrategy[Pod] = st.builds(
    lambda whole, spec, containers: {**whole, "spec": {**spec, "containers": containers}},
    _maybe(
        metadata=_maybe(
            labels=st.none() | _LABELS,
            annotations=st.none() | _WISHES,
            ownerReferences=st.just([{"kind": "Job", "name": "j"}]),
        )
    ),
    _maybe(
        initContainers=st.none() | st.lists(_CONTAINERS, max_size=2),
        volumes=st.none() | st.lists(st.sampled_from([{"name": "v"}, {"name": "reprise-data"}])),
        hostNetwork=st.sampled_from([False, False, False, True]),
        restartPolicy=st.sampled_from(["Always", "Always", "Never"]),
    ),
    st.lists(_CONTAINERS, min_size=1, max_size=3),
)
"""Pods of every kind that the injector tells apart, and combinations that nobody would write."""
