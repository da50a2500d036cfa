"""The way of a request whose question was asked in other words (B03, B09, B12, B20, B46, B47)."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from typing import Any, TypeAlias

import pytest

from proxy.app import App
from proxy.pipeline.chain import FEEDBACK_PATH
from tests.conftest import StartProxy
from tests.fakes.answers import chat_answer, chat_stream, frame
from tests.fakes.client import Answer, ask, call, posting, question
from tests.fakes.clock import FakeClock
from tests.fakes.semantic import GATE, NEAR, FakeEncoder, comparing_by_words
from tests.fakes.upstream import ScriptedUpstream, error_reply, json_reply, sse_reply
from tests.pipeline.level import ASKED, OTHER, STORED
from tests.watch import figure, until

FRESH = [("Cache-Control", "no-cache")]
IMAGES = [{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{x}"}} for x in "AB"]
TOOL = {"type": "function", "function": {"name": "ls", "parameters": {"type": "object"}}}

Comparing: TypeAlias = Callable[..., AbstractAsyncContextManager[App]]


@pytest.fixture
def encoder(monkeypatch: pytest.MonkeyPatch) -> FakeEncoder:
    return comparing_by_words(monkeypatch)


@pytest.fixture
def comparing(proxy: StartProxy, encoder: FakeEncoder) -> Comparing:
    """A proxy whose semantic level is there."""

    @asynccontextmanager
    async def start(settings: str = NEAR, **others: Any) -> AsyncIterator[App]:
        async with proxy(settings, **others) as app:
            await until(lambda: b"reprise_encoders 1.0" in app.exposition())
            yield app

    return start


async def known(app: App, *bodies: bytes, **members: Any) -> list[Answer]:
    """Ask, and wait until the answers can be found by meaning."""
    before = figure(app, "semantic_entries")
    answers = [await ask(app.url, body, **members) for body in bodies]
    await until(lambda: figure(app, "semantic_entries") == before + len(bodies))
    return answers


def detail(answer: Answer) -> str:
    """What Cache-Status says in particular."""
    return answer.cache.partition("detail=")[2]


async def test_a_rewording_is_served_and_says_so(
    comparing: Comparing, upstream: ScriptedUpstream, encoder: FakeEncoder, clock: FakeClock
) -> None:
    settings = f"{NEAR}\nttl: {{exact: 2h, semantic: 1h, jitter: 0}}"
    async with comparing(settings, clock=clock) as app:
        await known(app, question(STORED))
        exact = await ask(app.url, question(STORED))
        clock.advance(60)
        answers = [await ask(app.url, question(ASKED)) for _ in range(3)]
    assert upstream.calls == 1
    assert [answer.text for answer in answers] == ["answer 1"] * 3
    assert answers[0].cache == "reprise; hit; ttl=3540; detail=semantic"
    assert [answer.cache for answer in answers[1:]] == ["reprise; hit; ttl=3540; detail=alias"] * 2
    assert {answer.header("Age") for answer in answers} == {"60"}
    assert {answer.header("x-cache-similarity") for answer in answers} == {"0.9258"}
    assert {answer.header("x-cache-entry") for answer in answers} == {exact.header("x-cache-entry")}
    assert exact.header("x-cache-similarity") is None
    assert encoder.texts == [STORED, ASKED]


async def test_a_question_that_only_looks_alike_goes_to_the_upstream(
    comparing: Comparing, upstream: ScriptedUpstream
) -> None:
    log: list[bytes] = []
    walks = [f"How long does it take to walk {number} km in the park?" for number in (5, 8)]
    async with comparing(log=log) as app:
        await known(app, question(walks[0]))
        answer = await ask(app.url, question(walks[1]))
        exposition = app.exposition()
        assert b'semantic_lookup_duration_seconds_count{result="guard"} 1.0' in exposition
        assert b'semantic_objections_total{guard="numbers"} 1.0' in exposition
        assert b'lookup_duration_seconds_count{stage="gate"} 2.0' in exposition
    assert answer.text == "answer 2"
    assert answer.header("x-cache-similarity") is None
    lines = [json.loads(line) for line in log]
    (told,) = (line for line in lines if line.get("guard"))
    assert (told["meaning"], told["guard"], told["cache"]) == ("guard", "numbers", "miss")
    assert 0.8 < told["similarity"] < 1
    assert told["meaning_ms"] >= 0
    assert b"park" not in b"".join(log)


async def test_a_hit_by_meaning_is_logged_as_one(comparing: Comparing) -> None:
    log: list[bytes] = []
    async with comparing(log=log) as app:
        await known(app, question(STORED))
        for _ in range(2):
            await ask(app.url, question(ASKED))
        saved = b'tokens_total{direction="output",operation="chat",source="cache"} 8.0'
        assert saved in app.exposition()
    requests = [json.loads(line) for line in log if b'"request"' in line]
    told = {line["cache"]: line for line in requests}
    assert (told["semantic"]["similarity"], told["semantic"]["meaning"]) == (0.9258, "match")
    assert told["alias"]["similarity"] == 0.9258
    assert "meaning" not in told["alias"]
    assert told["semantic"]["saved_tokens"] == told["alias"]["saved_tokens"] == 4


@pytest.mark.parametrize("stored_as", [False, True])
@pytest.mark.parametrize("asked_as", [False, True])
async def test_it_comes_in_the_shape_that_was_asked_for(
    comparing: Comparing, upstream: ScriptedUpstream, *, stored_as: bool, asked_as: bool
) -> None:
    async with comparing() as app:
        await known(app, question(STORED, stream=stored_as))
        answers = [await ask(app.url, question(ASKED, stream=asked_as)) for _ in range(2)]
    assert upstream.calls == 1
    assert [detail(answer) for answer in answers] == ["semantic", "alias"]
    for answer in answers:
        assert answer.text == "answer 1"
        assert answer.header("x-cache-similarity") == "0.9258"
        assert (b"data: [DONE]" in answer.body) is asked_as


async def test_what_does_not_convert_without_loss_is_fetched_in_its_shape(
    comparing: Comparing, upstream: ScriptedUpstream
) -> None:
    frames = chat_stream(["a"])
    frames[1] = frame({"choices": [{"index": 0, "delta": {"content": "a", "odd": [1, {}]}}]})
    frames.insert(2, frame({"choices": [{"index": 0, "delta": {"odd": {"b": 1}}}]}))
    upstream.will(sse_reply(*frames))
    async with comparing() as app:
        await known(app, question(STORED, stream=True))
        answers = [await ask(app.url, question(ASKED)) for _ in range(2)]
    assert "fwd=miss" in answers[0].cache
    assert detail(answers[0]) == "shape"
    assert (answers[1].text, detail(answers[1])) == ("answer 2", "exact")


async def test_only_if_cached_takes_what_means_the_same(
    comparing: Comparing, upstream: ScriptedUpstream
) -> None:
    fields = [("Cache-Control", "only-if-cached")]
    async with comparing() as app:
        await known(app, question(STORED))
        found = await ask(app.url, question(ASKED), fields=fields)
        assert (found.status, detail(found)) == (200, "semantic")
        assert (await ask(app.url, question(OTHER), fields=fields)).status == 504
    assert upstream.calls == 1


async def test_no_store_neither_reads_nor_writes(
    comparing: Comparing, upstream: ScriptedUpstream, encoder: FakeEncoder
) -> None:
    fields = [("Cache-Control", "no-store")]
    async with comparing() as app:
        await known(app, question(STORED))
        assert (await ask(app.url, question(ASKED), fields=fields)).text == "answer 2"
        assert encoder.texts == [STORED]
        assert figure(app, "entries") == 1
        assert (await ask(app.url, question(ASKED))).text == "answer 1"


async def test_no_cache_is_the_way_out_of_a_bad_answer(
    comparing: Comparing, upstream: ScriptedUpstream
) -> None:
    # B46
    async with comparing() as app:
        await known(app, question(STORED))
        assert (await ask(app.url, question(STORED), fields=FRESH)).text == "answer 2"
        assert (await ask(app.url, question(STORED))).text == "answer 2"
        assert (await ask(app.url, question(ASKED))).text == "answer 2"
        assert (await ask(app.url, question(ASKED), fields=FRESH)).text == "answer 3"
        assert figure(app, "entries") == 1
        assert (await ask(app.url, question(ASKED))).text == "answer 3"
        again = await ask(app.url, question(STORED))
        assert (again.text, detail(again)) == ("answer 3", "semantic")


async def test_no_cache_is_not_answered_by_meaning(comparing: Comparing) -> None:
    async with comparing() as app:
        await known(app, question(STORED))
        assert (await ask(app.url, question(ASKED), fields=FRESH)).text == "answer 2"


async def test_a_plan_that_was_remembered_is_made_anew_when_its_answer_is_gone(
    comparing: Comparing, upstream: ScriptedUpstream, encoder: FakeEncoder
) -> None:
    async with comparing("admin: {token: t}\n" + NEAR) as app:
        await known(app, question(STORED))
        for _ in range(2):
            assert (await ask(app.url, question(ASKED))).is_hit
        fields = [("Authorization", "Bearer t")]
        await call(app.admin_url, "POST", "/admin/purge", fields=fields, body=b'{"all": true}')
        assert figure(app, "semantic_entries") == 0
        await known(app, question(ASKED))
        found = await ask(app.url, question(STORED))
        assert (found.text, detail(found)) == ("answer 2", "semantic")
    assert encoder.texts.count(ASKED) == 1


async def test_a_client_may_ask_for_more_similarity(comparing: Comparing) -> None:
    async with comparing() as app:
        await known(app, question(STORED))
        strict = [("x-cache-threshold", "0.95")]
        for fields, text in ([], "answer 1"), (strict, "answer 2"):
            assert (await ask(app.url, question(ASKED), fields=fields)).text == text


async def test_nothing_crosses_from_one_tenant_to_another(
    comparing: Comparing, upstream: ScriptedUpstream
) -> None:
    # B47: whatever the similarity, and without any trace in the answer.
    upstream.will(json_reply(chat_answer("A-SECRET")), json_reply(chat_answer("B's own")))
    async with comparing() as app:
        await known(app, question(STORED))
        (first,) = await known(app, question(ASKED), key="key-b")
        assert first.cache == "reprise; fwd=miss; fwd-status=200; stored"
        assert first.header("x-cache-similarity") is None
        for text in (STORED, ASKED, f"{STORED}?"):
            assert (await ask(app.url, question(text), key="key-b")).text == "B's own"
            assert (await ask(app.url, question(text))).text == "A-SECRET"
    assert upstream.calls == 2


async def test_a_caller_who_was_refused_gets_nothing_by_meaning(
    comparing: Comparing, upstream: ScriptedUpstream
) -> None:
    async with comparing() as app:
        await known(app, question(STORED))
        assert (await ask(app.url, question(ASKED))).is_hit
        upstream.will(error_reply(401), error_reply(401), error_reply(401))
        await ask(app.url, question(OTHER))
        for text in (ASKED, f"{STORED}?"):
            answer = await ask(app.url, question(text))
            assert (answer.status, detail(answer)) == (401, "credential")


async def test_parts_that_are_no_text_are_never_compared(
    comparing: Comparing, upstream: ScriptedUpstream
) -> None:
    # B03
    text = {"type": "text", "text": STORED}
    bodies = [
        question(messages=[{"role": "user", "content": [text, image]}]) for image in IMAGES
    ] + [question(STORED)]
    async with comparing() as app:
        for body in bodies:
            assert not (await ask(app.url, body)).is_hit
        assert detail(await ask(app.url, bodies[0])) == "exact"
    assert upstream.calls == 3


async def test_all_but_the_last_question_must_be_equal(
    comparing: Comparing, upstream: ScriptedUpstream
) -> None:
    # B09
    def with_system(system: str | None, text: str, **members: Any) -> bytes:
        before = [{"role": "system", "content": system}] if system else []
        return question(messages=[*before, {"role": "user", "content": text}], **members)

    bodies = [
        with_system("Answer only in French.", STORED),
        with_system("Answer only in German.", ASKED),
        with_system(None, STORED),
        with_system(None, ASKED, tools=[TOOL]),
        with_system(None, ASKED, model="m2"),
        with_system(None, ASKED, temperature=0.7),
    ]
    async with comparing() as app:
        for body in bodies:
            assert not (await ask(app.url, body)).is_hit
        await until(lambda: figure(app, "semantic_entries") == 5)
        same = await ask(app.url, with_system("Answer only in French.", ASKED))
        assert (same.text, detail(same)) == ("answer 1", "semantic")
    assert upstream.calls == 6


async def test_an_agents_turns_are_never_compared(
    comparing: Comparing, upstream: ScriptedUpstream, encoder: FakeEncoder
) -> None:
    # B20
    made = {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": "{}"}}
    message = {"role": "assistant", "content": None, "tool_calls": [made]}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
    upstream.will(json_reply(chat_answer(None, choices=[choice])))
    first = [{"role": "user", "content": "List files"}]

    def turn(content: str) -> bytes:
        result = {"role": "tool", "tool_call_id": "c1", "content": content}
        return question(messages=[*first, message, result], tools=[TOOL])

    async with comparing("semantic: {min_similarity: 0.5, tools: true}") as app:
        await ask(app.url, question(messages=first, tools=[TOOL]))
        for content in ("a.txt", "b.txt"):
            assert not (await ask(app.url, turn(content))).is_hit
        again = await ask(app.url, question(messages=first, tools=[TOOL]))
        assert again.is_hit
        assert again.json()["choices"][0]["message"]["tool_calls"] == [made]
    assert upstream.calls == 3
    assert encoder.texts == ["List files"]


async def test_a_follow_up_is_answered_from_its_own_conversation(
    comparing: Comparing, upstream: ScriptedUpstream
) -> None:
    # B50
    def conversation(company: str, answer: str, last: str = "How old is she?") -> bytes:
        turns = [(f"Who runs company {company}?", "user"), (answer, "assistant"), (last, "user")]
        return question(messages=[{"role": role, "content": text} for text, role in turns])

    bodies = [
        conversation("X", "Ann does."),
        conversation("Y", "Ann does."),
        conversation("X", "Anne does."),
    ]
    async with comparing() as app:
        for body in bodies:
            assert not (await ask(app.url, body)).is_hit
        await until(lambda: figure(app, "semantic_entries") == 3)
        same = await ask(app.url, conversation("X", "Ann does.", "Please, how old is she?"))
        assert (same.text, detail(same)) == ("answer 1", "semantic")
    assert upstream.calls == 3


async def test_conversations_go_on_as_one_after_a_rewording(
    comparing: Comparing, upstream: ScriptedUpstream
) -> None:
    def then(first: str, answer: str) -> bytes:
        turns = [(first, "user"), (answer, "assistant"), ("How old is it?", "user")]
        return question(messages=[{"role": role, "content": text} for text, role in turns])

    async with comparing() as app:
        await known(app, question(STORED))
        await ask(app.url, question(ASKED))
        await ask(app.url, then(STORED, "answer 1"))
        met = await ask(app.url, then(ASKED, "answer 1"))
        assert (met.text, detail(met)) == ("answer 2", "exact")
        assert not (await ask(app.url, then(ASKED, "answer one"))).is_hit
        assert not (await ask(app.url, then(ASKED, "answer 1"), key="key-b")).is_hit


async def test_repeats_of_a_rewording_at_once_are_compared_once(
    comparing: Comparing, upstream: ScriptedUpstream, encoder: FakeEncoder
) -> None:
    async with comparing(NEAR.replace("}", ", deadline: 10s}")) as app:
        await known(app, question(STORED))
        encoder.may_answer.clear()
        async with asyncio.TaskGroup() as group:
            asking = [group.create_task(ask(app.url, question(ASKED))) for _ in range(5)]
            await until(lambda: figure(app, "in_flight_requests") == 5)
            await until(lambda: ASKED in encoder.texts)
            encoder.may_answer.set()
        details = sorted(detail(task.result()) for task in asking)
    assert details == ["alias"] * 4 + ["semantic"]
    assert encoder.texts.count(ASKED) == 1
    assert upstream.calls == 1


async def test_what_joins_a_call_under_way_is_not_compared(
    comparing: Comparing, upstream: ScriptedUpstream, encoder: FakeEncoder
) -> None:
    gate = asyncio.Event()
    upstream.will(json_reply(chat_answer("late"), before_head=gate))
    async with comparing() as app, asyncio.TaskGroup() as group:
        first = group.create_task(ask(app.url, question(STORED)))
        await until(lambda: figure(app, "flights") == 1)
        second = group.create_task(ask(app.url, question(STORED)))
        await until(lambda: figure(app, "in_flight_requests") == 2)
        gate.set()
    assert first.result().text == second.result().text == "late"
    assert encoder.texts == [STORED]


async def test_a_request_does_not_wait_for_its_vector_for_long(
    comparing: Comparing, encoder: FakeEncoder
) -> None:
    log: list[bytes] = []
    async with comparing(NEAR.replace("}", ", deadline: 5ms}"), log=log) as app:
        encoder.may_answer.clear()
        answer = await ask(app.url, question(STORED))
        assert answer.cache == "reprise; fwd=miss; fwd-status=200; stored"
        assert (await ask(app.url, question(STORED))).is_hit
        encoder.may_answer.set()
        await until(lambda: figure(app, "semantic_entries") == 1)
    assert json.loads(next(line for line in log if b'"meaning"' in line))["meaning"] == "deadline"


async def test_a_fresh_answer_to_a_like_question_comes_before_a_stale_one(
    comparing: Comparing, upstream: ScriptedUpstream, clock: FakeClock
) -> None:
    settings = f"{NEAR}\nttl: {{exact: 100s, jitter: 0, stale_if_error: 1h}}"
    async with comparing(settings, clock=clock) as app:
        await known(app, question(ASKED))
        clock.advance(101)
        await ask(app.url, question(STORED))
        assert figure(app, "semantic_entries") == 1  # the stale one made room
        answer = await ask(app.url, question(ASKED))
        assert (answer.text, detail(answer)) == ("answer 2", "semantic")
        clock.advance(101)
        upstream.respond = lambda seen: error_reply(500)
        fallback = await ask(app.url, question(ASKED))
        assert (fallback.text, fallback.header("x-cache-similarity")) == ("answer 1", None)


async def test_an_answer_that_goes_while_it_is_judged_is_not_served(
    comparing: Comparing, upstream: ScriptedUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with comparing() as app:
        await known(app, question(STORED))
        judge = GATE.judge

        def purged_meanwhile(*arguments: Any, **members: Any) -> Any:
            for stored in app._store.scan():
                app._store.delete(stored.key)
            return judge(*arguments, **members)

        monkeypatch.setattr(GATE, "judge", purged_meanwhile)
        answer = await ask(app.url, question(ASKED))
    assert answer.cache == "reprise; fwd=miss; fwd-status=200; stored"
    assert answer.text == "answer 2"


async def test_a_route_may_leave_meaning_alone(comparing: Comparing) -> None:
    settings = f"{NEAR}\nroutes: [{{match: {{model: m2}}, semantic: {{enabled: false}}}}]"
    async with comparing(settings) as app:
        await known(app, question(STORED))
        for text in (STORED, ASKED):
            assert not (await ask(app.url, question(text, model="m2"))).is_hit
        assert (await ask(app.url, question(ASKED))).is_hit


async def test_questions_about_now_are_not_compared(comparing: Comparing) -> None:
    async with comparing() as app:
        for text in ("What is the weather like today?", "Please, what is the weather like today?"):
            assert not (await ask(app.url, question(text))).is_hit
        assert (await ask(app.url, question("What is the weather like today?"))).is_hit
        assert figure(app, "semantic_entries") == 0


async def test_what_a_mask_takes_out_is_not_compared(
    comparing: Comparing, encoder: FakeEncoder
) -> None:
    settings = NEAR + "\npolicy: {masks: ['order [A-Z]+-[0-9]+']}"
    async with comparing(settings) as app:
        await known(app, question("Where is my order AB-12"))
    assert encoder.texts == ["Where is my"]


async def test_what_was_asked_for_anew_is_served_to_its_rewordings_at_once(
    comparing: Comparing,
) -> None:
    async with comparing() as app:
        await known(app, question(STORED))
        assert (await ask(app.url, question(ASKED))).text == "answer 1"
        for number in range(2, 7):
            assert (await ask(app.url, question(STORED), fields=FRESH)).text == f"answer {number}"
            assert (await ask(app.url, question(ASKED))).text == f"answer {number}"


async def test_a_reload_that_changes_the_rules_has_rewordings_judged_anew(
    comparing: Comparing,
) -> None:
    async with comparing() as app:
        await known(app, question(STORED))
        assert detail(await ask(app.url, question(ASKED))) == "semantic"
        assert detail(await ask(app.url, question(ASKED))) == "alias"
        running = app.reloader.current
        policy = running.dynamic.policy
        stricter = replace(policy, semantic=replace(policy.semantic, deadline=9.0))
        app.apply(replace(running, dynamic=replace(running.dynamic, policy=stricter)))
        assert detail(await ask(app.url, question(ASKED))) == "semantic"


@pytest.mark.parametrize("text", ["word " * 100_000, "词" * 100_000, "7" * 100_000])
async def test_a_long_text_is_not_even_read(
    comparing: Comparing, encoder: FakeEncoder, text: str
) -> None:
    async with comparing() as app:
        assert [(await ask(app.url, question(text))).is_hit for _ in range(2)] == [False, True]
        assert encoder.texts == []


async def test_a_negative_pair_holds_for_what_was_answered_before(comparing: Comparing) -> None:
    async with comparing() as app:
        for model in ("m1", "m2"):
            await known(app, question(STORED, model=model))
            assert (await ask(app.url, question(ASKED, model=model))).is_hit
        wrong = await ask(app.url, question(ASKED, model="m1"))
        said = {"entry": wrong.header("x-cache-entry"), "verdict": "wrong"}
        body = json.dumps(said).encode()
        assert (
            await call(app.url, "POST", FEEDBACK_PATH, fields=posting(), body=body)
        ).status == 200
        for text in (ASKED, ASKED.rstrip("?"), ASKED.upper()):
            answer = await ask(app.url, question(text, model="m2"))
            assert answer.text not in ("answer 1", "answer 2")
