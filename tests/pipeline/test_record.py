"""Which answers are kept, in both shapes (B14, B16, B20-B24, B29)."""

import gzip
import json
import zlib
from typing import Any

import h11
import pytest

from proxy.core.cache.value import StoredResponse
from proxy.core.classify import Lookup
from proxy.core.policy import Policy
from proxy.pipeline.record import Recorder, Recording
from proxy.store.memory import MemoryStore
from proxy.tasks import Tasks
from tests.conftest import StartProxy
from tests.fakes.answers import DONE, chat_answer, chat_stream, frame, usage
from tests.fakes.client import Answer, Pairs, ask, question
from tests.fakes.clock import FakeClock
from tests.fakes.upstream import End, Reply, ScriptedUpstream, error_reply, json_reply, sse_reply
from tests.pipeline.plans import plan

PLAIN = question()
STREAM = question(stream=True)
CALL = {"index": 0, "id": "c1", "type": "function", "function": {"name": "ls", "arguments": "{}"}}


async def twice(url: str, body: bytes, fields: Pairs = ()) -> tuple[Answer, Answer]:
    return await ask(url, body, fields=fields), await ask(url, body, fields=fields)


def answers(*reasons: str | None, content: str | None = "text", **message: Any) -> dict[str, Any]:
    """A document with a choice for each finish reason."""
    return chat_answer("") | {
        "choices": [
            {
                "index": index,
                "message": {"role": "assistant", "content": content} | message,
                "finish_reason": reason,
            }
            for index, reason in enumerate(reasons)
        ]
    }


STORED = {
    "stop": json_reply(answers("stop")),
    "tool calls": json_reply(answers("tool_calls", content=None, tool_calls=[CALL])),
    "function call": json_reply(
        answers("function_call", content=None, function_call={"name": "f", "arguments": "{}"})
    ),
    "refusal": json_reply(answers("stop", content=None, refusal="No.")),
    "three choices": json_reply(answers("stop", "stop", "tool_calls", tool_calls=[CALL])),
    "at the limit of tokens": json_reply(answers("stop") | {"usage": usage(1, 5)}),
    "null error": json_reply(answers("stop") | {"error": None}),
    "charset": Reply(
        fields=[("Content-Type", "Application/JSON; charset=utf-8")],
        steps=[json.dumps(answers("stop")).encode()],
    ),
}
NOT_STORED = {
    "length": json_reply(answers("length")),
    "length, empty": json_reply(answers("length", content="")),
    "content filter": json_reply(answers("content_filter")),
    "no reason": json_reply(answers(None)),
    "unknown reason": json_reply(answers("abort")),
    "one of two cut": json_reply(answers("stop", "length")),
    "no choices": json_reply(answers()),
    "empty content": json_reply(answers("stop", content="")),
    "null content": json_reply(answers("stop", content=None)),
    "error member": json_reply(b'{"error": {"message": "overloaded"}}'),
    "error beside choices": json_reply(answers("stop") | {"error": {"message": "x"}}),
    "half a document": json_reply(json.dumps(answers("stop")).encode()[:-1]),
    "a list": json_reply(b"[]"),
    "no body": json_reply(b""),
    "no-store": json_reply(answers("stop"), fields=[("Cache-Control", "no-store, private")]),
    "text": Reply(fields=[("Content-Type", "text/plain")], steps=[b"stop"]),
    "no type": Reply(steps=[json.dumps(answers("stop")).encode()], length=None),
    "a stream unasked": sse_reply(*chat_stream(["a"])),
    "brotli": json_reply(answers("stop"), fields=[("Content-Encoding", "br")]),
    "two codings": json_reply(answers("stop"), fields=[("Content-Encoding", "gzip, gzip")]),
    "not gzip after all": json_reply(answers("stop"), fields=[("Content-Encoding", "gzip")]),
}


@pytest.mark.parametrize("reply", STORED.values(), ids=STORED)
async def test_a_whole_answer_is_stored(
    proxy: StartProxy, upstream: ScriptedUpstream, reply: Reply
) -> None:
    upstream.will(reply)
    async with proxy() as app:
        first, again = await twice(app.url, PLAIN)
    assert again.is_hit
    assert again.body == first.body == b"".join(s for s in reply.steps if isinstance(s, bytes))
    assert again.header("Content-Type") == first.header("Content-Type")


@pytest.mark.parametrize("reply", NOT_STORED.values(), ids=NOT_STORED)
async def test_anything_else_is_passed_on_and_not_stored(
    proxy: StartProxy, upstream: ScriptedUpstream, reply: Reply
) -> None:
    upstream.will(reply)
    async with proxy() as app:
        first, again = await twice(app.url, PLAIN)
    assert first.body == b"".join(step for step in reply.steps if isinstance(step, bytes))
    assert "stored" not in first.cache
    assert not again.is_hit
    assert again.text == "answer 2"


