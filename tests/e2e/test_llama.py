"""The proxy before a real llama.cpp server: what a client gets equals what the server said."""

import asyncio
import json
import signal
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from tests.conftest import Serve, StartProxy

DEADLINE = 30.0
CHAT = "/v1/chat/completions"
LONG_STORY = "Tell a story of a fox and a goose. " * 400


def question(text: str, **members: Any) -> dict[str, Any]:
    """A chat request that the model answers shortly, and always alike."""
    messages = [{"role": "user", "content": text}]
    return {"model": "smollm2", "messages": messages, "temperature": 0} | members


WEEK = question("How many days are in a week?")
SUM = question("2 + 2 = ?")
COLOURS = question("Name three primary colours.")
SNOW = question(
    "雪是什么颜色？",
    response_format={
        "type": "json_schema",
        "json_schema": {
            "name": "colour",
            "schema": {
                "type": "object",
                "properties": {"answer": {"type": "string", "enum": ["白色", "黑色"]}},
                "required": ["answer"],
            },
        },
    },
)
STREAM = {"stream": True, "stream_options": {"include_usage": True}}


@pytest.fixture
async def direct(llama: str) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the server itself."""
    async with httpx.AsyncClient(base_url=llama, timeout=DEADLINE) as client:
        yield client


@pytest.fixture
async def client(llama: str, proxy: StartProxy) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the proxy before it."""
    async with (
        proxy(upstream=llama) as app,
        httpx.AsyncClient(base_url=app.url, timeout=DEADLINE) as client,
    ):
        yield client


def is_hit(response: httpx.Response) -> bool:
    """Whether the cache answered."""
    return response.headers["cache-status"].startswith("reprise; hit")


def chunks(response: httpx.Response) -> list[dict[str, Any]]:
    """The JSON of every event of a stream."""
    lines = response.text.splitlines()
    return [json.loads(line[6:]) for line in lines if line.startswith("data: {")]


def said(response: httpx.Response, index: int = 0) -> str:
    """The text of one choice, whichever the shape."""
    if response.headers["content-type"].startswith("application/json"):
        return str(response.json()["choices"][index]["message"]["content"])
    return "".join(
        choice["delta"].get("content") or ""
        for chunk in chunks(response)
        for choice in chunk["choices"]
        if choice["index"] == index
    )


@pytest.mark.parametrize("shape", [{}, {"stream": True}, STREAM], ids=["json", "sse", "usage"])
@pytest.mark.parametrize("body", [WEEK, SNOW], ids=["en", "zh"])
async def test_a_repeated_question_gets_the_same_bytes(
    client: httpx.AsyncClient, body: dict[str, Any], shape: dict[str, Any]
) -> None:
    first = await client.post(CHAT, json=body | shape)
    again = await client.post(CHAT, json=body | shape)
    assert not is_hit(first)
    assert is_hit(again)
    assert again.content == first.content
    assert again.headers["content-type"] == first.headers["content-type"]
    assert said(first)


@pytest.mark.parametrize(
    "extra",
    [{}, {"logprobs": True, "top_logprobs": 2}, {"n": 2}],
    ids=["plain", "logprobs", "n2"],
)
async def test_a_stream_gives_the_json_that_the_server_would_have_given(
    client: httpx.AsyncClient, direct: httpx.AsyncClient, extra: dict[str, Any]
) -> None:
    wanted = (await direct.post(CHAT, json=SUM | extra)).json()
    streamed = await client.post(CHAT, json=SUM | extra | STREAM)
    plain = await client.post(CHAT, json=SUM | extra)
    assert is_hit(plain)
    got = plain.json()
    assert got.keys() == wanted.keys()
    assert got["object"] == "chat.completion"
    assert got["usage"] == chunks(streamed)[-1]["usage"]
    assert got["usage"]["completion_tokens"] == wanted["usage"]["completion_tokens"]
    assert len(got["choices"]) == len(wanted["choices"])
    for mine, theirs in zip(got["choices"], wanted["choices"], strict=True):
        assert mine.keys() == theirs.keys()
        assert mine["message"] == theirs["message"]
        assert mine["finish_reason"] == theirs["finish_reason"]
        assert _tokens(mine) == _tokens(theirs)


def _tokens(choice: dict[str, Any]) -> list[str]:
    # The server names the token that ends an answer in JSON (as ""), but not in a stream.
    tokens = (choice.get("logprobs") or {}).get("content", [])
    return [token["token"] for token in tokens if token["token"]]


@pytest.mark.parametrize("extra", [{}, {"logprobs": True}, {"n": 2}], ids=["", "logprobs", "n2"])
async def test_json_gives_a_stream_that_says_the_same(
    client: httpx.AsyncClient, extra: dict[str, Any]
) -> None:
    plain = await client.post(CHAT, json=SUM | extra)
    streamed = await client.post(CHAT, json=SUM | extra | STREAM)
    assert is_hit(streamed)
    assert streamed.headers["content-type"].startswith("text/event-stream")
    assert streamed.text.endswith("data: [DONE]\n\n")
    for choice in plain.json()["choices"]:
        assert said(streamed, choice["index"]) == choice["message"]["content"]
    assert chunks(streamed)[-1]["usage"] == plain.json()["usage"]


