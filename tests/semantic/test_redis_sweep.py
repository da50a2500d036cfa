"""Looking for expired entries: the parts; the whole is in test_redis_index.py."""

from proxy.semantic.redis_sweep import _members, in_parts


def test_all_come_in_parts() -> None:
    assert list(in_parts(range(5), 2)) == [[0, 1], [2, 3], [4]]
    assert list(in_parts([], 2)) == []


def test_what_a_scan_gave_is_read_in_the_shapes_of_both_protocols() -> None:
    assert _members([b"a", b"1", b"b", b"2"]) == [b"a", b"b"]
    assert _members([(b"a", 1.0), [b"b", 2.0]]) == [b"a", b"b"]
    assert _members([]) == []
