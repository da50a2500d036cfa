"""Every form in which requests are kept."""

from pathlib import Path
from typing import Any

import orjson
import pytest

from proxy.cli.warm_input import Entry, LineError, Log, expected_tokens, read_line

CHAT = {"model": "m", "messages": [{"role": "user", "content": "Q"}]}
PATH = "/v1/chat/completions"


def read(line: Any) -> Entry:
    return read_line(orjson.dumps(line))


@pytest.mark.parametrize(
    "line",
    [
        CHAT,
        CHAT | {"stream": True, "stream_options": {"include_usage": True}},
        {"custom_id": "1", "method": "POST", "url": PATH, "body": CHAT},
        {"url": f"https://api.example.org{PATH}", "body": CHAT},
        {"body": CHAT},
        {"request": CHAT},
        {"request": {"method": "POST", "url": PATH, "body": CHAT}},
        {"method": "POST", "url": PATH, "body": CHAT, "at": 1.5, "tenant": "ab", "cache": "exact"},
    ],
)
def test_one_request_in_any_form(line: Any) -> None:
    assert read(line) == Entry(PATH, CHAT)


def test_the_member_that_is_the_question_tells_where_it_goes() -> None:
    assert read({"model": "m", "prompt": "Q"}).target == "/v1/completions"
    assert read({"model": "m", "input": ["Q"]}).target == "/v1/embeddings"
    assert read({"url": "/azure/chat/completions?v=2", "body": CHAT}).target == (
        "/azure/chat/completions?v=2"
    )


def test_a_temperature_may_be_given_for_all() -> None:
    body = read_line(orjson.dumps(CHAT | {"temperature": 1.2}), temperature=0.0).body
    assert body["temperature"] == 0.0
    vector = read_line(b'{"model": "m", "input": "Q"}', temperature=0.0).body
    assert "temperature" not in vector


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b"{", "not JSON"),
        (b"[]", "must be a JSON object"),
        (b'{"model": "m"}', '"messages", "prompt" or "input"'),
        (b'{"url": "/v1/x", "body": "text"}', '"body" must be'),
        (b'{"method": "GET", "body": {"input": "Q"}}', '"method" must be POST'),
        (b'{"url": 5, "body": {"input": "Q"}}', '"url" must be a path'),
        (b'{"url": "v1/x", "body": {"input": "Q"}}', '"url" must be a path'),
        (b'{"url": "/v1/x\\r\\nHost: y", "body": {"input": "Q"}}', '"url" must be a path'),
    ],
)
def test_a_line_that_is_no_request_says_why(raw: bytes, why: str) -> None:
    with pytest.raises(LineError, match=why):
        read_line(raw)


def test_what_a_request_takes_is_guessed() -> None:
    asked, answered = expected_tokens(Entry(PATH, {"messages": "x" * 400, "max_tokens": 7}))
    assert 100 <= asked <= 105
    assert answered == 7
    wide, answered = expected_tokens(Entry(PATH, {"messages": "你" * 400}))
    assert wide > 400
    assert answered == 256
    assert expected_tokens(Entry("/v1/embeddings", {"input": "x"}))[1] == 0


def test_a_log_is_read_line_by_line_and_again(tmp_path: Path) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    first.write_bytes(b'\n{"prompt": "one"}\n\n{broken\n')
    second.write_bytes(b'{"prompt": "two"}')  # without an end
    with Log([first, second], temperature=0.5) as log:
        found = list(log)
        assert [place[::2] for place, _ in found] == [(0, 2), (0, 4), (1, 1)]
        assert isinstance(found[1][1], LineError)
        assert log.entry(found[2][0]).body == {"prompt": "two", "temperature": 0.5}
        assert log.entry(found[0][0]).body["prompt"] == "one"
        with pytest.raises(LineError):
            log.entry(found[1][0])
    with pytest.raises(FileNotFoundError):
        Log([first, tmp_path / "none"], temperature=None)
