"""The official SDK, unmodified but for its base URL."""

from collections.abc import AsyncIterator
from typing import Any

import openai
import pytest
from openai import AsyncOpenAI
from openai.types.chat import ChatCompletionMessageParam
from pydantic import BaseModel

from tests.conftest import StartProxy
from tests.fakes.answers import DONE, chat_answer, chat_stream, frame, usage
from tests.fakes.upstream import (
    End,
    ScriptedUpstream,
    error_reply,
    hang_up,
    json_reply,
    sse_reply,
)

DEADLINE = 30.0
MESSAGES: list[ChatCompletionMessageParam] = [{"role": "user", "content": "2 + 2 = ?"}]
TOOLS: Any = [
    {
        "type": "function",
        "function": {
            "name": "weather",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
        },
    }
]


class Colour(BaseModel):
    """What the model is held to."""

    colour: str


@pytest.fixture
async def client(proxy: StartProxy) -> AsyncIterator[AsyncOpenAI]:
    """The SDK before the proxy before the scripted upstream."""
    async with proxy() as app, sdk(app.url) as client:
        yield client


@pytest.fixture
async def real(llama: str, proxy: StartProxy) -> AsyncIterator[AsyncOpenAI]:
    """The SDK before the proxy before llama.cpp."""
    async with proxy(upstream=llama) as app, sdk(app.url) as client:
        yield client


def sdk(url: str, *, key: str = "key-one", max_retries: int = 0) -> AsyncOpenAI:
    """The SDK with its base URL changed."""
    return AsyncOpenAI(base_url=f"{url}/v1", api_key=key, max_retries=max_retries, timeout=DEADLINE)


async def ask(client: AsyncOpenAI, **members: Any) -> tuple[str, str]:
    """Ask for JSON; the text and the Cache-Status."""
    body: dict[str, Any] = {"model": "smollm2", "messages": MESSAGES, "temperature": 0}
    raw = await client.chat.completions.with_raw_response.create(**body | members)
    text = raw.parse().choices[0].message.content
    return text or "", raw.headers["cache-status"]


async def ask_stream(client: AsyncOpenAI, **members: Any) -> tuple[str, str]:
    """Ask for a stream; the text and the Cache-Status."""
    body: dict[str, Any] = {"model": "smollm2", "messages": MESSAGES, "temperature": 0}
    raw = await client.chat.completions.with_raw_response.create(**body | members, stream=True)
    pieces = [choice.delta.content or "" async for chunk in raw.parse() for choice in chunk.choices]
    return "".join(pieces), raw.headers["cache-status"]


async def test_the_second_answer_is_the_first_in_either_shape(real: AsyncOpenAI) -> None:
    usage_too = {"stream_options": {"include_usage": True}}
    first, status = await ask_stream(real, **usage_too)
    assert "hit" not in status
    # The SDK stops reading at [DONE], before the connection of the first call has ended.
    again, status = await ask_stream(real, **usage_too)
    assert "; hit;" in status
    plain, status = await ask(real)
    assert "; hit;" in status
    assert first == again == plain


async def test_typed_answers_are_parsed_from_the_cache_too(real: AsyncOpenAI) -> None:
    snow: list[ChatCompletionMessageParam] = [{"role": "user", "content": "Snow is which colour?"}]

    async def once() -> tuple[Colour | None, str]:
        raw = await real.chat.completions.with_raw_response.parse(
            model="smollm2", messages=snow, temperature=0, response_format=Colour, max_tokens=200
        )
        return raw.parse().choices[0].message.parsed, raw.headers["cache-status"]

    first, _ = await once()
    again, status = await once()
    assert "; hit;" in status
    assert isinstance(first, Colour)
    assert again == first


