"""A client's word on an answer: what is wrong goes for good, and only from where it may (D5)."""

import asyncio
import json
from typing import Any

import pytest

from proxy.core.cache.value import StoredResponse
from proxy.core.errors import BadRequest
from proxy.core.exchange import Level as Found
from proxy.core.meaning.negatives import Negatives
from proxy.pipeline.aliases import Aliases
from proxy.pipeline.chain import FEEDBACK_PATH
from proxy.pipeline.feedback import Feedback, Opinion, Verdict, read
from proxy.store.memory import MemoryStore
from tests.conftest import StartProxy
from tests.core.values import stored_response
from tests.fakes.client import Answer, ask, call, posting, question
from tests.fakes.clock import FakeClock
from tests.fakes.semantic import NEAR, FakeEncoder, comparing_by_words
from tests.fakes.upstream import ScriptedUpstream
from tests.pipeline.level import ASKED, STORED, Level, near
from tests.watch import figure, until

THIRD = f"Please, please: {STORED}"


class Heard:
    """A level, and the feedback on it."""

    def __init__(self) -> None:
        self.level = Level()
        self.opinions: list[Opinion] = []
        self.levels: list[Found | None] = []
        self.feedback = Feedback(
            store=self.level.store,
            aliases=self.level.aliases,
            negatives=self.level.negatives,
            clock=self.level.clock,
            on_opinion=self.hear,
        )
        self.feedback.questions = self.level.meaning

    def hear(self, opinion: Opinion, level: Found | None) -> None:
        """It was taken."""
        self.opinions.append(opinion)
        self.levels.append(level)

    async def say(
        self, stored: StoredResponse, verdict: Verdict = Verdict.WRONG, asked: str | None = None
    ) -> bool:
        """Say it as somebody who may."""
        return await self.feedback.take(Opinion(stored.id, verdict, asked), lambda stored: True)


@pytest.fixture
async def heard() -> Heard:
    return Heard()


async def test_a_wrong_answer_is_never_given_for_that_question_again(heard: Heard) -> None:
    level = heard.level
    stored = await level.know(near(STORED))
    for text in (ASKED, THIRD):
        assert await level.finds(near(text)) == stored.key
    assert await heard.say(stored)
    assert (len(level.store), len(level.aliases), len(level.meaning)) == (0, 0, 0)
    assert heard.opinions == [Opinion(stored.id, Verdict.WRONG, None)]
    again = await level.know(near(STORED))
    for text in (ASKED, THIRD):
        assert await level.why(near(text)) == "feedback"
    assert await level.finds(near(f"{STORED}?")) == again.key


async def test_where_the_question_is_told_only_that_one_is_held_apart(heard: Heard) -> None:
    level = heard.level
    stored = await level.know(near(STORED))
    for text in (ASKED, THIRD):
        await level.finds(near(text))
    assert await heard.say(stored, asked=f" {ASKED}\n")
    assert len(level.aliases) == 0
    again = await level.know(near(STORED))
    assert await level.why(near(ASKED)) == "feedback"
    assert await level.finds(near(THIRD)) == again.key


async def test_the_pair_is_held_apart_in_the_other_direction_too(heard: Heard) -> None:
    stored = await heard.level.know(near(STORED))
    await heard.say(stored, asked=ASKED)
    await heard.level.know(near(ASKED))
    assert await heard.level.why(near(STORED)) == "feedback"


async def test_it_holds_for_one_tenant_only(heard: Heard) -> None:
    await heard.say(await heard.level.know(near(STORED)), asked=ASKED)
    bob = ("Authorization", "Bearer bob")
    stored = await heard.level.know(near(STORED, bob))
    assert await heard.level.finds(near(ASKED, bob)) == stored.key


@pytest.mark.parametrize("asked", [None, STORED, f"{STORED} "])
async def test_an_answer_that_is_wrong_for_its_own_question_only_goes(
    heard: Heard, asked: str | None
) -> None:
    stored = await heard.level.know(near(STORED))
    assert await heard.say(stored, asked=asked)
    assert len(heard.level.negatives) == 0
    again = await heard.level.know(near(STORED))
    assert await heard.level.finds(near(ASKED)) == again.key


async def test_a_right_answer_stays(heard: Heard) -> None:
    stored = await heard.level.know(near(STORED))
    await heard.level.finds(near(ASKED))
    assert await heard.say(stored, Verdict.RIGHT, ASKED)
    assert heard.opinions == [Opinion(stored.id, Verdict.RIGHT, ASKED)]
    assert (len(heard.level.store), len(heard.level.aliases)) == (1, 1)
    assert len(heard.level.negatives) == 0


