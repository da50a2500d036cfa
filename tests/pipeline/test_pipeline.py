"""The way of a request: what is one question and what is another (B02, B05, B06, B20, B22, B50)."""

import json
from typing import Any

import pytest

from tests.conftest import StartProxy
from tests.fakes.answers import chat_stream, frame
from tests.fakes.client import Answer, ask, call, posting, question
from tests.fakes.clock import FakeClock
from tests.fakes.upstream import ScriptedUpstream, sse_reply

A1 = {"role": "assistant", "content": "She is 45 years old, 四十五岁."}
TOOL = {"type": "function", "function": {"name": "ls", "parameters": {"type": "object"}}}


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


async def hits(url: str, *bodies: bytes) -> list[bool]:
    return [(await ask(url, body)).is_hit for body in bodies]


async def test_spelling_the_same_json_otherwise_is_the_same_question(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    body = json.loads(question("Was kostet das? é", tools=[TOOL], stop=["a", "b"]))
    ways = [
        json.dumps(body),
        json.dumps(body, indent=2),
        json.dumps(dict(reversed(body.items())), ensure_ascii=False),
        json.dumps(body | {"temperature": 0.0, "user": "u7", "metadata": {"run": "8"}}),
    ]
    async with proxy() as app:
        assert await hits(app.url, *[way.encode() for way in ways]) == [False, True, True, True]
    assert upstream.calls == 1


SETTINGS: list[dict[str, Any]] = [
    {"temperature": 1.2},
    {"temperature": None},
    {"max_tokens": 5},
    {"seed": 1},
    {"seed": 2},
    {"stop": ["b", "a"]},
    {"stop": ["a", "b"]},
    {"n": 3},
    {"tools": [TOOL]},
    {"tools": [TOOL], "tool_choice": "none"},
    {"response_format": {"type": "json_object"}},
    {"logprobs": True, "top_logprobs": 2},
    {"logprobs": True, "top_logprobs": 5},
    {"reasoning_effort": "low"},
    {"cache_salt": "s"},
    {"x_unknown": 0},
    {"x_unknown": None, "model": "m2"},
    {"messages": [user("Why is the sky blue? ")]},
    {"messages": [user("Why is the Sky blue?")]},
    {"messages": [{"role": "system", "content": "Kurz."}, user("Why is the sky blue?")]},
    {"messages": [{"role": "user", "content": [{"type": "text", "text": "Why?"}]}]},
]


async def test_every_setting_makes_another_question(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    bodies = [question(), *(question(**setting) for setting in SETTINGS)]
    async with proxy() as app:
        assert not any(await hits(app.url, *bodies))
        assert all(await hits(app.url, *bodies))
    assert upstream.calls == len(bodies)


async def test_history_counts_to_the_letter(proxy: StartProxy) -> None:
    age = user("How old is she?")
    conversations = [
        [user("Who runs company X?"), A1, age],
        [user("Who runs company Y?"), A1, age],
        [user("Who runs company X?"), A1 | {"content": "She is 46 years old."}, age],
        [age],
        [user("Who runs company X?"), A1, age, A1, age],
    ]
    bodies = [question(messages=messages) for messages in conversations]
    async with proxy() as app:
        assert await hits(app.url, *bodies) == [False] * 5
        assert await hits(app.url, *bodies) == [True] * 5


async def test_an_agents_turns_are_questions_of_their_own(proxy: StartProxy) -> None:
    call_ = {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": "{}"}}
    asked = [user("List files"), {"role": "assistant", "content": None, "tool_calls": [call_]}]
    turns = [
        asked[:1],
        [*asked, {"role": "tool", "tool_call_id": "c1", "content": "a.txt"}],
        [*asked, {"role": "tool", "tool_call_id": "c1", "content": "b.txt"}],
        [*asked, {"role": "tool", "tool_call_id": "c2", "content": "a.txt"}],
    ]
    bodies = [question(messages=turn, tools=[TOOL]) for turn in turns]
    async with proxy() as app:
        assert await hits(app.url, *bodies) == [False] * 4
        assert await hits(app.url, *bodies) == [True] * 4


async def test_deterministic_only_leaves_everything_else_alone(proxy: StartProxy) -> None:
    cold = [question(temperature=None), question(temperature=0.1), question(temperature=False)]
    async with proxy("policy: {deterministic_only: true}") as app:
        for body in cold:
            answers = [await ask(app.url, body) for _ in range(2)]
            assert not any(answer.is_hit for answer in answers)
            assert all("detail=not-deterministic" in answer.cache for answer in answers)
        assert await hits(app.url, question(), question(temperature=0.0)) == [False, True]


BYPASSED: dict[str, tuple[str, str, list[tuple[str, str]], bytes | None]] = {
    "path": ("POST", "/v1/audio/speech", [], question()),
    "method": ("GET", "/v1/chat/completions", [], None),
    "body": ("POST", "/v1/chat/completions", [], b'{"model": 1, "model": 2}'),
    "form": ("POST", "/v1/chat/completions", [], b'{"messages": "?"}'),
    "content-type": ("POST", "/v1/chat/completions", [("Content-Type", "text/x")], question()),
    "content-coding": (
        "POST",
        "/v1/chat/completions",
        [*posting(), ("Content-Encoding", "gzip")],
        b"\x1f\x8b",
    ),
}


@pytest.mark.parametrize("detail", BYPASSED)
async def test_what_is_no_question_is_left_alone(
    proxy: StartProxy, upstream: ScriptedUpstream, detail: str
) -> None:
    method, path, fields, body = BYPASSED[detail]
    async with proxy() as app:
        answers = [
            await call(app.url, method, path, fields=fields or posting(), body=body)
            for _ in range(2)
        ]
    assert upstream.calls == 2
    fwd = "method" if detail == "method" else "bypass"
    for answer in answers:
        assert answer.cache == f"reprise; fwd={fwd}; fwd-status=200; detail={detail}"


async def test_completions_are_cached_under_any_prefix(proxy: StartProxy) -> None:
    body = json.dumps({"model": "m1", "prompt": "你好"}).encode()
    paths = ["/v1/completions", "/openai/v1/completions", "/v1/completions?api-version=2"]
    async with proxy() as app:
        for path in paths:
            assert "fwd=miss" in (await ask(app.url, body, path=path)).cache


async def test_a_repeated_request_is_judged_by_the_time_and_wishes_of_now(
    proxy: StartProxy, clock: FakeClock
) -> None:
    async def once(*fields: tuple[str, str]) -> Answer:
        return await ask(app.url, fields=fields)

    async with proxy("ttl: {exact: 100s, jitter: 0, stale_if_error: 0s}", clock=clock) as app:
        assert [(await once()).is_hit for _ in range(4)] == [False, True, True, True]
        assert not (await once(("x-cache-namespace", "n"))).is_hit
        assert not (await once(("OpenAI-Organization", "o"))).is_hit
        assert not (await ask(app.url, key="key-b")).is_hit
        assert not (await once(("Cache-Control", "no-cache"))).is_hit
        assert (await once()).is_hit
        assert (await ask(app.url, path="/v1/chat/completions?x=1")).is_hit is False
        clock.advance(101)
        assert not (await once()).is_hit
        assert (await once()).is_hit


async def test_the_origin_of_a_page_gets_its_own_answer(proxy: StartProxy) -> None:
    async with proxy() as app:
        for origin in ("https://a.example", "https://b.example"):
            fields = [("Origin", origin)]
            assert [(await ask(app.url, fields=fields)).is_hit for _ in range(2)] == [False, True]


async def test_what_does_not_convert_without_loss_is_asked_for_in_its_shape(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    frames = chat_stream(["a"])
    frames[1] = frame({"choices": [{"index": 0, "delta": {"content": "a", "odd": [1, {}]}}]})
    frames.insert(2, frame({"choices": [{"index": 0, "delta": {"odd": {"b": 1}}}]}))
    upstream.will(sse_reply(*frames))
    async with proxy() as app:
        assert await hits(app.url, question(stream=True), question(stream=True)) == [False, True]
        other = await ask(app.url)
        assert (other.text, other.is_hit) == ("answer 2", False)
        assert "detail=shape" in other.cache


@pytest.mark.parametrize("length", [20_000, 400_000])
async def test_a_long_question_is_cached_too(
    proxy: StartProxy, upstream: ScriptedUpstream, length: int
) -> None:
    body = question("长 " * length)
    async with proxy() as app:
        assert await hits(app.url, body, body, body) == [False, True, True]
        assert await hits(app.url, body.replace(b"m1", b"m2")) == [False]
    assert upstream.requests[0].body == body
