"""Who takes part in which work."""

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.bench import nginx
from tests.bench.processes import Processes, free_port, python

OURS = "reprise"
OURS_EXACT = "reprise, exact only"
OURS_PATIENT = "reprise, patient"
OURS_ALONE = "reprise, one process"
OURS_TWO = "reprise, two workers"
UPSTREAM = "upstream alone"
BARE_HIT = "bare aiohttp, hit"
BARE_PASS = "bare aiohttp, pass"
NGINX_CACHE = "nginx proxy_cache"
NGINX_PASS = "nginx proxy_pass"

_ALONE: Mapping[str, Any] = {
    "semantic": {"enabled": False},
    "persist": {"disk": {"enabled": False}},
}
_SETTINGS: Mapping[str, Mapping[str, Any]] = {
    OURS: {},
    # its counterparts compare nothing, and keep nothing
    OURS_EXACT: _ALONE,
    OURS_ALONE: _ALONE,
    OURS_PATIENT: {"semantic": {"deadline": "5s"}},
    OURS_TWO: {"workers": 2, **_ALONE},
}
_HITS = ("hit_json", "hit_sse")
_PASSES = ("miss_json", "miss_sse", "pass")


@dataclass(frozen=True, slots=True)
class System:
    """A server under measurement."""

    name: str
    port: int
    proofs: dict[str, str]
    """By the name of the work it takes part in: what each answer's head must hold."""
    log: Path | None = None
    """A file that grows with every request, to be emptied between rounds."""


def start_upstream(processes: Processes) -> int:
    """Start the scripted upstream and tell its port."""
    port = free_port()
    process = processes.start("upstream", python("-m", "tests.bench.upstream", str(port)))
    processes.await_answer("upstream", process, port)
    return port


@dataclass(frozen=True, slots=True)
class Ours:
    """A process of ours that has been spawned."""

    process: subprocess.Popen[bytes]
    port: int
    admin_port: int


def start_ours(
    processes: Processes,
    folder: Path,
    upstream_port: int,
    *,
    name: str = OURS,
    settings: Mapping[str, Any] | None = None,
) -> Ours:
    """Spawn our proxy and wait for nothing; `folder` gets its configuration and its entries.

    OURS is as shipped, OURS_EXACT is without the semantic level and without disk, OURS_PATIENT
    compares however long that takes; OURS_TWO are two processes of OURS_ALONE. `settings` are those
    of any other name.
    """
    chosen = {"ttl": {"exact": "24h"}, **(_SETTINGS[name] if settings is None else settings)}
    persist = chosen.get("persist", {})
    disk = {"path": str(folder / f"{name}-kept"), **persist.get("disk", {})}
    config = folder / f"{name}.yaml"
    config.write_text(json.dumps({**chosen, "persist": {**persist, "disk": disk}}))
    port, admin_port = free_port(), free_port()
    command = python(
        *("-m", "proxy", "serve"),
        *("--upstream", f"http://127.0.0.1:{upstream_port}"),
        *("--config", str(config)),
        *("--listen", f"127.0.0.1:{port}"),
        *("--admin-listen", f"127.0.0.1:{admin_port}"),
    )
    return Ours(processes.start(name, command), port, admin_port)


def ready_ours(
    processes: Processes,
    folder: Path,
    upstream_port: int,
    *,
    name: str = OURS,
    settings: Mapping[str, Any] | None = None,
) -> Ours:
    """Start our proxy and wait until it is ready: its eager encoder is loaded then."""
    ours = start_ours(processes, folder, upstream_port, name=name, settings=settings)
    processes.await_answer(name, ours.process, ours.port)
    processes.await_answer(name, ours.process, ours.admin_port, path="/readyz")
    return ours


def _ours(processes: Processes, folder: Path, upstream_port: int) -> list[System]:
    shipped = ready_ours(processes, folder, upstream_port)
    exact = ready_ours(processes, folder, upstream_port, name=OURS_EXACT)
    misses = {"miss_json": "fwd=", "miss_sse": "fwd=", "pass": ""}
    return [
        System(OURS, shipped.port, dict.fromkeys(_HITS, "; hit"), log=processes.log(OURS)),
        System(OURS_EXACT, exact.port, misses, log=processes.log(OURS_EXACT)),
    ]


def _bare_hit(processes: Processes) -> System:
    port = free_port()
    process = processes.start("bare-hit", python("-m", "tests.bench.bare", "hit", str(port)))
    processes.await_answer("bare-hit", process, port)
    return System(BARE_HIT, port, dict.fromkeys(_HITS, ""))


def _bare_pass(processes: Processes, upstream_port: int) -> System:
    port = free_port()
    upstream = f"http://127.0.0.1:{upstream_port}"
    process = processes.start(
        "bare-pass", python("-m", "tests.bench.bare", "pass", str(port), upstream)
    )
    processes.await_answer("bare-pass", process, port)
    return System(BARE_PASS, port, dict.fromkeys(_PASSES, ""))


def _nginx(processes: Processes, folder: Path, upstream_port: int, program: str) -> list[System]:
    pass_port, cache_port = free_port(), free_port()
    command = nginx.command(
        program, folder, upstream_port=upstream_port, pass_port=pass_port, cache_port=cache_port
    )
    process = processes.start("nginx", command)
    processes.await_answer("nginx", process, pass_port)
    return [
        System(NGINX_CACHE, cache_port, dict.fromkeys(_HITS, "X-Cache: HIT")),
        System(NGINX_PASS, pass_port, dict.fromkeys(_PASSES, "")),
    ]


def start_all(processes: Processes, folder: Path) -> list[System]:
    """Start everybody who is installed; ours and its counterpart are neighbours in the order."""
    upstream_port = start_upstream(processes)
    started = [
        _bare_hit(processes),
        _bare_pass(processes, upstream_port),
        *_ours(processes, folder, upstream_port),
    ]
    program = nginx.find()
    if program is not None:
        started += _nginx(processes, folder, upstream_port, program)
    everything = dict.fromkeys((*_HITS, *_PASSES), "")
    return [*started, System(UPSTREAM, upstream_port, everything)]
