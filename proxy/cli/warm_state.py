"""What `reprise warm` has done already, so that it can be broken off and taken up again."""

import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

_LINE = re.compile(rb"([0-9a-f]{32}) ([a-z]{1,16}) ([0-9]{1,18})")
_PART = re.compile(rb"(?:[0-9a-f]{0,32}|[0-9a-f]{32} (?:[a-z]{0,16}|[a-z]{1,16} [0-9]{0,18}))")
"""A line, or what is there of one that was broken off."""


class Done(NamedTuple):
    """One question that needs not be asked again."""

    outcome: str
    tokens: int


def default_path(files: Sequence[Path], proxy: str, environment: Mapping[str, str]) -> Path:
    """Where the state of warming this proxy from these files is kept."""
    home = environment.get("XDG_STATE_HOME") or "~/.local/state"
    told = "\n".join([proxy, *(str(file.resolve()) for file in files)])
    digest = hashlib.sha256(told.encode("utf-8", "surrogateescape")).hexdigest()
    return Path(home).expanduser() / "reprise" / f"warm-{digest[:16]}.state"


class State:
    """A file with a line for each question: digest, outcome, tokens. Nobody's text is in it."""

    def __init__(self, path: Path) -> None:
        """Reads what is there. Raises OSError, or ValueError for a file that is something else."""
        self.path = path
        self.done: dict[str, Done] = {}
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
        *lines, broken = path.read_bytes().split(b"\n")
        for line in lines:
            self._read(line)
        if broken:
            os.write(self._descriptor, b"\n")  # it was broken off in the middle of a line

    def digest(self, key: bytes) -> str:
        """How a question is told."""
        return hashlib.sha256(b"warmed\x00" + key).hexdigest()[:32]

    def note(self, key: bytes, done: Done) -> None:
        """Write down at once that a question is done. Raises OSError."""
        digest = self.digest(key)
        self.done[digest] = done
        os.write(self._descriptor, f"{digest} {done.outcome} {done.tokens}\n".encode())

    def is_done(self, key: bytes) -> bool:
        """Whether a question needs not be asked again."""
        return self.digest(key) in self.done

    @property
    def tokens(self) -> int:
        """What everything together took."""
        return sum(done.tokens for done in self.done.values())

    @property
    def longest(self) -> int | None:
        """The most that one of them took; None where none took anything."""
        return max((done.tokens for done in self.done.values() if done.tokens), default=None)

    def close(self, *, is_complete: bool) -> None:
        """End; where nothing is left to do, the next time is a new beginning."""
        os.close(self._descriptor)
        if is_complete:
            self.path.unlink(missing_ok=True)

    def _read(self, line: bytes) -> None:
        if not _PART.fullmatch(line):
            raise ValueError("this is no state of `reprise warm`")
        whole = _LINE.fullmatch(line)
        if whole is not None:
            self.done[whole[1].decode()] = Done(whole[2].decode(), int(whole[3]))
