"""The layers, held by reading the imports of every module (design 2, style 5 and 7).

Drawn from the top: cli -> app -> reload, server, admin -> pipeline and adapters -> telemetry,
ports, tasks -> core. No arrow runs back, no adapter knows another; only cli, app and reload see
config.
"""

import ast
import graphlib
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "proxy"

FLOOR = {"core", "ports", "tasks", "telemetry"}
ADAPTERS = {"store", "upstream", "semantic"}
LINKS = {"redis_link"}
"""Connections that several adapters have in common."""
EDGE = {"server", "admin"}
OVERSIGHT = {"condition", "oversight"}
"""What the operator is shown of an application, and may do to it."""
BELOW_APP = FLOOR | ADAPTERS | LINKS | EDGE | {"pipeline", "clock", "__init__"}

MAY_IMPORT: dict[str, set[str]] = {
    "core": set(),
    "clock": set(),
    "tasks": {"core"},
    "ports": {"core"},
    "telemetry": {"core", "ports", "tasks"},
    "config": {"core"},
    "pipeline": FLOOR,
    "redis_link": FLOOR,
    **dict.fromkeys(ADAPTERS, FLOOR | LINKS),
    **dict.fromkeys(EDGE, FLOOR | ADAPTERS | {"pipeline"}),
    "k8s": FLOOR,
    "reload": FLOOR | {"config"},
    "semantic_level": BELOW_APP | {"config"},
    "semantic_loader": BELOW_APP | {"config", "semantic_level"},
    "persistence": BELOW_APP | {"config"},
    "rehearsal": BELOW_APP | {"config", "semantic_level"},
    "condition": BELOW_APP | {"semantic_loader", "persistence"},
    "oversight": BELOW_APP | {"reload", "semantic_loader", "condition"},
    "app": BELOW_APP | {"config", "reload", "persistence", "semantic_loader"} | OVERSIGHT,
    "cli": BELOW_APP | {"config", "reload", "app", "semantic_level", "rehearsal", "k8s"},
    "__main__": {"cli"},
    "__init__": set(),
}
"""What each room of the house may see besides itself."""

OWNERS: dict[str, set[str]] = {
    "aiohttp": {"server", "upstream", "admin", "app", "k8s"},
    "multidict": {"server", "upstream", "admin"},
    "yarl": {"server", "upstream", "admin", "k8s"},
    "orjson": set(MAY_IMPORT),
    "structlog": {"telemetry"},
    "prometheus_client": {"telemetry"},
    "yaml": {"config", "k8s"},
    "pydantic": {"config"},
    "pydantic_core": {"config"},
    "watchfiles": {"reload"},
    "uvloop": {"cli"},
    "click": {"cli"},
    "rich": {"cli"},
    "openai": {"cli"},
    "numpy": {"core", "ports", "semantic", "cli"},
    "onnxruntime": {"semantic"},
    "onnx": {"semantic"},
    "tokenizers": {"semantic"},
    "sentencepiece": {"semantic"},
    "huggingface_hub": {"semantic"},
    "hnswlib": {"semantic"},
    "redis": {"redis_link"},
    "msgpack": {"store"},
    "cryptography": {"k8s"},
    "opentelemetry": {"telemetry"},
    "requests": {"telemetry"},
}
"""The rooms in which each library may be imported."""

IMPURE = {"asyncio", "logging", "os", "random", "secrets", "socket", "subprocess"}
IMPURE |= {"tempfile", "threading", "time", "uuid"}
"""What a module that only decides has no use for."""

NAMELESS = {"utils", "helpers", "common", "misc", "manager", "base"}
ERROR_BOUNDARIES = {"proxy.server.handler", "proxy.k8s.webhook"}
"""Of the proxy, and of the injector."""