@pytest.mark.parametrize(
    ("asked", "found"), [(ASKED, Found.SEMANTIC), (STORED, Found.EXACT), (None, None)]
)
async def test_it_is_told_how_the_answer_was_found(
    heard: Heard, asked: str | None, found: Found | None
) -> None:
    stored = await heard.level.know(near(STORED))
    assert await heard.say(stored, Verdict.RIGHT)
    await heard.level.finds(near(ASKED))
    assert await heard.say(stored, Verdict.WRONG, asked)
    assert heard.levels == [Found.EXACT, found]


async def test_whoever_may_not_speak_changes_nothing(heard: Heard) -> None:
    stored = await heard.level.know(near(STORED))
    opinion = Opinion(stored.id, Verdict.WRONG, None)
    assert not await heard.feedback.take(opinion, lambda stored: False)
    assert heard.opinions == []
    assert heard.level.store.get(stored.key) is stored


async def test_of_what_is_not_there_nothing_can_be_said(heard: Heard) -> None:
    stored = await heard.level.know(near(STORED))
    heard.level.clock.advance(1.0)
    later = await heard.level.know(near(STORED))
    assert not await heard.say(stored)
    assert heard.level.store.get(later.key) is later


async def test_a_proxy_that_compares_nothing_takes_opinions_too() -> None:
    store = MemoryStore(max_bytes=1 << 20, max_entries=10, max_entry_bytes=1 << 20)
    feedback = Feedback(
        store=store,
        aliases=Aliases(),
        negatives=Negatives(),
        clock=FakeClock(),
        on_opinion=lambda opinion, level: None,
    )
    stored = stored_response()
    store.put(stored)
    assert await feedback.take(Opinion(stored.id, Verdict.WRONG, "Q"), lambda stored: True)
    assert len(store) == 0


async def test_others_get_their_turn_in_a_large_store_and_what_went_meanwhile_is_not_found(
    heard: Heard,
) -> None:
    heard.level.store.resize(max_bytes=1 << 30, max_entries=10**4, max_entry_bytes=1 << 20)
    for number in range(3000):
        heard.level.store.put(stored_response(key=number.to_bytes(32, "big")))
    last = stored_response(key=b"l" * 32)
    heard.level.store.put(last)
    async with asyncio.TaskGroup() as group:
        saying = group.create_task(heard.say(last))
        await asyncio.sleep(0)
        assert not saying.done()
        heard.level.store.put(stored_response(key=last.key, created=last.created + 1))
    assert saying.result() is False
    assert len(heard.level.store) == 3001


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (None, "POST of a JSON object"),
        (b"", "POST of a JSON object"),
        (b"{", "POST of a JSON object"),
        (b"\xff", "POST of a JSON object"),
        (b"[]", "POST of a JSON object"),
        (b'"wrong"', "POST of a JSON object"),
        (b"{}", "entry or verdict"),
        (b'{"entry": "e"}', "entry or verdict"),
        (b'{"entry": 1, "verdict": "wrong"}', "entry or verdict"),
        (b'{"entry": "e", "verdict": "Wrong"}', "entry or verdict"),
        (b'{"entry": "e", "verdict": ["wrong"]}', "entry or verdict"),
        (b'{"entry": "e", "verdict": null}', "entry or verdict"),
        (b'{"entry": "e", "verdict": "wrong", "question": 5}', "question must be text"),
        (b'{"entry": "e", "verdict": "wrong", "question": []}', "question must be text"),
    ],
)
def test_what_is_no_opinion_says_what_would_be(body: bytes | None, told: str) -> None:
    with pytest.raises(BadRequest, match=told):
        read(body)


def test_an_opinion_is_read() -> None:
    said: dict[str, Any] = {"entry": "e", "verdict": "wrong", "question": "为什么?", "more": 1}
    assert read(json.dumps(said).encode()) == Opinion("e", Verdict.WRONG, "为什么?")
    assert read(b'{"entry": "e", "verdict": "right"}') == Opinion("e", Verdict.RIGHT, None)
    assert read(b'{"entry": "e", "verdict": "right", "question": null}').question is None


@pytest.fixture
def encoder(monkeypatch: pytest.MonkeyPatch) -> FakeEncoder:
    return comparing_by_words(monkeypatch)


async def opine(
    url: str, answer: Answer, verdict: str = "wrong", *, key: str = "key-a", **more: str
) -> Answer:
    """A client's opinion on an answer it got."""
    said = {"entry": answer.header("x-cache-entry"), "verdict": verdict} | more
    body = json.dumps(said).encode()
    return await call(url, "POST", FEEDBACK_PATH, fields=posting(key), body=body)


