"""How containers are told of the proxy: by the base URL in their environment.

What stands in a container's list of variables stays as it is, but for a value that is to make way
(`env-policy: force`). Such a URL is taken apart so that what is asked goes where it went before:
the proxy appends a request's path to its upstream, and SDKs append theirs to the base URL.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from proxy.core.upstream_url import BadUpstreamUrl, normalized
from proxy.k8s.json_patch import Operation, add, replace
from proxy.k8s.names import BASE_PATH, PROXY_URL
from proxy.k8s.pod import Container, Variable
from proxy.k8s.wishes import EnvPolicy, shown


@dataclass(slots=True)
class Environment:
    """What is to be done to the containers."""

    operations: list[Operation] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    upstream: str | None = None
    """Where the values that made way had pointed; None where none was taken over."""


@dataclass(frozen=True, slots=True)
class Base:
    """A base URL in two parts, which together are what it was."""

    upstream: str
    path: str
    """`/v1`, or empty."""


@dataclass(frozen=True, slots=True)
class _Held:
    """A value that is to make way."""

    container: Container
    position: int
    name: str
    base: Base | None
    """None for an empty value: it pointed nowhere."""


def rewrite(
    containers: Sequence[Container],
    names: Sequence[str],
    policy: EnvPolicy,
    *,
    upstream: str | None,
    is_named: bool,
) -> Environment:
    """Tell each container by variables of these names.

    `upstream` is that of the sidecar, if the pod has it already. `is_named`: somebody said which
    upstream it is to be, whatever the values that make way point to.
    """
    environment = Environment()
    if policy is EnvPolicy.NONE:
        return environment
    held: list[_Held] = []
    unset: list[tuple[Container, str]] = []
    for container in containers:
        for name in names:
            variable = _effective(container, name)
            if variable is None:
                unset.append((container, name))
            elif _is_ours(variable[1].value):
                continue
            elif policy is EnvPolicy.IF_UNSET:
                environment.warnings.append(
                    f"container {shown(container.name)} sets {name} itself, which stays; "
                    f"reprise.dev/env-policy: force would replace it"
                )
            else:
                held += _making_way(container, name, *variable, environment.warnings)
    taken = held if is_named else _agreeing(held, upstream, environment)
    path = BASE_PATH if is_named else _path(containers, names, taken)
    for each in taken:
        keeps = None if is_named or each.base is None else each.base.path
        value = PROXY_URL + (path if keeps is None else keeps)
        place = f"{each.container.path}/env/{each.position}/value"
        # An empty one may be a member that is not there at all.
        put = add if each.base is None else replace
        environment.operations.append(put(place, value))
    environment.operations += _additions(unset, PROXY_URL + path, environment.warnings)
    return environment


def split(url: str) -> Base:
    """The two parts of a base URL. Raises BadUpstreamUrl."""
    whole = normalized(url)
    if whole.endswith(BASE_PATH):
        return Base(whole.removesuffix(BASE_PATH), BASE_PATH)
    return Base(whole, "")


def _effective(container: Container, name: str) -> tuple[int, Variable] | None:
    """The variable of that name that counts, and its position: the last."""
    found = None
    for position, variable in enumerate(container.env or ()):
        if variable.name == name:
            found = position, variable
    return found


def _is_ours(value: str | None) -> bool:
    return value is not None and (value == PROXY_URL or value.startswith(f"{PROXY_URL}/"))


def _making_way(
    container: Container, name: str, position: int, variable: Variable, warnings: list[str]
) -> Iterator[_Held]:
    who = f"{name} of container {shown(container.name)} stays"
    if variable.value is None:
        warnings.append(f"{who}: its value comes from elsewhere; give it itself, or leave it out")
        return
    if not variable.value.strip():
        yield _Held(container, position, name, None)
        return
    try:
        yield _Held(container, position, name, split(variable.value.strip()))
    except BadUpstreamUrl as error:
        warnings.append(f"{who}: it is no URL of an upstream ({error.message})")


def _agreeing(held: Iterable[_Held], upstream: str | None, environment: Environment) -> list[_Held]:
    """Those that one sidecar can stand in for: all point to the same upstream.

    With a sidecar in place it has to be that one's.
    """
    held = list(held)
    upstreams = {each.base.upstream for each in held if each.base is not None}
    if upstream is None and len(upstreams) == 1:
        (environment.upstream,) = upstreams
        return held
    agreeing = []
    for each in held:
        if each.base is None or each.base.upstream == upstream:
            agreeing.append(each)
            continue
        environment.warnings.append(
            f"{each.name} of container {shown(each.container.name)} stays: it points elsewhere "
            "than the sidecar or another container; name one upstream by reprise.dev/upstream"
        )
    return agreeing


def _path(containers: Iterable[Container], names: Sequence[str], held: Iterable[_Held]) -> str:
    """What ends the base URL of those that had none: as in the rest of the pod."""
    paths = {each.base.path for each in held if each.base is not None}
    for container in containers:
        for variable in container.env or ():
            if variable.name in names and variable.value is not None and _is_ours(variable.value):
                paths.add(variable.value.removeprefix(PROXY_URL).rstrip("/"))
    return "" if paths == {""} else BASE_PATH


def _additions(
    unset: Iterable[tuple[Container, str]], value: str, warnings: list[str]
) -> Iterator[Operation]:
    begun: set[str] = set()
    for container, name in unset:
        if container.has_env_from:
            warnings.append(
                f"container {shown(container.name)} has envFrom: if {name} comes from there it is "
                "overridden; reprise.dev/containers or env-policy leave it out"
            )
        variable = {"name": name, "value": value}
        if container.env is None and container.path not in begun:
            begun.add(container.path)
            yield add(f"{container.path}/env", [variable])
        else:
            # In front: variables that stand behind can refer to it.
            yield add(f"{container.path}/env/0", variable)
