"""Undoing content codings, so that a stored body is plain (RFC 9110 8.4.1)."""

import zlib

_WINDOW = {b"gzip": 16 + zlib.MAX_WBITS, b"x-gzip": 16 + zlib.MAX_WBITS, b"deflate": zlib.MAX_WBITS}


def plain(body: bytes, coding: bytes | None, limit: int) -> bytes | None:
    """The decoded body; None for a coding we cannot read, damage, or more than `limit` bytes."""
    name = (coding or b"identity").strip().lower()
    if name in (b"identity", b""):
        return body if len(body) <= limit else None
    if name not in _WINDOW:
        return None
    decoder = zlib.decompressobj(_WINDOW[name])
    try:
        # One byte more than the limit, so that the end of what just fits is seen too.
        data = decoder.decompress(body, limit + 1)
    except zlib.error:
        return None
    is_whole = decoder.eof and not decoder.unused_data and len(data) <= limit
    return data if is_whole else None