STREAMS_NOT_STORED = {
    "error frame": [frame({"error": {"message": "x"}}), DONE],
    "error after deltas": [*chat_stream(["a"])[:2], frame({"error": {"message": "x"}}), DONE],
    "error line": [*chat_stream(["a"])[:2], b'error: {"code": 500}\n\n', DONE],
    "error event": [b'event: error\ndata: {"m": 1}\n\n', *chat_stream(["a"])],
    "no done": chat_stream(["a"])[:-1],
    "no finish reason": chat_stream(["a"], finish_reason=None),
    "length": chat_stream(["a"], finish_reason="length"),
    "nothing said": chat_stream([]),
    "done only": [DONE],
    "half a frame": [*chat_stream(["a"]), b"data: {"],
    "more after done": [*chat_stream(["a"]), *chat_stream(["b"])],
    "not json": [b"data: hello\n\n", *chat_stream(["a"])],
    "nothing": [],
}


@pytest.mark.parametrize("frames", STREAMS_NOT_STORED.values(), ids=STREAMS_NOT_STORED)
async def test_a_stream_that_is_not_a_whole_answer_is_passed_on_and_not_stored(
    proxy: StartProxy, upstream: ScriptedUpstream, frames: list[bytes]
) -> None:
    upstream.will(sse_reply(*frames))
    async with proxy() as app:
        first, again = await twice(app.url, STREAM)
    assert first.body == b"".join(frames)
    assert not again.is_hit
    assert again.text == "answer 2"


STREAMS_STORED = {
    "tool calls": chat_stream(
        [
            {"tool_calls": [CALL | {"function": {"name": "ls", "arguments": '{"a'}}]},
            {"tool_calls": [{"index": 0, "function": {"arguments": '": 1}'}}]},
        ],
        finish_reason="tool_calls",
    ),
    "unknown and falsy fields": [
        frame({"choices": [{"index": 0, "delta": {"reasoning_content": "думаю"}}]}),
        frame({"choices": [{"index": 0, "delta": {"content": ""}}], "x_vendor": {"a": 0}}),
        frame({"choices": [{"index": 0, "delta": {"content": "hi"}, "finish_reason": "stop"}]}),
        frame({"choices": [], "usage": usage() | {"prompt_tokens_details": {"cached_tokens": 0}}}),
        DONE,
    ],
    "carriage returns": [part.replace(b"\n", b"\r\n") for part in chat_stream(["a"])],
    "comments and fields": [b": hi\n\n", b"id: 7\nretry: 1\n", *chat_stream(["a"]), b":\n\n"],
    "a byte order mark": [b"\xef\xbb\xbf", *chat_stream(["a"])],
}


@pytest.mark.parametrize("frames", STREAMS_STORED.values(), ids=STREAMS_STORED)
async def test_a_whole_stream_comes_back_byte_for_byte(
    proxy: StartProxy, upstream: ScriptedUpstream, frames: list[bytes]
) -> None:
    upstream.will(sse_reply(*frames))
    async with proxy() as app:
        first, again = await twice(app.url, STREAM)
    assert again.is_hit
    assert again.body == first.body == b"".join(frames)


@pytest.mark.parametrize(
    "status", [400, 401, 404, 408, 409, 413, 422, 429, 500, 502, 503, 307, 204, 206, 201]
)
@pytest.mark.parametrize("body", [PLAIN, STREAM], ids=["json", "sse"])
async def test_only_a_200_is_stored(
    proxy: StartProxy, upstream: ScriptedUpstream, status: int, body: bytes
) -> None:
    refusal = error_reply(status, fields=[("Retry-After", "2")])
    whole = json_reply(chat_answer("odd"), status=status)
    upstream.will(*[Reply(status=204) if status == 204 else refusal, whole][: 1 + (status == 201)])
    async with proxy() as app:
        first, second = await twice(app.url, body)
        third, fourth = await twice(app.url, body)
    assert first.status == status
    assert not second.is_hit
    assert (third.status, third.is_hit) == (200, status != 201)
    assert (fourth.status, fourth.is_hit) == (200, True)