async def test_completions_are_cached_too(client: httpx.AsyncClient) -> None:
    body = {"model": "smollm2", "prompt": "Monday, Tuesday,", "temperature": 0, "stop": [".", "\n"]}
    first = await client.post("/v1/completions", json=body)
    again = await client.post("/v1/completions", json=body)
    assert first.json()["choices"][0]["finish_reason"] == "stop"
    assert is_hit(again)
    assert again.content == first.content


async def test_identical_streams_at_once_share_one_call(client: httpx.AsyncClient) -> None:
    async with asyncio.TaskGroup() as group:
        asked = [group.create_task(client.post(CHAT, json=COLOURS | STREAM)) for _ in range(4)]
    answers = [task.result() for task in asked]
    assert len({answer.content for answer in answers}) == 1
    assert sum("collapsed" in answer.headers["cache-status"] for answer in answers) == 3


@pytest.mark.parametrize("shape", [{}, STREAM], ids=["json", "sse"])
async def test_an_overlong_prompt_is_refused_as_by_the_server_and_not_stored(
    client: httpx.AsyncClient, direct: httpx.AsyncClient, shape: dict[str, Any]
) -> None:
    wanted = await direct.post(CHAT, json=question(LONG_STORY) | shape)
    first = await client.post(CHAT, json=question(LONG_STORY) | shape)
    again = await client.post(CHAT, json=question(LONG_STORY) | shape)
    assert wanted.json()["error"]["type"] == "exceed_context_size_error"
    for response in (first, again):
        assert response.status_code == 400
        assert response.content == wanted.content
        assert response.headers["content-type"] == wanted.headers["content-type"]
        assert not is_hit(response)
        assert "stored" not in response.headers["cache-status"]


async def test_an_answer_cut_by_max_tokens_is_not_stored(client: httpx.AsyncClient) -> None:
    body = COLOURS | {"max_tokens": 3}
    first = await client.post(CHAT, json=body)
    again = await client.post(CHAT, json=body)
    assert first.json()["choices"][0]["finish_reason"] == "length"
    assert not is_hit(again)


@pytest.mark.parametrize("path", ["/health", "/v1/nothing/here?x=%20", "/nothing", "/"])
async def test_other_paths_answer_as_the_server_does(
    client: httpx.AsyncClient, direct: httpx.AsyncClient, path: str
) -> None:
    wanted = await direct.get(path)
    got = await client.get(path)
    assert got.status_code == wanted.status_code
    assert got.content == wanted.content
    assert got.headers["cache-status"].startswith("reprise; fwd=bypass")
    for name in wanted.headers.keys() - {"connection", "keep-alive", "content-length", "date"}:
        assert got.headers.get_list(name) == wanted.headers.get_list(name), name


async def test_models_and_tokens_pass_through(
    client: httpx.AsyncClient, direct: httpx.AsyncClient
) -> None:
    models = (await client.get("/v1/models")).json()
    assert [model["id"] for model in models["data"]] == ["smollm2"]
    text = {"content": "one two three"}
    wanted = await direct.post("/tokenize", json=text)
    assert (await client.post("/tokenize", json=text)).content == wanted.content


async def test_malformed_json_is_the_servers_to_refuse(
    client: httpx.AsyncClient, direct: httpx.AsyncClient
) -> None:
    as_json = {"Content-Type": "application/json"}
    wanted = await direct.post(CHAT, content=b'{"messages": [', headers=as_json)
    got = await client.post(CHAT, content=b'{"messages": [', headers=as_json)
    assert got.status_code == wanted.status_code >= 400
    assert got.json().keys() == wanted.json().keys()
    assert "detail=body" in got.headers["cache-status"]


async def test_a_client_that_leaves_does_not_lose_the_answer_for_the_next(
    client: httpx.AsyncClient,
) -> None:
    async with client.stream("POST", CHAT, json=COLOURS | STREAM) as response:
        await anext(response.aiter_bytes())
    again = await client.post(CHAT, json=COLOURS | STREAM)
    assert is_hit(again) or "collapsed" in again.headers["cache-status"]
    assert said(again).startswith("The primary colours")


async def test_a_client_that_leaves_frees_the_servers_slot_where_so_configured(
    llama: str, proxy: StartProxy, direct: httpx.AsyncClient
) -> None:
    endless = question("Count upwards from one.", stream=True, ignore_eos=True, max_tokens=1500)
    async with (
        proxy("policy: {on_client_gone: abort}", upstream=llama) as app,
        httpx.AsyncClient(base_url=app.url, timeout=DEADLINE) as client,
        client.stream("POST", CHAT, json=endless) as response,
    ):
        await anext(response.aiter_bytes())
        assert await _is_busy(direct)
        await response.aclose()
        async with asyncio.timeout(5):
            while await _is_busy(direct):
                pass


async def _is_busy(direct: httpx.AsyncClient) -> bool:
    slots = (await direct.get("/slots")).json()
    return any(slot["is_processing"] for slot in slots)


async def test_the_command_serves_and_lets_a_stream_end_before_it_ends(
    llama: str, serve: Serve
) -> None:
    async with (
        serve("--upstream", llama) as process,
        httpx.AsyncClient(base_url=process.url, timeout=DEADLINE) as client,
    ):
        async with client.stream("POST", CHAT, json=COLOURS | STREAM) as response:
            pieces = response.aiter_text()
            text = await anext(pieces)
            process.signal(signal.SIGTERM)
            async for piece in pieces:
                text += piece
        assert text.endswith("data: [DONE]\n\n")
        assert await process.wait() == 0
        assert "Name three primary colours" not in process.stdout + process.stderr
