"""What is asked and what must come back, the same for every system."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

CHUNKS = 50
COUNTER_DIGITS = 12

_ID = "chatcmpl-9xK2mQv7bTnR4sWc1eYh0LpJ"
_MODEL = "bench-model-7b-instruct"
_CREATED = 1_764_500_000
_REQUEST_BYTES = 1024
_ANSWER_BYTES = 600
_COUNTER = "@" * COUNTER_DIGITS
_SYSTEM_PROMPT = "You are a helpful assistant of a support desk. Answer in full sentences."
_PROSE = "The parcel left our warehouse on Monday and the carrier has scanned it twice since then. "


def _compact(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def _chat_body(*, stream: bool) -> bytes:
    """A chat request of 1 KB with a place for a counter in its prompt."""

    def body(prose: str) -> bytes:
        # two questions: `stream` is no part of a key, and each shape is to be recorded as it came
        kind = "Stream" if stream else "Ticket"
        question = f"{kind} {_COUNTER}: {prose}Where is it now?"
        messages = [
            {"role": "system", "content": _SYSTEM_PROMPT},
            {"role": "user", "content": question},
        ]
        return _compact(
            {"model": _MODEL, "messages": messages, "temperature": 0.2, "stream": stream}
        )

    missing = _REQUEST_BYTES - len(body(""))
    return body((_PROSE * 20)[:missing])


def asked_body(text: str, system: str = _SYSTEM_PROMPT) -> bytes:
    """A short chat request; texts are compared by meaning under the same system prompt."""
    messages = [
        {"role": "system", "content": system},
        {"role": "user", "content": text},
    ]
    return _compact({"model": _MODEL, "messages": messages, "temperature": 0.2, "stream": False})


def _chat_answer() -> bytes:
    """A chat.completion of 600 bytes."""

    def answer(text: str) -> bytes:
        message = {"role": "assistant", "content": text, "refusal": None}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
        usage = {"prompt_tokens": 231, "completion_tokens": 49, "total_tokens": 280}
        return _compact(
            {
                "id": _ID,
                "object": "chat.completion",
                "created": _CREATED,
                "model": _MODEL,
                "choices": [choice],
                "usage": usage,
                "system_fingerprint": "fp_bench",
            }
        )

    missing = _ANSWER_BYTES - len(answer(""))
    return answer((_PROSE * 20)[:missing])


def _chat_frames() -> tuple[bytes, ...]:
    """The answer as 50 SSE frames, [DONE] travelling with the last."""
    words = (_PROSE * 4).split(" ")
    deltas: list[dict[str, str]] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": f"{word} "} for word in words[: CHUNKS - 2]]
    deltas.append({})
    frames = []
    for delta in deltas:
        reason = None if delta else "stop"
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
        chunk = {
            "id": _ID,
            "object": "chat.completion.chunk",
            "created": _CREATED,
            "model": _MODEL,
            "choices": [choice],
        }
        frames.append(b"data: " + _compact(chunk) + b"\n\n")
    frames[-1] += b"data: [DONE]\n\n"
    return tuple(frames)


CHAT_ANSWER = _chat_answer()
CHAT_FRAMES = _chat_frames()
MODELS_ANSWER = _compact(
    {"object": "list", "data": [{"id": _MODEL, "object": "model", "owned_by": "bench"}]}
)


@dataclass(frozen=True, slots=True)
class Work:
    """One kind of request and its only right answer."""

    name: str
    prefix: bytes
    """The request up to the counter; the whole of it where there is none."""
    suffix: bytes
    """What follows the counter; empty where every request is the same."""
    answer: bytes
    is_stream: bool = False

    @property
    def varies(self) -> bool:
        """Whether each request differs, so that no cache can know it."""
        return bool(self.suffix)

    def request(self, number: int) -> bytes:
        """The bytes to send."""
        if not self.suffix:
            return self.prefix
        return b"%b%0*d%b" % (self.prefix, COUNTER_DIGITS, number, self.suffix)


class Requests(Protocol):
    """Work as the load generator sees it."""

    @property
    def answer(self) -> bytes:
        """The body of every right answer."""

    def request(self, number: int) -> bytes:
        """The bytes to send."""


@dataclass(frozen=True, slots=True)
class Worded:
    """Questions in turns, each in its own words; when all were asked, blanks around them differ.

    So no request is ever repeated: its key is new, and no alias of an earlier one answers it. What
    is compared by meaning is without outer blanks.
    """

    texts: Sequence[str]
    answer: bytes

    def request(self, number: int) -> bytes:
        """The bytes to send."""
        turn, place = divmod(number, len(self.texts))
        blanks = f"{turn:b}".translate(BLANKS)
        body = asked_body(self.texts[place] + blanks)
        return _head("POST", "/v1/chat/completions", len(body)) + body


BLANKS = {ord("0"): " ", ord("1"): "\n"}
"""What stands for the digits of a binary number, where a text shall differ in blanks alone."""


def worded(path: str) -> Worded:
    """What a file asks: a JSON array of texts."""
    return Worded(json.loads(Path(path).read_text("utf-8")), CHAT_ANSWER)


def request_body(*, stream: bool, number: int = 0) -> bytes:
    """The body of a chat request, as a hit sends it when the number is 0."""
    digits = f"{number:0{COUNTER_DIGITS}d}"
    return _chat_body(stream=stream).replace(_COUNTER.encode(), digits.encode())


def _head(method: str, target: str, length: int | None) -> bytes:
    lines = [
        f"{method} {target} HTTP/1.1",
        "Host: 127.0.0.1",
        "Authorization: Bearer sk-bench-0123456789abcdef",
        "Accept: application/json",
        "User-Agent: OpenAI/Python 2.8.1",
    ]
    if length is not None:
        lines += ["Content-Type: application/json", f"Content-Length: {length}"]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def chat_request(*, stream: bool, number: int = 0) -> bytes:
    """A whole chat request."""
    body = request_body(stream=stream, number=number)
    return _head("POST", "/v1/chat/completions", len(body)) + body


def _hit(name: str, answer: bytes, *, stream: bool) -> Work:
    return Work(name, chat_request(stream=stream), b"", answer, is_stream=stream)


def _miss(name: str, answer: bytes, *, stream: bool) -> Work:
    return _counted(name, _chat_body(stream=stream), answer, stream=stream)


def _counted(name: str, body: bytes, answer: bytes, *, stream: bool = False) -> Work:
    before, after = body.split(_COUNTER.encode())
    head = _head("POST", "/v1/chat/completions", len(body))
    return Work(name, head + before, after, answer, is_stream=stream)


def _claim_body(text: str) -> bytes:
    return asked_body(text, "You answer for the claims desk.")


WORKS = {
    work.name: work
    for work in (
        _hit("hit_json", CHAT_ANSWER, stream=False),
        _hit("hit_sse", b"".join(CHAT_FRAMES), stream=True),
        _miss("miss_json", CHAT_ANSWER, stream=False),
        _miss("miss_sse", b"".join(CHAT_FRAMES), stream=True),
        # near to each other, but for the number: compared, and never served
        _counted("miss_en", _claim_body(f"How do I file claim {_COUNTER}?"), CHAT_ANSWER),
        _counted("miss_zh", _claim_body(f"怎么提交第{_COUNTER}号申请？"), CHAT_ANSWER),
        Work("pass", _head("GET", "/v1/models", None), b"", MODELS_ANSWER),
    )
}