@dataclass(frozen=True, slots=True)
class Module:
    """One source file of the package."""

    name: str
    path: Path
    tree: ast.Module

    @property
    def room(self) -> str:
        """The part of the house that it is in: the first name below the package."""
        parts = self.path.relative_to(PACKAGE).with_suffix("").parts
        return "config" if parts[0].startswith("config") else parts[0]

    def imports(self) -> Iterator[tuple[int, str]]:
        """Every import as line and absolute name; `from a import b` gives `a.b`."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                yield from ((node.lineno, alias.name) for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)

    def at(self, line: int) -> str:
        """A place, as an editor understands it."""
        return f"{self.path.relative_to(ROOT)}:{line}"


@cache
def modules() -> tuple[Module, ...]:
    """Every module of the package."""
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found.append(Module(name, path, ast.parse(path.read_text("utf-8"))))
    return tuple(found)


def room_of(imported: str) -> str | None:
    """The room that an imported name is in; None for what is not ours."""
    package, *rest = imported.split(".")
    if package != PACKAGE.name:
        return None
    if not rest or rest[0].startswith("__"):
        return "__init__"
    return "config" if rest[0].startswith("config") else rest[0]


def refuse(violations: Iterable[str], advice: str) -> None:
    """Fail with every violation and with what to do about it."""
    found = sorted(violations)
    if found:
        pytest.fail("\n".join([f"{advice}:", *(f"  {line}" for line in found)]), pytrace=False)


def test_every_room_is_in_the_plan() -> None:
    refuse(
        {module.room for module in modules()} - set(MAY_IMPORT),
        "Put the new part into a layer: add it to MAY_IMPORT here and to design section 2",
    )


def test_imports_point_downwards() -> None:
    refuse(
        (
            f"{module.at(line)} is in {module.room} and imports {imported}"
            for module in modules()
            for line, imported in module.imports()
            if (room := room_of(imported)) is not None
            and room not in MAY_IMPORT.get(module.room, set()) | {module.room}
        ),
        "Move the name down to where both may see it, or take it as an argument behind a Protocol "
        "in proxy/ports.py",
    )


def test_no_module_imports_itself_in_a_circle() -> None:
    names = {module.name for module in modules()}
    graph = {
        module.name: {
            imported if imported in names else imported.rpartition(".")[0]
            for _, imported in module.imports()
        }
        & names
        for module in modules()
    }
    circle: list[str] = []
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        circle = [" <- ".join(error.args[1])]
    refuse(circle, "Move what both need into a module of its own, below them")


def test_core_only_decides() -> None:
    refuse(
        (
            f"{module.at(line)} imports {imported}"
            for module in modules()
            if module.room == "core"
            for line, imported in module.imports()
            if imported.split(".")[0] in IMPURE
        ),
        "core/ does no I/O and knows no time, chance or task: take the value as an argument",
    )


def test_core_does_not_wait() -> None:
    refuse(
        (
            module.at(node.lineno)
            for module in modules()
            if module.room == "core"
            for node in ast.walk(module.tree)
            if isinstance(node, ast.AsyncFor | ast.AsyncWith | ast.Await)
            or (isinstance(node, ast.AsyncFunctionDef) and not _is_stub(node))
        ),
        "core/ has no async code: decide here, and let pipeline/ or an adapter do the waiting",
    )


def test_libraries_stay_with_their_owners() -> None:
    refuse(
        (
            f"{module.at(line)} imports {library}; its owners: {_owners(library)}"
            for module in modules()
            for line, imported in module.imports()
            if (library := imported.split(".")[0]) not in sys.stdlib_module_names | {PACKAGE.name}
            and module.room not in OWNERS.get(library, set())
        ),
        "Ask the owner of the library through a port, or enter a new library in OWNERS here and "
        "say in pyproject.toml what it replaces",
    )


def _owners(library: str) -> str:
    return ", ".join(sorted(OWNERS.get(library, set()))) or "none"


def test_imports_stand_at_the_top() -> None:
    refuse(
        (
            module.at(inner.lineno)
            for module in modules()
            for outer in ast.walk(module.tree)
            if isinstance(outer, ast.FunctionDef | ast.AsyncFunctionDef)
            for inner in ast.walk(outer)
            if isinstance(inner, ast.Import | ast.ImportFrom)
        ),
        "Move the import to the top of the file; if that makes a circle, the layers are wrong",
    )


def test_imports_are_absolute() -> None:
    refuse(
        (
            module.at(node.lineno)
            for module in modules()
            for node in ast.walk(module.tree)
            if isinstance(node, ast.ImportFrom) and node.level
        ),
        "Write the import as `from proxy.… import …`",
    )


def test_only_the_error_boundaries_catch_everything() -> None:
    refuse(
        (
            module.at(node.lineno)
            for module in modules()
            if module.name not in ERROR_BOUNDARIES
            for node in ast.walk(module.tree)
            if isinstance(node, ast.ExceptHandler)
            and _catches_everything(node)
            and not _raises_again(node)
        ),
        f"Catch what you can name and handle; {sorted(ERROR_BOUNDARIES)} catch the rest",
    )


def _catches_everything(handler: ast.ExceptHandler) -> bool:
    caught = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(
        kind is None or (isinstance(kind, ast.Name) and kind.id in {"Exception", "BaseException"})
        for kind in caught
    )


def _raises_again(handler: ast.ExceptHandler) -> bool:
    last = handler.body[-1]
    return isinstance(last, ast.Raise) and last.exc is None


def test_modules_have_names_that_say_something() -> None:
    refuse(
        (
            str(module.path.relative_to(ROOT))
            for module in modules()
            if NAMELESS & {module.path.stem, module.path.parent.name}
        ),
        "Name the module after the one idea it holds, by a noun of the field",
    )


def test_every_module_with_code_has_its_test_file() -> None:
    refuse(
        (
            f"{module.path.relative_to(ROOT)} wants {test.relative_to(ROOT)}"
            for module in modules()
            if module.path.stem not in {"__init__", "__main__"} and _has_code(module.tree)
            if not (test := _test_of(module.path)).exists()
        ),
        "Write the test file in the same place under tests/",
    )


def _test_of(path: Path) -> Path:
    inside = path.relative_to(PACKAGE)
    return ROOT / "tests" / inside.parent / f"test_{inside.name}"


def _has_code(tree: ast.Module) -> bool:
    """Whether any function does something; values, types and Protocols have nothing to test."""
    return any(
        isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not _is_stub(node)
        for node in ast.walk(tree)
    )


def _is_stub(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return all(isinstance(line, ast.Expr) for line in function.body)
