"""What a worker is told, and how it hears that nobody keeps it any more."""

import json
import socket
import threading

import pytest

from proxy.app import Worker
from proxy.cli.handover import SERVES, Handover, Supervised, decode, encode
from proxy.core.address import Address

HANDOVER = Handover(
    Worker(2, Address("::1", 8080), "/tmp/2.sock", bytes(range(32)), "json"),  # noqa: S108
    b"upstream: http://x\n# \xe5\xae\x8c\n",
)
DEADLINE = 30.0


def test_what_is_told_is_what_is_read() -> None:
    line = encode(HANDOVER)
    assert line.count(b"\n") == 1
    assert line.endswith(b"\n")
    assert decode(line) == HANDOVER


def test_the_secret_is_not_shown() -> None:
    assert "secret" not in repr(HANDOVER)


@pytest.mark.parametrize("line", [b"\n", b"{}\n", b"[]\n", json.dumps({"number": 1}).encode()])
def test_anything_else_is_refused(line: bytes) -> None:
    with pytest.raises((ValueError, KeyError, TypeError)):
        decode(line)


def test_a_worker_reads_what_comes_in_pieces_and_says_that_it_serves() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        line = encode(HANDOVER)
        ours.sendall(line[:10])
        rest = threading.Timer(0.01, ours.sendall, (line[10:],))
        rest.start()
        supervised = Supervised(theirs)
        assert supervised.read() == HANDOVER
        supervised.serves()
        assert ours.recv(1) == SERVES


def test_without_a_supervisor_there_is_nothing_to_read() -> None:
    ours, theirs = socket.socketpair()
    ours.close()
    with theirs:
        supervised = Supervised(theirs)
        with pytest.raises(EOFError):
            supervised.read()
        supervised.serves()


def test_the_end_of_the_supervisor_is_told_and_then_enforced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told, slept, ended = threading.Event(), list[float](), threading.Event()
    monkeypatch.setattr("proxy.cli.handover.time.sleep", slept.append)
    monkeypatch.setattr("proxy.cli.handover.os._exit", lambda status: ended.set())
    ours, theirs = socket.socketpair()
    with theirs:
        Supervised(theirs).watch(told.set, lambda: 30.0)
        ours.send(b"?")
        assert not told.is_set()
        ours.close()
        assert told.wait(DEADLINE)
        assert ended.wait(DEADLINE)
    assert slept == [35.0]