async def test_many_choices_and_log_probabilities_come_back_whole(real: AsyncOpenAI) -> None:
    async def once() -> Any:
        raw = await real.chat.completions.with_raw_response.create(
            model="smollm2", messages=MESSAGES, temperature=0, n=2, logprobs=True, top_logprobs=2
        )
        return raw.parse().model_dump(), raw.headers["cache-status"]

    first, _ = await once()
    again, status = await once()
    assert "; hit;" in status
    assert again == first
    assert [len(choice["logprobs"]["content"]) > 2 for choice in again["choices"]] == [True, True]


async def test_models_are_listed(real: AsyncOpenAI) -> None:
    assert [model.id async for model in real.models.list()] == ["smollm2"]


async def test_leaving_a_stream_leaves_the_proxy_well(real: AsyncOpenAI) -> None:
    for _ in range(3):
        stream = await real.chat.completions.create(
            model="smollm2", messages=MESSAGES, stream=True, temperature=0, max_tokens=900
        )
        await anext(stream)
        await stream.close()
    assert [model.id async for model in real.models.list()] == ["smollm2"]


async def test_a_prompt_beyond_the_context_is_a_bad_request(real: AsyncOpenAI) -> None:
    long: Any = [{"role": "user", "content": "and so on " * 2500}]
    for stream in (False, True):
        with pytest.raises(openai.BadRequestError, match="context size"):
            await real.chat.completions.create(model="smollm2", messages=long, stream=stream)


async def test_a_route_that_the_server_lacks_is_not_found(real: AsyncOpenAI) -> None:
    with pytest.raises(openai.NotFoundError):
        await real.post("/nothing/here", cast_to=object)


async def test_streamed_tool_calls_come_back_from_the_cache_in_both_shapes(
    client: AsyncOpenAI, upstream: ScriptedUpstream
) -> None:
    call = {"index": 0, "id": "call-1", "type": "function"}
    deltas = [
        {"tool_calls": [call | {"function": {"name": "weather", "arguments": ""}}]},
        {"tool_calls": [{"index": 0, "function": {"arguments": '{"city": '}}]},
        {"tool_calls": [{"index": 0, "function": {"arguments": '"Oslo"}'}}]},
        {"tool_calls": [call | {"index": 1, "id": "call-2", "function": {"name": "weather"}}]},
        {"tool_calls": [{"index": 1, "function": {"arguments": "{}"}}]},
    ]
    upstream.will(sse_reply(*chat_stream(deltas, finish_reason="tool_calls", usage=usage())))

    async def streamed() -> Any:
        async with client.chat.completions.stream(
            model="m1", messages=MESSAGES, tools=TOOLS, stream_options={"include_usage": True}
        ) as stream:
            return (await stream.get_final_completion()).choices[0].message.tool_calls

    plain = client.chat.completions.create(model="m1", messages=MESSAGES, tools=TOOLS)
    answers = [await streamed(), await streamed(), (await plain).choices[0].message.tool_calls]
    assert upstream.calls == 1
    for calls in answers:
        assert [(call.id, call.function.name) for call in calls] == [
            ("call-1", "weather"),
            ("call-2", "weather"),
        ]
        assert [call.function.arguments for call in calls] == ['{"city": "Oslo"}', "{}"]


async def test_another_key_gets_an_answer_of_its_own(
    client: AsyncOpenAI, upstream: ScriptedUpstream
) -> None:
    assert (await ask(client))[0] == "answer 1"
    async with client.with_options(api_key="key-two") as other:
        assert (await ask(other))[0] == "answer 2"
    assert upstream.calls == 2