@pytest.mark.parametrize("coding", ["gzip", "x-gzip", "deflate"])
@pytest.mark.parametrize("body", [PLAIN, STREAM], ids=["json", "sse"])
async def test_a_coded_answer_is_passed_on_coded_and_stored_plain(
    proxy: StartProxy, upstream: ScriptedUpstream, coding: str, body: bytes
) -> None:
    is_stream = body is STREAM
    plain = b"".join(chat_stream(["压缩"])) if is_stream else json.dumps(answers("stop")).encode()
    coded = zlib.compress(plain) if coding == "deflate" else gzip.compress(plain)
    content_type = "text/event-stream" if is_stream else "application/json"
    fields = [("Content-Type", content_type), ("Content-Encoding", coding)]
    upstream.will(Reply(fields=fields, steps=[coded[:9], coded[9:]]))
    async with proxy() as app:
        first = await ask(app.url, body, fields=[("Accept-Encoding", coding)])
        again = await ask(app.url, body)
    assert (first.header("Content-Encoding"), first.body) == (coding, coded)
    assert again.is_hit
    assert (again.header("Content-Encoding"), again.body) == (None, plain)


@pytest.mark.parametrize("end", [End.FIN, End.RST])
@pytest.mark.parametrize("stream", [False, True])
async def test_what_was_cut_is_not_stored_though_it_looks_whole(
    proxy: StartProxy, upstream: ScriptedUpstream, end: End, *, stream: bool
) -> None:
    content_type = "text/event-stream" if stream else "application/json"
    body = chat_stream(["a"]) if stream else [json.dumps(answers("stop")).encode()]
    upstream.will(Reply(fields=[("Content-Type", content_type)], steps=[*body, b""], end=end))
    async with proxy() as app:
        with pytest.raises(h11.RemoteProtocolError):
            await ask(app.url, question(stream=stream))
        assert not (await ask(app.url, question(stream=stream))).is_hit


async def test_ten_thousand_choices_do_no_harm(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    upstream.will(json_reply(answers(*["stop"] * 10_000)))
    async with proxy("memory: {max_entry_bytes: 64MiB}") as app:
        first, _ = await twice(app.url, PLAIN)
    assert len(first.json()["choices"]) == 10_000


class Recorded:
    """A recorder over a store, and what it told."""

    def __init__(self, *, max_entry_bytes: int = 1 << 20) -> None:
        self.store = MemoryStore(max_bytes=1 << 20, max_entries=10, max_entry_bytes=max_entry_bytes)
        self.told: list[tuple[Lookup, StoredResponse]] = []
        self.verdicts: list[str] = []
        self.clock = FakeClock()
        self.recorder = Recorder(
            store=self.store,
            clock=self.clock,
            chance=lambda: 0.5,
            max_bytes=1 << 20,
            on_verdict=self.verdicts.append,
            on_stored=lambda plan, stored: self.told.append((plan, stored)),
            tasks=Tasks(lambda name, error: None),
        )

    def record(self, asked: Lookup, *, body: bytes | None = None, took: float = 3.5) -> bool:
        """Record an answer that was asked for so many seconds ago; whether it is kept."""
        done: list[bool] = []
        now = self.clock.now()
        values = {b"content-type": b"application/json"}
        answer = json.dumps(chat_answer("text")).encode() if body is None else body
        self.recorder.record(Recording(asked, values, answer, now - took, now, (), done.append))
        assert len(done) == 1
        return done[0]


async def test_who_learns_is_told_of_what_is_stored_and_for_which_question() -> None:
    recorded, asked = Recorded(), plan()
    assert recorded.record(asked)
    ((question_, stored),) = recorded.told
    assert question_ is asked
    assert recorded.store.peek(asked.key.exact) is stored
    assert (stored.duration, stored.created) == (3.5, recorded.clock.now())


async def test_a_clock_that_was_put_back_makes_no_negative_duration() -> None:
    recorded = Recorded()
    recorded.record(plan(), took=-5.0)
    assert recorded.told[0][1].duration == 0.0


@pytest.mark.parametrize(
    ("asked", "verdict"),
    [
        (plan(policy=Policy(ttl=0.0)), "ttl"),
        (plan("Q", ("x-cache-ttl", "0")), "ttl"),
    ],
)
async def test_who_learns_is_not_told_of_what_is_not_stored(asked: Lookup, verdict: str) -> None:
    recorded = Recorded()
    assert not recorded.record(asked)
    assert (recorded.told, recorded.verdicts) == ([], [verdict])


async def test_who_learns_is_not_told_of_what_has_no_room_or_is_no_answer() -> None:
    recorded = Recorded(max_entry_bytes=10)
    assert not recorded.record(plan())
    assert not recorded.record(plan(), body=b"{}")
    assert (recorded.told, recorded.verdicts) == ([], ["bounds", "empty"])


async def test_who_learns_is_not_told_of_what_was_overtaken() -> None:
    recorded = Recorded()
    assert recorded.record(plan(), took=0.0)
    recorded.clock.advance(1.0)
    assert not recorded.record(plan(), took=5.0)
    assert (len(recorded.told), recorded.verdicts) == (1, ["stored", "overtaken"])
