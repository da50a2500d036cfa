import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.core.wire import sse
from proxy.core.wire.sse import Frame, Parser, at_boundary, encode, is_error, split

BOM = b"\xef\xbb\xbf"

tokens = st.sampled_from(
    [
        *(b"\n", b"\r", b"\r\n", b"\n\n", b"\r\n\r\n", b"\r\r"),
        *(b"data: ", b"data:", b"data", b"event: ", b"event", b"id: 7", b"retry: 10", b"error: "),
        *(b": ping", b":", b" ", b"x", b"{}", b"[DONE]", "答".encode(), b"\xff", BOM, b"\xef"),
    ]
)
bodies = st.lists(tokens, max_size=40).map(b"".join)


def read_by_the_standard(body: bytes) -> list[tuple[str | None, str | None]]:
    """WHATWG HTML 9.2.6, word by word and slow; an entry for each blank line."""
    text = body.removeprefix(BOM).decode("utf-8", "surrogateescape")
    lines = re.sub("\r\n|\r", "\n", text).split("\n")[:-1]
    events: list[tuple[str | None, str | None]] = []
    data: list[str] = []
    event = ""
    for line in lines:
        if line == "":
            events.append(("\n".join(data) if data else None, event or None))
            data, event = [], ""
        elif ":" in line:
            name, value = line.split(":", 1)
            value = value.removeprefix(" ")
            data = [*data, value] if name == "data" else data
            event = value if name == "event" else event
        else:
            data = [*data, ""] if line == "data" else data
            event = "" if line == "event" else event
    return events


@settings(max_examples=100)
@given(bodies)
def test_frames_are_what_the_standard_says(body: bytes) -> None:
    frames, rest = split(body)
    assert [(frame.data, frame.event) for frame in frames] == read_by_the_standard(body)
    assert b"".join(frame.raw for frame in frames) + rest == body


@settings(max_examples=100)
@given(bodies, st.lists(st.integers(1, 9), max_size=60))
def test_frames_do_not_depend_on_how_the_bytes_arrive(body: bytes, sizes: list[int]) -> None:
    parser = Parser()
    frames: list[Frame] = []
    position = 0
    for size in [*sizes, len(body)]:
        frames += parser.feed(body[position : position + size])
        position += size
    last, rest = parser.close()
    assert (frames + last, rest) == split(body)


@given(bodies)
def test_at_boundary_is_true_only_where_no_rest_is_left(body: bytes) -> None:
    has_rest = split(body)[1] != b"" and body != BOM
    if at_boundary(body[-4:]):
        assert not has_rest
    elif not body.startswith(BOM):
        assert has_rest


@pytest.mark.parametrize(
    ("body", "frame"),
    [
        (b"data: a\n\n", Frame(b"data: a\n\n", "a")),
        (b"data:a\n\n", Frame(b"data:a\n\n", "a")),
        (b"data:  a \n\n", Frame(b"data:  a \n\n", " a ")),
        (b"data: a\r\n\r\n", Frame(b"data: a\r\n\r\n", "a")),
        (b"data: a\r\r", Frame(b"data: a\r\r", "a")),
        (b"data: a\r\n\n", Frame(b"data: a\r\n\n", "a")),
        (b"data: a\n\r\n", Frame(b"data: a\n\r\n", "a")),
        (b"data: a\r\r\n", Frame(b"data: a\r\r\n", "a")),
        (BOM + b"data: a\n\n", Frame(BOM + b"data: a\n\n", "a")),
        (BOM + b"\n", Frame(BOM + b"\n", None)),
        (b"data: a\ndata: b\r\ndata\n\n", Frame(b"data: a\ndata: b\r\ndata\n\n", "a\nb\n")),
        (b"data\n\n", Frame(b"data\n\n", "")),
        (b"data:\n\n", Frame(b"data:\n\n", "")),
        (b": ping\n\n", Frame(b": ping\n\n", None)),
        (b":\n\n", Frame(b":\n\n", None)),
        (b": ping\ndata: a\n\n", Frame(b": ping\ndata: a\n\n", "a")),
        (b"event: e\ndata: a\n\n", Frame(b"event: e\ndata: a\n\n", "a", "e")),
        (b"event: e\nevent\ndata: a\n\n", Frame(b"event: e\nevent\ndata: a\n\n", "a")),
        (b"event:e\nid: 1\nretry: 2\n\n", Frame(b"event:e\nid: 1\nretry: 2\n\n", None, "e")),
        (b"Data: a\ndatum: b\n\n", Frame(b"Data: a\ndatum: b\n\n", None)),
        ("data: 缓存\n\n".encode(), Frame("data: 缓存\n\n".encode(), "缓存")),
        (b"data: \xff\n\n", Frame(b"data: \xff\n\n", "\udcff")),
        (b"\n", Frame(b"\n", None)),
    ],
)
def test_a_frame_keeps_its_bytes_and_tells_its_fields(body: bytes, frame: Frame) -> None:
    assert split(body) == ([frame], b"")


