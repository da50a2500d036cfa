"""Word lists: text files beside the modules that use them, read once.

One entry a line; `#` at its beginning or after a blank begins a comment. A line of several entries
separated by ` | ` is a group.
"""

import re
from functools import cache
from importlib import resources

_COMMENT = re.compile(r"(?:^|\s)#.*")


@cache
def groups(package: str, name: str) -> tuple[tuple[str, ...], ...]:
    """The groups of a list, in order; a line with one entry is a group of one."""
    lines = resources.files(package).joinpath(name).read_text("utf-8").splitlines()
    bare = (_COMMENT.sub("", line).strip() for line in lines)
    return tuple(
        tuple(entry.strip() for entry in line.split("|") if entry.strip()) for line in bare if line
    )


def read_all(package: str) -> None:
    """Read every list of a package now, so that nobody waits for a file later. Blocks."""
    for file in resources.files(package).iterdir():
        if file.name.endswith(".txt"):
            words(package, file.name)


@cache
def words(package: str, name: str) -> frozenset[str]:
    """All entries of a list."""
    return frozenset(entry for group in groups(package, name) for entry in group)