async def test_a_client_takes_a_wrong_answer_back(
    proxy: StartProxy, upstream: ScriptedUpstream, encoder: FakeEncoder
) -> None:
    log: list[bytes] = []
    async with proxy(NEAR, log=log) as app:
        await until(lambda: b"reprise_encoders 1.0" in app.exposition())
        await ask(app.url, question(STORED))
        assert figure(app, "semantic_entries") == 1  # a look settles what waits to be stored
        wrong = await ask(app.url, question(ASKED))
        assert (wrong.text, "detail=semantic" in wrong.cache) == ("answer 1", True)
        assert (await ask(app.url, question(ASKED))).is_hit
        told = await opine(app.url, wrong)
        assert (told.status, told.json()) == (
            200,
            {"entry": wrong.header("x-cache-entry"), "verdict": "wrong"},
        )
        assert told.header("Cache-Status") is None
        counted = b'reprise_feedback_total{level="%b",verdict="wrong"} %b'
        assert counted % (b"unknown", b"1.0") in app.exposition()
        assert counted % (b"semantic", b"0.0") in app.exposition()
        assert (await ask(app.url, question(STORED))).text == "answer 2"
        again = await ask(app.url, question(ASKED))
        assert (again.text, again.is_hit) == ("answer 3", False)
        assert (await opine(app.url, wrong)).status == 404
    assert upstream.calls == 3
    events = [json.loads(line) for line in log]
    assert [event["verdict"] for event in events if event["event"] == "feedback"] == ["wrong"]
    assert STORED.encode() not in b"".join(log)


async def test_a_conversation_does_not_go_on_from_what_was_taken_back(
    proxy: StartProxy, encoder: FakeEncoder
) -> None:
    def then(first: str) -> bytes:
        turns = [(first, "user"), ("answer 1", "assistant"), ("How old is it?", "user")]
        return question(messages=[{"role": role, "content": text} for text, role in turns])

    async with proxy(NEAR) as app:
        await until(lambda: b"reprise_encoders 1.0" in app.exposition())
        await ask(app.url, question(STORED))
        assert figure(app, "semantic_entries") == 1  # a look settles what waits to be stored
        wrong = await ask(app.url, question(ASKED))
        await ask(app.url, then(STORED))
        assert [(await ask(app.url, then(ASKED))).is_hit for _ in range(2)] == [True, True]
        await opine(app.url, wrong)
        assert (await ask(app.url, then(STORED))).is_hit
        assert not (await ask(app.url, then(ASKED))).is_hit


async def test_what_was_stored_in_a_conversation_that_went_on_from_a_wrong_answer_goes_too(
    proxy: StartProxy, encoder: FakeEncoder
) -> None:
    def then(first: str) -> bytes:
        turns = [(first, "user"), ("answer 1", "assistant"), ("How old is it?", "user")]
        return question(messages=[{"role": role, "content": text} for text, role in turns])

    async with proxy(NEAR) as app:
        await until(lambda: b"reprise_encoders 1.0" in app.exposition())
        await ask(app.url, question(STORED))
        assert figure(app, "semantic_entries") == 1  # a look settles what waits to be stored
        wrong = await ask(app.url, question(ASKED))
        assert not (await ask(app.url, then(ASKED))).is_hit
        assert (await ask(app.url, then(STORED))).is_hit  # they are one conversation as yet
        await opine(app.url, wrong)
        assert not (await ask(app.url, then(STORED))).is_hit


async def test_nobody_speaks_of_what_is_not_theirs(proxy: StartProxy, encoder: FakeEncoder) -> None:
    async with proxy(NEAR) as app:
        answer = [await ask(app.url) for _ in range(2)][1]
        refused = await opine(app.url, answer, key="key-b")
        assert refused.status == 404
        entry = answer.header("x-cache-entry")
        assert entry is not None
        assert entry in refused.json()["error"]["message"]
        assert (await ask(app.url)).is_hit
        assert (await opine(app.url, answer, "right")).status == 200
        assert (await ask(app.url)).is_hit


async def test_what_all_share_all_may_judge(proxy: StartProxy) -> None:
    async with proxy("tenancy: {scope: shared}") as app:
        answer = [await ask(app.url) for _ in range(2)][1]
        assert (await opine(app.url, answer, key="key-b")).status == 200
        assert not (await ask(app.url)).is_hit


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE"])
async def test_only_a_post_is_an_opinion(
    proxy: StartProxy, upstream: ScriptedUpstream, method: str
) -> None:
    async with proxy() as app:
        answer = await call(app.url, method, FEEDBACK_PATH, fields=posting())
    assert answer.status == 400
    assert upstream.calls == 0


async def test_a_flawed_opinion_stays_here(proxy: StartProxy, upstream: ScriptedUpstream) -> None:
    async with proxy() as app:
        answer = await call(app.url, "POST", FEEDBACK_PATH, fields=posting(), body=b'{"a": 1}')
    assert answer.status == 400
    assert answer.json()["error"]["message"]
    assert upstream.calls == 0
