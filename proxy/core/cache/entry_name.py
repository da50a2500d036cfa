"""The public name of an answer that went through several caches (mission G5).

Each cache puts its own name for it before the one that it was told: `ours.theirs`. Whoever has the
name can so speak of the answer to every one of them, also after some have forgotten it.
"""

import re

MAX_CHARACTERS = 512
_NAME = re.compile(r"[0-9a-f-]+(?:\.[0-9a-f-]+)*")
_FIELD = b"\r\nx-cache-entry: "


def joined(own: bytes, told: bytes | None) -> bytes:
    """Our name, and behind it what the upstream's x-cache-entry told, if that is a name."""
    if told is None or not is_name(told.decode("latin-1")):
        return own
    return b"%b.%b" % (own, told)


def is_name(text: str) -> bool:
    """Whether it can be the name of an answer."""
    return len(text) <= MAX_CHARACTERS and _NAME.fullmatch(text) is not None


def told_name(head: bytes) -> str:
    """What a stored head tells as x-cache-entry; empty where nothing."""
    return head.partition(_FIELD)[2].partition(b"\r\n")[0].decode("latin-1")


def own_part(name: str) -> str:
    """What of a name is ours."""
    return name.partition(".")[0]


def upstream_part(name: str) -> str:
    """What of a name of ours the upstream knows; empty where nothing."""
    return name.partition(".")[2]