async def test_wishes_go_in_as_extra_headers(
    client: AsyncOpenAI, upstream: ScriptedUpstream
) -> None:
    await ask(client)
    fresh, status = await ask(client, extra_headers={"Cache-Control": "no-cache"})
    assert (fresh, upstream.calls) == ("answer 2", 2)
    assert "fwd=request" in status
    assert (await ask(client))[0] == "answer 2"
    with pytest.raises(openai.InternalServerError, match="only-if-cached") as caught:
        await ask(client, seed=7, extra_headers={"Cache-Control": "only-if-cached"})
    assert caught.value.status_code == 504
    assert upstream.calls == 2


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, openai.BadRequestError),
        (401, openai.AuthenticationError),
        (403, openai.PermissionDeniedError),
        (404, openai.NotFoundError),
        (409, openai.ConflictError),
        (422, openai.UnprocessableEntityError),
        (429, openai.RateLimitError),
        (500, openai.InternalServerError),
        (503, openai.InternalServerError),
    ],
)
@pytest.mark.parametrize("stream", [False, True], ids=["json", "sse"])
async def test_errors_of_the_server_keep_their_kind_and_are_not_stored(
    client: AsyncOpenAI,
    upstream: ScriptedUpstream,
    status: int,
    kind: type[openai.APIStatusError],
    *,
    stream: bool,
) -> None:
    upstream.will(error_reply(status, "not now", fields=[("Retry-After", "2")]))
    with pytest.raises(kind, match="not now") as caught:
        await client.chat.completions.create(model="smollm2", messages=MESSAGES, stream=stream)
    assert caught.value.response.headers["retry-after"] == "2"
    text, _ = await (ask_stream if stream else ask)(client)
    assert text == "answer 2"


async def test_the_sdk_tries_again_and_succeeds(
    client: AsyncOpenAI, upstream: ScriptedUpstream
) -> None:
    upstream.will(error_reply(503, "busy", fields=[("Retry-After-Ms", "1")]))
    assert (await ask(client.with_options(max_retries=2)))[0] == "answer 2"


async def test_no_server_is_a_bad_gateway(client: AsyncOpenAI, upstream: ScriptedUpstream) -> None:
    await upstream.stop()
    with pytest.raises(openai.InternalServerError) as caught:
        await ask(client)
    assert caught.value.status_code == 502
    assert caught.value.code == "upstream_unreachable"


async def test_a_server_that_hangs_up_is_a_bad_gateway(
    client: AsyncOpenAI, upstream: ScriptedUpstream
) -> None:
    upstream.will(hang_up())
    with pytest.raises(openai.InternalServerError) as caught:
        await ask(client)
    assert caught.value.code == "upstream_broken"
    assert (await ask(client))[0] == "answer 2"


@pytest.mark.parametrize("end", [End.FIN, End.RST])
async def test_a_stream_that_breaks_is_an_error_not_an_end(
    client: AsyncOpenAI, upstream: ScriptedUpstream, end: End
) -> None:
    upstream.will(sse_reply(*chat_stream(["one", "two"])[:3], end=end))
    with pytest.raises(openai.APIError):
        await ask_stream(client)
    assert (await ask_stream(client))[0] == "answer 2"


async def test_an_error_inside_a_stream_is_raised_and_not_stored(
    client: AsyncOpenAI, upstream: ScriptedUpstream
) -> None:
    broken = [*chat_stream(["one"])[:2], frame({"error": {"message": "out of luck"}}), DONE]
    upstream.will(sse_reply(*broken))
    with pytest.raises(openai.APIError, match="out of luck"):
        await ask_stream(client)
    assert (await ask_stream(client))[0] == "answer 2"


async def test_reasoning_and_unknown_members_survive_the_change_of_shape(
    client: AsyncOpenAI, upstream: ScriptedUpstream
) -> None:
    answer = chat_answer("four", x_vendor={"a": 0})
    answer["choices"][0]["message"] |= {"reasoning_content": "two and two", "refusal": None}
    upstream.will(json_reply(answer))
    await ask(client)
    stream = await client.chat.completions.create(
        model="smollm2", messages=MESSAGES, temperature=0, stream=True
    )
    chunks = [chunk.model_dump() async for chunk in stream]
    assert upstream.calls == 1
    deltas = [choice["delta"] for chunk in chunks for choice in chunk["choices"]]
    assert "".join(delta.get("reasoning_content") or "" for delta in deltas) == "two and two"
    assert any(chunk.get("x_vendor") == {"a": 0} for chunk in chunks)
