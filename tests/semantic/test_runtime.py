"""ONNX Runtime does not report to its maker."""

import ast
import os
import subprocess
import sys
from pathlib import Path

from tests.semantic import tiny

PACKAGE = Path(__file__).parents[2] / "proxy"

_LOAD = """
import sys
from proxy.semantic import runtime
runtime.InferenceSession(sys.argv[1], providers=["CPUExecutionProvider"])
"""


def test_nothing_is_written_for_a_report(tmp_path: Path) -> None:
    model = tiny.write(tmp_path / "tiny") / "model.onnx"
    home = tmp_path / "home"
    home.mkdir()
    # Its maker's own list of signs of a test run, under which it does not report either.
    signs = {"CI", "TF_BUILD", "GITHUB_ACTIONS"}
    environment = {name: value for name, value in os.environ.items() if name not in signs}
    environment |= {"HOME": str(home), "XDG_CACHE_HOME": str(home / ".cache")}
    command = [sys.executable, "-c", _LOAD, str(model)]
    subprocess.run(command, check=True, env=environment)  # noqa: S603 - ours
    assert list(home.rglob("*")) == []


def test_nobody_else_imports_it() -> None:
    importing = {
        path.name
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Import | ast.ImportFrom)
        if any("onnxruntime" in str(name) for name in _names(node))
    }
    assert importing == {"runtime.py"}


def _names(node: ast.Import | ast.ImportFrom) -> list[str | None]:
    aliases: list[str | None] = [alias.name for alias in node.names]
    return [*aliases, node.module] if isinstance(node, ast.ImportFrom) else aliases
