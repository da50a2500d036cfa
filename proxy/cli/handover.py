"""What a worker is told by its supervisor: a line of JSON on a socket that is its standard input.

The socket stays open as long as both live. The worker says on it that it serves; its end tells the
worker that there is no supervisor any more, even where that was killed.
"""

import json
import os
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from proxy.app import Worker
from proxy.core.address import Address

SERVES = b"+"
"""What a worker writes when it serves."""
ENDS_WITHIN = 5.0
"""Seconds beyond the grace after which a worker without a supervisor ends in any case."""


@dataclass(frozen=True, slots=True)
class Handover:
    """All that a worker does not read from the command line."""

    worker: Worker
    config: bytes
    """The content of the configuration file when the supervisor was started.

    So a worker that is begun again has the static part of the others, and can begin though the
    file is broken meanwhile. It reads the file as soon as it runs.
    """


def encode(handover: Handover) -> bytes:
    """One line."""
    worker = handover.worker
    told = {
        "number": worker.number,
        "host": worker.listen.host,
        "port": worker.listen.port,
        "admin_socket": worker.admin_socket,
        "secret": worker.secret.hex(),
        "log_form": worker.log_form,
        "config": handover.config.hex(),
    }
    return json.dumps(told).encode() + b"\n"


def decode(line: bytes) -> Handover:
    """What `encode` has made. Raises ValueError or KeyError for anything else."""
    told = json.loads(line)
    worker = Worker(
        number=told["number"],
        listen=Address(told["host"], told["port"]),
        admin_socket=told["admin_socket"],
        secret=bytes.fromhex(told["secret"]),
        log_form=told["log_form"],
    )
    return Handover(worker, bytes.fromhex(told["config"]))


class Supervised:
    """The worker's end of the socket."""

    def __init__(self, link: socket.socket) -> None:
        self._socket = link

    def read(self) -> Handover:
        """Wait for what the supervisor tells. Raises EOFError where it is not there."""
        line = b""
        while not line.endswith(b"\n"):
            piece = self._socket.recv(1 << 16)
            if not piece:
                raise EOFError("there is no supervisor")
            line += piece
        return decode(line)

    def serves(self) -> None:
        """Tell that the listeners are up."""
        try:
            self._socket.send(SERVES)
        except OSError:
            return  # it has died: `watch` sees it too

    def watch(self, on_end: Callable[[], object], grace: Callable[[], float]) -> None:
        """Call `on_end` from a thread when the supervisor has ended.

        Ends the process where that has not done it within the grace and ENDS_WITHIN.
        """

        def wait() -> None:
            while self._socket.recv(1):
                pass
            on_end()
            time.sleep(grace() + ENDS_WITHIN)
            os._exit(1)

        threading.Thread(target=wait, name="watch-supervisor", daemon=True).start()
