"""Embeddings are answered from the cache, a batch as a whole (A2, B08)."""

import asyncio
import base64
import json
import random
import struct
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from openai import AsyncOpenAI

from proxy.app import App
from tests.conftest import StartProxy
from tests.fakes.client import Answer, ask
from tests.fakes.upstream import Reply, ScriptedUpstream, Seen, gzip_reply, json_reply
from tests.watch import figure, until

PATH = "/v1/embeddings"
BATCH = ["b", "a", "c", "a"]


def vector_of(said: str | Sequence[int], dimensions: int = 4) -> list[float]:
    """A vector that tells its text or tokens; exact as 32 bits."""
    tokens = said.encode() if isinstance(said, str) else bytes(said)
    return [token / 256 for token in (tokens + bytes(dimensions))[:dimensions]]


def embedded(seen: Seen) -> dict[str, Any]:
    """What an upstream says that finishes a batch in its own order. A token is billed per input."""
    body = seen.json()
    asked = body["input"]
    inputs = [asked] if isinstance(asked, str) or isinstance(asked[0], int) else asked
    vectors = [vector_of(one, body.get("dimensions", 4)) for one in inputs]
    data = [
        {"object": "embedding", "index": index, "embedding": _coded(vector, body)}
        for index, vector in enumerate(vectors)
    ]
    random.Random(7).shuffle(data)
    usage = {"prompt_tokens": len(inputs), "total_tokens": len(inputs)}
    return {"object": "list", "data": data, "model": body["model"], "usage": usage}


def _coded(vector: list[float], body: dict[str, Any]) -> list[float] | str:
    if body.get("encoding_format") != "base64":
        return vector
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()


def reply(seen: Seen) -> Reply:
    return json_reply(embedded(seen))


@pytest.fixture(autouse=True)
def _embeds(upstream: ScriptedUpstream) -> None:
    upstream.respond = reply


async def embed(app: App, asked: Any, *, key: str = "key-a", **members: Any) -> Answer:
    body = {"model": "e1", "input": asked} | members
    return await ask(app.url, body, key=key, path=PATH)


def vectors_in_order(answer: Answer) -> list[list[float]]:
    data = sorted(answer.json()["data"], key=lambda item: int(item["index"]))
    return [item["embedding"] for item in data]


