"""The lines that `reprise warm` reads: requests in any of the forms in which they are kept."""

import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Self
from urllib.parse import urlsplit

import orjson

_PATHS = {
    "messages": "/v1/chat/completions",
    "prompt": "/v1/completions",
    "input": "/v1/embeddings",
}
"""Where a bare body goes, by the member that is its question."""
_STREAMING = ("stream", "stream_options")
_ANSWER_TOKENS = 256
"""What an answer is taken to be long where nothing is known."""
_WIDE = re.compile(r"[^\x00-\x7f]")


class LineError(ValueError):
    """A line that is no request: why, and what it should be."""


class Entry(NamedTuple):
    """One request, as it is asked again."""

    target: str
    """Path and query."""
    body: Mapping[str, Any]


class Place(NamedTuple):
    """Where a request stands."""

    file: int
    offset: int
    number: int
    """Of its line, from 1 on."""


class Log:
    """Files of such lines, which stay open: a request is read again when it is asked.

    Iterating gives every line's place with its request, or with what is wrong with it.
    """

    def __init__(self, files: Sequence[Path], *, temperature: float | None) -> None:
        """Raises OSError, with the file's name, where one cannot be opened."""
        self.names = [str(path) for path in files]
        self._temperature = temperature
        with contextlib.ExitStack() as stack:
            self._files: list[BinaryIO] = [stack.enter_context(path.open("rb")) for path in files]
            self._stack = stack.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def __iter__(self) -> Iterator[tuple[Place, Entry | LineError]]:
        for number, file in enumerate(self._files):
            offset = 0
            for line, raw in enumerate(file, start=1):
                if raw.strip():
                    yield Place(number, offset, line), self._read(raw)
                offset += len(raw)

    def entry(self, place: Place) -> Entry:
        """A request. Raises LineError where the file has changed since, or OSError."""
        file = self._files[place.file]
        file.seek(place.offset)
        return read_line(file.readline(), temperature=self._temperature)

    def _read(self, raw: bytes) -> Entry | LineError:
        try:
            return read_line(raw, temperature=self._temperature)
        except LineError as error:
            return error


def read_line(raw: bytes, *, temperature: float | None = None) -> Entry:
    """The request of one line: an OpenAI Batch line, a bare body, or either as "request".

    It is asked for whole, for that serves streams too. `temperature` replaces the line's own.
    Raises LineError.
    """
    try:
        line = orjson.loads(raw)
    except ValueError as error:
        raise LineError(f"not JSON: {error}") from error
    if isinstance(line, dict) and isinstance(line.get("request"), dict):
        line = line["request"]
    if not isinstance(line, dict):
        raise LineError("must be a JSON object")
    target, body = _batch(line) if "body" in line else _bare(line)
    body = {name: body[name] for name in body if name not in _STREAMING}
    if temperature is not None and "input" not in body:
        body["temperature"] = temperature
    return Entry(target, body)


def expected_tokens(entry: Entry) -> tuple[int, int]:
    """A guess at what a request takes: of its question, and of its answer at most."""
    texts = [orjson.dumps(entry.body[name]).decode() for name in _PATHS if name in entry.body]
    wide = sum(len(_WIDE.findall(text)) for text in texts)
    question = wide + (sum(map(len, texts)) - wide) // 4 + 1
    if "input" in entry.body:
        return question, 0
    limits = [entry.body.get(name) for name in ("max_tokens", "max_completion_tokens")]
    known = [limit for limit in limits if isinstance(limit, int) and limit > 0]
    return question, min([*known, _ANSWER_TOKENS])


def _batch(line: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    body, url = line["body"], line.get("url")
    if not isinstance(body, dict):
        raise LineError('"body" must be a JSON object')
    if line.get("method", "POST") != "POST":
        raise LineError('"method" must be POST')
    if url is None:
        return _bare(body)
    if not isinstance(url, str) or not url.isascii() or not url.isprintable() or " " in url:
        raise LineError('"url" must be a path such as /v1/chat/completions')
    parts = urlsplit(url)
    if not parts.path.startswith("/"):
        raise LineError('"url" must be a path such as /v1/chat/completions')
    return parts.path + (f"?{parts.query}" if parts.query else ""), body


def _bare(body: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    for member, path in _PATHS.items():
        if member in body:
            return path, body
    raise LineError(
        'no request: must be {"method", "url", "body"}, {"request": ...}, or a body with '
        '"messages", "prompt" or "input"'
    )
