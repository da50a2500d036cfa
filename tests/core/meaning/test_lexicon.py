"""Word lists: every one that is shipped can be read."""

from importlib import resources

import pytest

from proxy.core.meaning.lexicon import groups, read_all, words

PACKAGES = ("proxy.core.meaning", "proxy.core.meaning.guards")
LISTS = [
    (package, file.name)
    for package in PACKAGES
    for file in resources.files(package).iterdir()
    if file.name.endswith(".txt")
]


@pytest.mark.parametrize(("package", "name"), LISTS)
def test_a_list_has_entries_without_blanks_around(package: str, name: str) -> None:
    found = groups(package, name)
    assert found
    assert all(found)
    assert all(entry == entry.strip() and entry for group in found for entry in group)
    assert words(package, name) == {entry for group in found for entry in group}


def test_a_list_is_read_once() -> None:
    for package in PACKAGES:
        read_all(package)
    before = groups.cache_info().misses, words.cache_info().misses
    for package, name in LISTS:
        words(package, name)
        groups(package, name)
    assert (groups.cache_info().misses, words.cache_info().misses) == before


def test_a_list_that_is_not_there_is_a_mistake() -> None:
    with pytest.raises(FileNotFoundError):
        groups("proxy.core.meaning", "no_such_list.txt")