async def test_a_batch_with_some_inputs_known_is_asked_and_then_given_as_it_came(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    async with proxy() as app:
        assert vectors_in_order(await embed(app, ["a"])) == [vector_of("a")]
        first = await embed(app, BATCH)
        again = await embed(app, BATCH)
    assert [seen.json()["input"] for seen in upstream.requests] == [["a"], BATCH]
    assert "fwd=miss; fwd-status=200; stored" in first.cache
    assert again.is_hit
    assert again.body == first.body
    assert [item["index"] for item in first.json()["data"]] != [0, 1, 2, 3]  # it was shuffled
    for answer in (first, again):
        assert vectors_in_order(answer) == [vector_of(text) for text in BATCH]
        assert answer.json()["usage"] == {"prompt_tokens": 4, "total_tokens": 4}


@pytest.mark.parametrize("members", [{}, {"encoding_format": "float"}], ids=["base64", "float"])
async def test_the_sdk_gets_each_vector_for_its_own_input(
    proxy: StartProxy, upstream: ScriptedUpstream, members: dict[str, Any]
) -> None:
    async with (
        proxy() as app,
        AsyncOpenAI(base_url=f"{app.url}/v1", api_key="key-a", max_retries=0) as sdk,
    ):

        async def create(asked: list[str]) -> tuple[Any, bool]:
            raw = await sdk.embeddings.with_raw_response.create(model="e1", input=asked, **members)
            return raw.parse(), "; hit;" in raw.headers["cache-status"]

        await create(["a"])
        found = [await create(BATCH) for _ in range(2)]
    assert [is_hit for _, is_hit in found] == [False, True]
    assert [seen.json()["encoding_format"] for seen in upstream.requests] == [
        members.get("encoding_format", "base64")
    ] * 2
    for answer, _ in found:
        by_index = {item.index: item.embedding for item in answer.data}
        assert [by_index[place] for place in range(4)] == [vector_of(text) for text in BATCH]
        assert (answer.usage.prompt_tokens, answer.usage.total_tokens) == (4, 4)


@pytest.mark.parametrize("asked", ["天", ["天"], [3, 2, 1], [[3, 2], [1]], ["a"] * 2048])
async def test_every_form_of_input_hits_when_it_is_repeated(
    proxy: StartProxy, upstream: ScriptedUpstream, asked: Any
) -> None:
    async with proxy() as app:
        first, again = [await embed(app, asked) for _ in range(2)]
    assert (first.is_hit, again.is_hit) == (False, True)
    assert first.body == again.body
    assert upstream.calls == 1


async def test_who_asks_does_not_count_for_the_key_but_whose_key_it_is_does(
    proxy: StartProxy,
) -> None:
    async with proxy() as app:
        await embed(app, "a", user="u1")
        assert (await embed(app, "a", user="u2")).is_hit
        assert not (await embed(app, "a", key="key-b")).is_hit


@pytest.mark.parametrize("members", [{"dimensions": 2}, {"encoding_format": "base64"}])
async def test_the_form_of_the_vectors_counts(proxy: StartProxy, members: dict[str, Any]) -> None:
    async with proxy() as app:
        await embed(app, "a")
        other = await embed(app, "a", **members)
        assert not other.is_hit
        assert (await embed(app, "a", **members)).body == other.body


@pytest.mark.parametrize(
    "members",
    [{"stream": True}, {"input": [{"text": "a"}]}, {"input": None, "messages": []}],
)
async def test_a_request_of_another_form_is_passed_on(
    proxy: StartProxy, upstream: ScriptedUpstream, members: dict[str, Any]
) -> None:
    upstream.respond = lambda seen: json_reply({"object": "list", "data": []})
    async with proxy() as app:
        for _ in range(2):
            answer = await embed(app, **{"asked": "a", **members})
            assert "fwd=bypass; fwd-status=200; detail=form" in answer.cache
    assert [seen.json() for seen in upstream.requests] == [
        {"model": "e1", "input": "a"} | members
    ] * 2


async def test_identical_batches_at_once_share_one_call(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    gate = asyncio.Event()
    data = [
        {"index": place, "embedding": vector_of(BATCH[place]), "object": "embedding"}
        for place in (2, 0, 3, 1)
    ]
    answer = {"object": "list", "data": data, "model": "e1", "usage": {"prompt_tokens": 4}}
    upstream.will(json_reply(answer, before_head=gate))
    async with proxy() as app:
        async with asyncio.TaskGroup() as group:
            asked = [group.create_task(embed(app, BATCH)) for _ in range(20)]
            await until(lambda: figure(app, "in_flight_requests") == 20)
            gate.set()
        answers = [task.result() for task in asked]
        assert (await embed(app, BATCH)).is_hit
    assert upstream.calls == 1
    assert {answer.body for answer in answers} == {json.dumps(answer).encode()}
    assert sum("collapsed" in answer.cache for answer in answers) == 19


async def test_an_answer_in_gzip_is_stored_plain(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    upstream.respond = lambda seen: gzip_reply(json.dumps(embedded(seen)).encode())
    async with proxy() as app:
        first, again = [await embed(app, BATCH) for _ in range(2)]
    assert first.header("Content-Encoding") == "gzip"
    assert again.is_hit
    assert again.header("Content-Encoding") is None
    assert vectors_in_order(again) == [vector_of(text) for text in BATCH]


def without_the_first(data: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [item for item in data if item["index"] != 0]


def without_the_last(data: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [item for item in data if item["index"] != len(data) - 1]


def with_one_too_many(data: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [*data, data[0] | {"index": len(data)}]


def with_an_index_twice(data: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [data[0], data[1] | {"index": data[0]["index"]}, *data[2:]]


def with_a_vector_of_nothing(data: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [data[0] | {"embedding": []}, *data[1:]]


@pytest.mark.parametrize(
    "spoil",
    [
        without_the_first,
        without_the_last,
        with_one_too_many,
        with_an_index_twice,
        with_a_vector_of_nothing,
    ],
)
async def test_an_answer_that_is_not_whole_is_relayed_and_not_stored(
    proxy: StartProxy,
    upstream: ScriptedUpstream,
    spoil: Callable[[list[dict[str, Any]]], list[dict[str, Any]]],
) -> None:
    def spoiled(seen: Seen) -> dict[str, Any]:
        answer = embedded(seen)
        return answer | {"data": spoil(answer["data"])}

    upstream.respond = lambda seen: json_reply(spoiled(seen))
    async with proxy() as app:
        for calls in (1, 2):
            answer = await embed(app, BATCH)
            assert (answer.is_hit, upstream.calls) == (False, calls)
            assert answer.json() == spoiled(upstream.requests[-1])
        upstream.respond = reply
        assert not (await embed(app, BATCH)).is_hit
        assert (await embed(app, BATCH)).is_hit


async def test_an_answer_over_the_bound_of_an_entry_is_relayed_whole(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    async with proxy("memory: {max_entry_bytes: 256KiB}") as app:
        small, large = ["a"] * 16, ["a"] * 64
        for asked, is_stored in ((small, True), (large, False)):
            answers = [await embed(app, asked, dimensions=1536) for _ in range(2)]
            assert [answer.is_hit for answer in answers] == [False, is_stored]
            assert answers[0].body == answers[1].body
            assert len(answers[0].body) > (256 if asked is large else 64) * 1024
            assert vectors_in_order(answers[1]) == [vector_of("a", 1536)] * len(asked)
        assert figure(app, "entries") == 1
    assert upstream.calls == 3
