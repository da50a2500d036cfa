"""The key of the digests of credentials, kept so that a restart finds its entries again."""

import contextlib
import os
import secrets
from pathlib import Path

from proxy.store import directory as places
from proxy.telemetry.log import Log

FILE = "secret"
_LENGTH = 32
_OTHERS = 0o077
"""The rights of everybody but the owner."""


def load_or_make(directory: Path, log: Log) -> bytes:
    """The 32 bytes in the directory's file; made where there is none. Blocks; never raises.

    Processes that start together get the same. Where the file cannot be used this process gets a
    key of its own: it then finds nothing of what was stored, and nobody finds what it stores.
    """
    path = directory / FILE
    try:
        places.make(directory)
        with places.locked(directory):
            secret = _read(path) if path.exists() else _make(path)
        if len(secret) == _LENGTH:
            _check_rights(path, log)
            return secret
        why = f"it has not {_LENGTH} bytes"
    except OSError as error:
        why = error.strerror or type(error).__name__
    told = {
        "path": str(path),
        "why": why,
        "remedy": "mend or remove the file, or set tenancy.secret; what was stored before is lost "
        "with it",
    }
    log.emit("error", "the key of credentials cannot be kept", told)
    return secrets.token_bytes(_LENGTH)


def replace(directory: Path, secret: bytes) -> None:
    """Keep another one from now on: that of the other replicas. Blocks; never raises.

    Where that fails, the replicas tell it again at the next start.
    """
    if len(secret) == _LENGTH:
        with contextlib.suppress(OSError), places.locked(directory):
            _write(directory / FILE, secret)


def _read(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_LENGTH + 1)


def _make(path: Path) -> bytes:
    secret = secrets.token_bytes(_LENGTH)
    _write(path, secret)
    return secret


def _write(path: Path, secret: bytes) -> None:
    draft = path.with_name(f"{FILE}.{secrets.token_hex(8)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with open(descriptor, "wb") as file:
            file.write(secret)
            file.flush()
            os.fsync(descriptor)
        # At once: whoever dies in here leaves no half a key.
        draft.replace(path)
    except OSError:
        draft.unlink(missing_ok=True)
        raise


def _check_rights(path: Path, log: Log) -> None:
    rights = path.stat().st_mode
    if rights & _OTHERS:
        told = {"path": str(path), "mode": oct(rights & 0o777), "remedy": f"chmod 600 {path}"}
        log.emit("warning", "others may read the key of credentials", told)