def test_a_frame_without_its_blank_line_is_the_rest() -> None:
    assert split(b"data: a\n\ndata: b\n") == ([Frame(b"data: a\n\n", "a")], b"data: b\n")


def test_a_byte_order_mark_counts_only_at_the_start() -> None:
    frames, _ = split(b"data: a\n\n" + BOM + b"data: b\n\n")
    assert [frame.data for frame in frames] == ["a", None]


def test_only_the_first_frame_that_arrives_may_have_a_byte_order_mark() -> None:
    parser = Parser()
    assert parser.feed(BOM + b"\r") == []
    assert parser.feed(b"data: a") == [Frame(BOM + b"\r", None)]
    assert parser.feed(b"\n\n" + BOM + b"data: b\n\n") == [
        Frame(b"data: a\n\n", "a"),
        Frame(BOM + b"data: b\n\n", None),
    ]
    assert parser.feed(BOM + b"data: c\n\n") == [Frame(BOM + b"data: c\n\n", None)]


def test_a_frame_that_ends_with_cr_waits_for_a_line_feed() -> None:
    parser = Parser()
    assert parser.feed(b"data: a\r\n\r") == []
    assert parser.feed(b"\ndata: b\r\r") == [Frame(b"data: a\r\n\r\n", "a")]
    assert parser.close() == ([Frame(b"data: b\r\r", "b")], b"")


def test_a_long_event_may_come_in_small_pieces() -> None:
    parser = Parser()
    body = b"data: " + b"x" * 5000 + b"\n\n"
    frames = [frame for byte in body for frame in parser.feed(bytes([byte]))]
    assert frames == [Frame(body, "x" * 5000)]


@given(st.text(st.characters(codec="utf-8")))
def test_what_is_encoded_is_read_again(text: str) -> None:
    frames, rest = split(encode(text))
    assert rest == b""
    assert [frame.data for frame in frames] == [re.sub("\r\n|\r", "\n", text)]
    assert at_boundary(encode(text))


def test_bytes_are_encoded_as_they_are() -> None:
    assert encode(b"\xff") == encode("\udcff") == b"data: \xff\n\n"


@pytest.mark.parametrize("tail", [b"", BOM, b"\n", b"\r\n", b"x\n\n", b"x\r\n\r\n", b"x\n\r"])
def test_an_event_may_follow_a_blank_line(tail: bytes) -> None:
    assert at_boundary(tail)


@pytest.mark.parametrize("tail", [b"x", b"x\n", b"x\r", b"xx\r\n", b"data: a\r\n"])
def test_no_event_may_follow_an_open_line_or_event(tail: bytes) -> None:
    assert not at_boundary(tail)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"event: error\ndata: {}\n\n", True),
        (b'error: {"code":500}\n\n', True),
        (BOM + b"error: x\n\n", True),
        (b": note\rerror\r\r", True),
        (b'data: {"error":null}\n\n', False),
        (b"errors: x\n\n", False),
        (b": an error: none\n\n", False),
        (b"data: a\n\n", False),
    ],
)
def test_an_error_is_known_by_its_fields(body: bytes, expected: bool) -> None:
    (frame,), _ = split(body)
    assert is_error(frame) is expected


def test_the_module_cuts_a_stream_that_begins_with_blank_lines() -> None:
    frames, rest = sse.split(b"\n\r\n\rdata: a\n\n: end")
    assert [frame.raw for frame in frames] == [b"\n", b"\r\n", b"\r", b"data: a\n\n"]
    assert rest == b": end"
