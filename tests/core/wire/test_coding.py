"""Content codings are undone within a bound (B29)."""

import gzip
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.core.wire.coding import plain

BODY = '{"答案":"yes"}'.encode() * 20
GZIP = gzip.compress(BODY, mtime=0)  # no time in it: tests are named by it


@pytest.mark.parametrize(
    ("coding", "data"),
    [
        (None, BODY),
        (b"", BODY),
        (b"identity", BODY),
        (b"gzip", GZIP),
        (b" GZip ", GZIP),
        (b"x-gzip", GZIP),
        (b"deflate", zlib.compress(BODY)),
    ],
)
def test_a_known_coding_is_undone(coding: bytes | None, data: bytes) -> None:
    assert plain(data, coding, len(BODY)) == BODY
    assert plain(data, coding, 1 << 20) == BODY
    assert plain(data, coding, len(BODY) - 1) is None


@pytest.mark.parametrize("coding", [b"br", b"zstd", b"gzip, gzip", b"identity, gzip", b"compress"])
def test_an_unknown_coding_is_not_read(coding: bytes) -> None:
    assert plain(gzip.compress(GZIP), coding, 1 << 20) is None


DAMAGED = {
    "cut": GZIP[:-9],
    "without its checksum": GZIP[:-8],
    "followed by something": GZIP + b"x",
    "two members": GZIP + GZIP,
    "a flipped bit": GZIP[:-5] + bytes([GZIP[-5] ^ 1]) + GZIP[-4:],
    "not gzip": BODY,
    "deflate": zlib.compress(BODY),
    "nothing": b"",
}


@pytest.mark.parametrize("data", DAMAGED.values(), ids=DAMAGED.keys())
def test_what_is_damaged_is_not_read(data: bytes) -> None:
    assert plain(data, b"gzip", 1 << 20) is None


@pytest.mark.parametrize("coding", [b"gzip", b"deflate"])
@pytest.mark.parametrize("limit", [0, 1, 1000])
def test_a_bomb_is_never_inflated(coding: bytes, limit: int) -> None:
    bomb = bytes(10_000_000)
    data = gzip.compress(bomb) if coding == b"gzip" else zlib.compress(bomb)
    assert plain(data, coding, limit) is None


def test_an_empty_body_fits_any_limit() -> None:
    assert plain(b"", None, 0) == b""
    assert plain(gzip.compress(b""), b"gzip", 0) == b""


@given(st.binary(max_size=200), st.integers(0, 200))
def test_what_fits_comes_back_and_nothing_else(body: bytes, limit: int) -> None:
    expected = body if len(body) <= limit else None
    for coding, data in [
        (b"identity", body),
        (b"gzip", gzip.compress(body)),
        (b"deflate", zlib.compress(body)),
    ]:
        assert plain(data, coding, limit) == expected


@given(st.binary(max_size=60), st.sampled_from([b"gzip", b"deflate", b"br", b"identity", None]))
def test_whatever_is_sent_raises_nothing(body: bytes, coding: bytes | None) -> None:
    data = plain(body, coding, 40)
    assert data is None or len(data) <= 40
