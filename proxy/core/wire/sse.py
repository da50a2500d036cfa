"""text/event-stream bytes into frames and back (WHATWG HTML, 9.2 server-sent events).

Frames are cut without touching a byte: the `raw` of all frames and the rest joined give the input.
How the input was split into pieces makes no difference to the frames.
"""

import re
from typing import NamedTuple

_BOM = b"\xef\xbb\xbf"

# Atomic, as a CRLF must never be read as two line ends by backtracking. The blank line begins with
# a set of bytes though a simpler pattern says the same: it is found about four times faster.
_LINE_END = re.compile(rb"(?>\r\n|\n|\r)")
_BLANK_LINE = re.compile(rb"[\r\n](?:(?<=\n)|(?<=\r)\n?+)(?>\r\n|\n|\r)")
_LONGEST_BOUNDARY = 4  # CRLF CRLF
_TAIL_LENGTH = _LONGEST_BOUNDARY + 1  # so that a BOM and a blank line are still looked at whole
_BOUNDARIES = (b"\n\n", b"\r\r", b"\n\r", b"\n\r\n", b"\r\r\n")

_ERROR_FIELD = re.compile(rb"(?:\A(?:\xef\xbb\xbf)?|[\r\n])error[:\r\n]")


class Frame(NamedTuple):
    """One event of a stream, with the bytes that made it.

    The `raw` of all frames of a stream joined gives the stream's bytes again.
    """

    raw: bytes
    data: str | None
    """The data lines joined by a line feed; None for a frame without any (a comment).

    Bytes that are not UTF-8 are kept as lone surrogates (PEP 383), which no JSON encoder takes.
    """
    event: str | None = None
    """The last `event` field; None where absent or empty."""


class Parser:
    """Cuts a stream into frames as its bytes arrive."""

    def __init__(self) -> None:
        self._pending: list[bytes] = []
        self._tail = b""
        self._is_first = True

    def feed(self, piece: bytes) -> list[Frame]:
        """Take the next bytes; return the frames that they complete.

        A frame whose last byte is CR waits for the next piece, as an LF would belong to it.
        """
        border = self._tail + piece
        # Joining only when a boundary is near keeps one event of 300 MB in small pieces linear.
        if len(self._tail) == _TAIL_LENGTH and _BLANK_LINE.search(border) is None:
            self._pending.append(piece)
            self._tail = border[-_TAIL_LENGTH:]
            return []
        frames, rest = _cut(self._take(piece), is_first=self._is_first, is_last=False)
        self._is_first = self._is_first and not frames
        self._pending.append(rest)
        self._tail = rest[-_TAIL_LENGTH:]
        return frames

    def close(self) -> tuple[list[Frame], bytes]:
        """End the stream: a frame that waited for an LF, and the incomplete rest."""
        return _cut(self._take(b""), is_first=self._is_first, is_last=True)

    def _take(self, piece: bytes) -> bytes:
        whole = b"".join([*self._pending, piece])
        self._pending.clear()
        return whole


def split(body: bytes) -> tuple[list[Frame], bytes]:
    """Cut a whole stream into its frames and the incomplete rest after the last blank line."""
    if b"\r" not in body and b"\n\n\n" not in body and not body.startswith((b"\n", _BOM)):
        # As nearly every server sends it: then a blank line is just two line feeds.
        *pieces, rest = body.split(b"\n\n")
        return [_parse(piece + b"\n\n", piece) for piece in pieces], rest
    return _cut(body, is_first=True, is_last=True)


def encode(data: bytes | str) -> bytes:
    """Write one event with this data and no other field."""
    text = data.encode("utf-8", "surrogateescape") if isinstance(data, str) else data
    lines = _LINE_END.split(text)
    return b"".join([b"data: " + line + b"\n" for line in lines]) + b"\n"


def at_boundary(tail: bytes) -> bool:
    """Say whether a stream that ends with `tail` may be followed by a new event.

    `tail` is the last four bytes or more, or all of a shorter stream.
    """
    if len(tail) < _LONGEST_BOUNDARY and tail in (b"", b"\n", b"\r", b"\r\n", _BOM):
        return True
    return tail.endswith(_BOUNDARIES)


def is_error(frame: Frame) -> bool:
    """Say whether the frame calls itself an error by its fields, whatever its data says.

    `event: error` is common; a line `error: {...}` was llama.cpp's way for some time.
    """
    if frame.event == "error":
        return True
    return b"error" in frame.raw and _ERROR_FIELD.search(frame.raw) is not None


def _cut(body: bytes, *, is_first: bool, is_last: bool) -> tuple[list[Frame], bytes]:
    frames: list[Frame] = []
    start = 0
    size = len(body)
    bom = len(_BOM) if is_first and body.startswith(_BOM) else 0
    while start < size:
        # A line end where a frame begins is a blank line by itself.
        blank = _LINE_END.match(body, start + bom) or _BLANK_LINE.search(body, start + bom)
        if blank is None:
            break
        end = blank.end()
        if end == size and not is_last and body[end - 1] == 0x0D:
            break
        frames.append(_parse(body[start:end], body[start + bom : blank.start()]))
        start = end
        bom = 0
    return frames, body[start:]


def _parse(raw: bytes, fields: bytes) -> Frame:
    """Read the fields of a frame, which are its bytes without BOM and blank line."""
    if fields.startswith(b"data: ") and b"\n" not in fields and b"\r" not in fields:
        return Frame(raw, fields[6:].decode("utf-8", "surrogateescape"), None)
    data: list[bytes] = []
    event = b""
    for line in fields.splitlines():
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            data.append(value)
        elif name == b"event":
            event = value
    return Frame(
        raw,
        b"\n".join(data).decode("utf-8", "surrogateescape") if data else None,
        event.decode("utf-8", "surrogateescape") or None,
    )
