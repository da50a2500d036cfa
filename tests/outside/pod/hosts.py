"""The hosts of a small cluster, as network namespaces on one bridge.

They are made within a namespace of the tests' own, which `make pod-test` enters, and go with it.
"""

import contextlib
import ctypes
import os
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

NODE = "10.231.0.1"
"""Where the tests are: the kubelet's place."""
_CLONE_NEWNET = 0x40000000
_LIBC = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True, slots=True)
class Host:
    """One namespace with a loopback and an address."""

    name: str
    address: str

    @property
    def within(self) -> tuple[str, ...]:
        """Runs a command on this host; what it starts is the process itself."""
        return ("ip", "netns", "exec", self.name)

    def listening(self, port: int) -> socket.socket:
        """A socket that listens on this host."""
        with self._entered():
            return socket.create_server((self.address, port))

    @contextlib.contextmanager
    def _entered(self) -> Iterator[None]:
        """This thread is on the host: sockets stay where they were made."""
        with open("/proc/thread-self/ns/net") as here, open(f"/run/netns/{self.name}") as there:
            _enter(there.fileno())
            try:
                yield
            finally:
                _enter(here.fileno())


def node() -> None:
    """Make this namespace the node: a bridge, and a place of our own for names of namespaces."""
    Path("/run/netns").mkdir(exist_ok=True)
    _ip("mount", "-t", "tmpfs", "none", "/run/netns")
    _ip("ip", "link", "set", "lo", "up")
    _ip("ip", "link", "add", "bridge0", "type", "bridge")
    _ip("ip", "address", "add", f"{NODE}/24", "dev", "bridge0")
    _ip("ip", "link", "set", "bridge0", "up")


def host(name: str, number: int) -> Host:
    """One more host on the bridge."""
    made = Host(name, f"10.231.0.{number}")
    _ip("ip", "netns", "add", name)
    _ip("ip", "link", "add", f"to-{name}", "type", "veth", "peer", "name", "eth0", "netns", name)
    _ip("ip", "link", "set", f"to-{name}", "master", "bridge0", "up")
    for command in (
        ("link", "set", "lo", "up"),
        ("address", "add", f"{made.address}/24", "dev", "eth0"),
        ("link", "set", "eth0", "up"),
    ):
        _ip("ip", "-n", name, *command)
    return made


def _enter(descriptor: int) -> None:
    if _LIBC.setns(descriptor, _CLONE_NEWNET):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _ip(*command: str) -> None:
    subprocess.run(command, check=True)  # noqa: S603 - as named above
