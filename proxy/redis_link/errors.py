"""What can be wrong with Redis, as one error with a reason."""

from enum import StrEnum

from redis import exceptions


class Reason(StrEnum):
    """Why a call to Redis failed. A closed set: these are labels of metrics."""

    TIMEOUT = "timeout"
    REFUSED = "refused"
    """No connection could be made."""
    CLOSED = "closed"
    """The connection ended before the answer."""
    AUTH = "auth"
    """Wrong user or password."""
    DENIED = "denied"
    """The user may not do this (ACL)."""
    MAXCLIENTS = "maxclients"
    LOADING = "loading"
    """It reads its data from disk, or waits for a master."""
    BUSY = "busy"
    """It runs a script that does not end."""
    CLUSTER = "cluster"
    """The cluster cannot say who serves a key, or there is no master."""
    PROTOCOL = "protocol"
    """What came is not what Redis says."""
    OOM = "oom"
    READONLY = "readonly"
    MISCONF = "misconf"
    """It cannot keep what it is told on its disk, or with its replicas."""
    ERROR = "error"
    """Another error that it answered with."""
    OPEN = "open"
    """It was not asked: it has failed a moment ago (breaker.py)."""


WRITE_REFUSALS = frozenset({Reason.OOM, Reason.READONLY, Reason.MISCONF})
"""It answers, and takes no writes: reading goes on."""


class BadUrl(ValueError):
    """A URL of Redis that no client can be made of; its words show nothing of the URL."""


class LinkDown(Exception):
    """A call to Redis gave no answer."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason.value)
        self.reason = reason


_BY_WORD = (
    ("max number of clients", Reason.MAXCLIENTS),
    ("OOM ", Reason.OOM),
    ("READONLY", Reason.READONLY),
    ("master is now a slave", Reason.READONLY),
    ("MISCONF", Reason.MISCONF),
    ("NOREPLICAS", Reason.MISCONF),
    ("NOPERM", Reason.DENIED),
    ("NOAUTH", Reason.AUTH),
    ("WRONGPASS", Reason.AUTH),
    ("LOADING", Reason.LOADING),
    ("MASTERDOWN", Reason.LOADING),
    ("BUSY ", Reason.BUSY),
    ("CLUSTERDOWN", Reason.CLUSTER),
    ("TRYAGAIN", Reason.CLUSTER),
    ("No master found", Reason.CLUSTER),
)
"""What Redis or its library says; a script's error has the word in its midst (Redis 6)."""

_BY_TYPE: tuple[tuple[type[BaseException], Reason], ...] = (
    (exceptions.OutOfMemoryError, Reason.OOM),
    (exceptions.ReadOnlyError, Reason.READONLY),
    (exceptions.NoPermissionError, Reason.DENIED),
    (exceptions.AuthenticationError, Reason.AUTH),
    (exceptions.AuthenticationWrongNumberOfArgsError, Reason.AUTH),
    (exceptions.AuthorizationError, Reason.AUTH),
    (exceptions.BusyLoadingError, Reason.LOADING),
    (exceptions.MasterDownError, Reason.LOADING),
    (exceptions.ClusterDownError, Reason.CLUSTER),
    (exceptions.TimeoutError, Reason.TIMEOUT),
    (TimeoutError, Reason.TIMEOUT),
    (exceptions.InvalidResponse, Reason.PROTOCOL),
)
_BY_KIND: tuple[tuple[type[BaseException], Reason], ...] = (
    (exceptions.RedisClusterException, Reason.CLUSTER),
    (exceptions.ClusterError, Reason.CLUSTER),
    (exceptions.AskError, Reason.CLUSTER),
    (exceptions.ConnectionError, Reason.CLOSED),
    (exceptions.ResponseError, Reason.ERROR),
    (exceptions.RedisError, Reason.PROTOCOL),
)
"""The first that fits counts."""


def reason_of(error: BaseException) -> Reason:
    """The reason for an error of the library, of a socket, or of what came over it."""
    for kind, reason in _BY_TYPE:
        if isinstance(error, kind):
            return reason
    text = str(error)
    for word, reason in _BY_WORD:
        if word in text:
            return reason
    if isinstance(error, exceptions.ConnectionError) and " connecting to " in text:
        return Reason.REFUSED
    return next((reason for kind, reason in _BY_KIND if isinstance(error, kind)), Reason.CLOSED)
