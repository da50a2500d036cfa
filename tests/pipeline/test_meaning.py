"""Looking by meaning: what is found, what never is, what a request waits for (B09, B47, B50)."""

import asyncio
import re
from dataclasses import replace
from typing import Any

import pytest

from proxy.core.cache.selector import Selector
from proxy.core.classify import Lookup
from proxy.core.meaning.outcome import Match, NoMatch
from proxy.core.meaning.uncompared import Uncompared
from proxy.core.policy import Policy
from proxy.core.wire.operation import JsonObject
from proxy.pipeline import meaning
from proxy.pipeline.purge import purge
from tests.fakes.semantic import NAME, vector_of
from tests.pipeline.level import ASKED, NEAR, OTHER, POLICY, STORED, Level, follow_up, near

SIMILARITY = float(vector_of(STORED) @ vector_of(ASKED))


@pytest.fixture
async def level() -> Level:
    return Level()


def with_rules(**members: Any) -> Policy:
    return replace(POLICY, semantic=replace(NEAR, **members))


async def test_a_rewording_is_found_with_its_similarity(level: Level) -> None:
    stored = await level.know(near(STORED))
    meant = await level.meaning.find(near(ASKED))
    assert isinstance(meant, Match)
    assert meant.key == stored.key
    assert meant.similarity == pytest.approx(SIMILARITY)
    assert level.meaning.question(stored.key) == STORED
    assert len(level.meaning) == len(level.index) == 1


async def test_another_question_is_not(level: Level) -> None:
    assert await level.why(near(ASKED)) == "absent"
    await level.know(near(STORED))
    meant = await level.meaning.find(near(OTHER))
    assert isinstance(meant, NoMatch)
    assert (meant.reason, meant.guard) == ("similarity", "")
    assert meant.nearest is not None
    assert meant.nearest < 0.7


async def test_a_guard_that_objects_is_named(level: Level) -> None:
    await level.know(near("How long does it take to walk 5 km in the park?"))
    meant = await level.meaning.find(near("How long does it take to walk 8 km in the park?"))
    assert isinstance(meant, NoMatch)
    assert (meant.reason, meant.guard) == ("guard", "numbers")
    assert meant.nearest is not None
    assert meant.nearest > 0.8


SYSTEM: JsonObject = {"role": "system", "content": "Answer in French."}
TURN: list[JsonObject] = [
    {"role": "user", "content": "Hello"},
    {"role": "assistant", "content": "Hi."},
]
TOOL: JsonObject = {"type": "function", "function": {"name": "ls"}}
NOT_HERE: dict[str, Lookup] = {
    "tenant": near(ASKED, ("Authorization", "Bearer other")),
    "namespace": near(ASKED, ("x-cache-namespace", "n")),
    "organisation": near(ASKED, ("OpenAI-Organization", "o")),
    "model": near(ASKED, model="m2"),
    "temperature": near(ASKED, temperature=0.5),
    "max_tokens": near(ASKED, max_tokens=5),
    "response_format": near(ASKED, response_format={"type": "json_object"}),
    "unknown member": near(ASKED, x_unknown=1),
    "system prompt": near(messages=[SYSTEM, {"role": "user", "content": ASKED}]),
    "history": near(messages=[*TURN, {"role": "user", "content": ASKED}]),
    "tools": near(ASKED, tools=[TOOL], policy=with_rules(tools=True)),
    "epoch": near(ASKED, policy=replace(POLICY, epoch="2")),
}


@pytest.mark.parametrize("part", NOT_HERE)
async def test_nothing_is_found_where_anything_else_differs(level: Level, part: str) -> None:
    await level.know(near(STORED))
    assert await level.why(NOT_HERE[part]) == "absent"


@pytest.mark.parametrize("part", NOT_HERE)
async def test_what_is_equal_in_all_else_is_found(level: Level, part: str) -> None:
    asked = NOT_HERE[part]
    last = {"role": "user", "content": STORED}
    body = {"system prompt": [SYSTEM, last], "history": [*TURN, last]}.get(part)
    await level.know(near(STORED))
    # The same request but for the words of the question.
    twin = asked._replace(
        text=STORED, key=asked.key._replace(exact=near(STORED, model=part).key.exact)
    )
    assert body is None or near(messages=body).key.history == asked.key.history
    stored = await level.know(twin)
    assert await level.finds(asked) == stored.key


@pytest.mark.parametrize("member", ["user", "metadata", "stream", "prompt_cache_key"])
async def test_what_does_not_count_in_the_key_does_not_count_here(
    level: Level, member: str
) -> None:
    stored = await level.know(near(STORED))
    value: object = {"stream": True, "metadata": {"a": "b"}}.get(member, "x")
    assert await level.finds(near(ASKED, **{member: value})) == stored.key


async def test_what_is_found_by_meaning_has_a_lifetime_of_its_own(level: Level) -> None:
    policy = with_rules(ttl=100.0)
    stored = await level.know(near(STORED, policy=policy))
    asked = near(ASKED, policy=policy)
    now = level.clock.now()
    assert level.meaning.remaining(stored.key, asked, now) == 100.0
    level.clock.advance(99.0)
    assert await level.finds(asked) == stored.key
    level.clock.advance(1.0)
    assert await level.why(asked) == "absent"
    assert level.meaning.remaining(stored.key, asked, level.clock.now()) == 0.0
    again = await level.know(near(STORED, policy=policy))
    assert await level.finds(asked) == again.key


async def test_its_jitter_is_that_of_the_exact_lifetime(level: Level) -> None:
    policy = replace(POLICY, ttl_jitter=0.1, semantic=replace(NEAR, ttl=500.0))
    asked = near(ASKED, policy=policy)
    stored = await level.know(near(STORED, policy=policy), ttl=1100.0)
    assert level.meaning.remaining(stored.key, asked, level.clock.now()) == pytest.approx(550.0)
    stored = await level.know(near(STORED, policy=policy), ttl=900.0)
    assert level.meaning.remaining(stored.key, asked, level.clock.now()) == pytest.approx(450.0)


@pytest.mark.parametrize(("asked_for", "lifetime"), [("60", 60.0), ("800", 500.0)])
async def test_a_client_can_only_shorten_it(level: Level, asked_for: str, lifetime: float) -> None:
    policy = with_rules(ttl=500.0)
    stored = await level.know(
        near(STORED, ("x-cache-ttl", asked_for), policy=policy), ttl=float(asked_for)
    )
    asked = near(ASKED, policy=policy)
    assert level.meaning.remaining(stored.key, asked, level.clock.now()) == lifetime


async def test_a_policy_that_has_become_shorter_holds_for_what_is_there(level: Level) -> None:
    stored = await level.know(near(STORED))
    level.clock.advance(60.0)
    assert await level.finds(near(ASKED, policy=with_rules(ttl=61.0))) == stored.key
    assert await level.why(near(ASKED, policy=with_rules(ttl=60.0))) == "absent"


@pytest.mark.parametrize(
    ("control", "is_found"),
    [
        ("max-age=30", True),
        ("max-age=29", False),
        ("max-age=soon", False),
        ("min-fresh=970", True),
        ("min-fresh=971", False),
        ("max-stale=99", True),
        ("only-if-cached", True),
    ],
)
async def test_a_clients_wishes_hold_for_what_is_found(
    level: Level, control: str, *, is_found: bool
) -> None:
    stored = await level.know(near(STORED))
    level.clock.advance(30.0)
    asked = near(ASKED, ("Cache-Control", control))
    assert await level.finds(asked) == (stored.key if is_found else None)


async def test_no_cache_finds_nothing_and_makes_no_vector(level: Level) -> None:
    await level.know(near(STORED))
    level.encoder.texts.clear()
    assert await level.why(near(ASKED, ("Cache-Control", "no-cache"))) == "request"
    assert level.encoder.texts == []


@pytest.mark.parametrize(("threshold", "is_found"), [("0.9", True), ("0.95", False)])
async def test_a_client_may_ask_for_more_similarity(
    level: Level, threshold: str, *, is_found: bool
) -> None:
    stored = await level.know(near(STORED))
    found = await level.finds(near(ASKED, ("x-cache-threshold", threshold)))
    assert found == (stored.key if is_found else None)


async def test_a_client_cannot_ask_for_less(level: Level) -> None:
    await level.know(near(STORED))
    strict = with_rules(min_similarity=0.99)
    asked = near(ASKED, ("x-cache-threshold", "0.1"), policy=strict)
    assert await level.why(asked) == "similarity"


async def test_what_was_evicted_never_comes_back() -> None:
    level = Level(max_entries=2)
    first = await level.know(near(STORED))
    assert await level.finds(near(ASKED)) == first.key
    for text in (OTHER, "Where do penguins live?"):
        await level.know(near(text))
    assert await level.why(near(ASKED + "!")) == "similarity"
    assert level.meaning.question(first.key) is None
    assert len(level.meaning) == len(level.index) == 2


@pytest.mark.parametrize("soft", [False, True])
async def test_what_was_purged_never_comes_back(level: Level, *, soft: bool) -> None:
    stored = await level.know(near(STORED))
    assert await purge(level.store, Selector(model="m1"), soft=soft) == 1
    assert await level.why(near(ASKED)) == "absent"
    assert level.meaning.remaining(stored.key, near(ASKED), level.clock.now()) == 0.0
    again = await level.know(near(STORED))
    assert await level.finds(near(ASKED)) == again.key


async def test_an_answer_that_is_purged_while_its_vector_is_made_is_not_taken_in(
    level: Level,
) -> None:
    level.encoder.may_answer.clear()
    stored = level.put(near(STORED))
    level.store.delete(stored.key)
    level.encoder.may_answer.set()
    await level.settled()
    assert len(level.meaning) == len(level.index) == 0


async def test_of_two_answers_to_a_question_the_later_one_is_taken_in(level: Level) -> None:
    level.encoder.may_answer.clear()
    level.put(near(STORED))
    level.clock.advance(5.0)
    later = level.put(near(STORED), "Lima!")
    level.encoder.may_answer.set()
    await level.settled()
    assert len(level.meaning) == len(level.index) == 1
    left = level.meaning.remaining(later.key, near(ASKED), level.clock.now())
    assert left == 1000.0


async def test_a_vector_made_for_the_look_up_is_used_for_the_answer(level: Level) -> None:
    asked = near(STORED)
    assert await level.why(asked) == "absent"
    stored = level.put(asked)
    assert level.encoder.texts == [STORED]
    assert len(level.tasks) == 0
    assert await level.finds(near(ASKED)) == stored.key


async def test_an_answer_whose_vector_was_late_is_learned_later(level: Level) -> None:
    level.encoder.may_answer.clear()
    asked = near(STORED, policy=with_rules(deadline=0.0))
    assert await level.why(asked) == Uncompared.DEADLINE
    stored = level.put(asked)
    assert len(level.meaning) == 0
    level.encoder.may_answer.set()
    await level.settled()
    assert await level.finds(near(ASKED)) == stored.key


async def test_many_late_vectors_are_bounded(level: Level, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(meaning, "MAX_LEARNING", 2)
    level.encoder.may_answer.clear()
    for number in range(5):
        level.put(near(f"What is the capital of country {number}?"))
    assert len(level.tasks) == 2
    level.encoder.may_answer.set()
    await level.settled()
    assert len(level.meaning) == 2
    await level.know(near(STORED))
    assert len(level.meaning) == 3


async def test_vectors_and_texts_that_are_kept_are_bounded(
    level: Level, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(meaning, "MAX_EMBEDDED", 2)
    monkeypatch.setattr(meaning, "MAX_TEXTS", 1)
    questions = [f"What is the capital of country {number}?" for number in range(4)]
    for text in questions:
        await level.meaning.find(near(text))
    for text in questions:
        await level.know(near(text))
    for text in questions:
        await level.meaning.find(near(f"Please, {text}"))
    assert len(level.meaning._embedded) == 2
    assert len(level.meaning._texts) == 1


async def test_concurrent_repeats_are_embedded_once(level: Level) -> None:
    await level.know(near(STORED))
    level.encoder.texts.clear()
    level.encoder.may_answer.clear()
    async with asyncio.TaskGroup() as group:
        finding = [group.create_task(level.meaning.find(near(ASKED))) for _ in range(5)]
        while not level.encoder.texts:  # noqa: ASYNC110 - until the first has asked
            await asyncio.sleep(0)
        level.encoder.may_answer.set()
    assert level.encoder.texts == [ASKED]
    assert isinstance(finding[0].result(), Match)
    assert [task.result() for task in finding[1:]] == [NoMatch("repeated")] * 4


async def test_whoever_leaves_harms_nobody_and_leaves_nothing_behind(level: Level) -> None:
    level.encoder.may_answer.clear()
    async with asyncio.TaskGroup() as group:
        first, waiting, patient = (
            group.create_task(level.meaning.find(near(ASKED))) for _ in range(3)
        )
        while not level.encoder.texts:  # noqa: ASYNC110 - until the first has asked
            await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.sleep(0)
        assert not first.done()
        first.cancel()
    assert patient.result() == NoMatch("repeated")
    assert first.cancelled()
    assert waiting.cancelled()
    assert level.meaning._searching == {}
    level.encoder.may_answer.set()
    assert await level.why(near(ASKED)) == "absent"


async def test_a_look_up_takes_no_longer_than_its_deadline(level: Level) -> None:
    await level.know(near(STORED))
    level.encoder.may_answer.clear()
    assert await level.why(near(ASKED, policy=with_rules(deadline=0.01))) == Uncompared.DEADLINE
    level.encoder.may_answer.set()
    assert await level.finds(near(ASKED)) is not None


async def test_a_slow_index_is_no_longer_waited_for_either(
    level: Level, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never(*arguments: object) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(level.index, "search", never)
    assert await level.why(near(ASKED, policy=with_rules(deadline=0.01))) == Uncompared.DEADLINE


@pytest.mark.parametrize(
    "reason", [Uncompared.BUSY, Uncompared.MISSING, Uncompared.TOO_LONG, Uncompared.BROKEN]
)
async def test_what_the_encoder_refuses_is_found_by_its_key_alone(
    level: Level, reason: Uncompared
) -> None:
    level.encoder.refusal = reason
    assert await level.why(near(STORED)) == reason
    stored = await level.know(near(STORED))
    assert level.store.get(stored.key) is stored
    assert len(level.meaning) == 0
    assert level.meaning.digest(stored.key) is None
    level.encoder.refusal = None
    assert await level.why(near(ASKED)) == "absent"


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        (near(ASKED, seed=1), Uncompared.SEED),
        (near(ASKED, policy=with_rules(enabled=False)), Uncompared.OFF),
        (near(" "), Uncompared.EMPTY),
        (near(ASKED, policy=with_rules(keywords=("capital",))), Uncompared.RULE_KEYWORD),
        (near(ASKED, policy=with_rules(patterns=(re.compile("Per."),))), Uncompared.RULE_PATTERN),
        (near("Wie heißt die Hauptstadt von Peru und warum?"), Uncompared.LANGUAGE),
        (near("42?"), Uncompared.LANGUAGE),
    ],
)
async def test_what_is_not_compared_is_neither_found_nor_learned(
    level: Level, asked: Lookup, reason: Uncompared
) -> None:
    await level.know(near(STORED))
    level.encoder.texts.clear()
    assert await level.why(asked) == reason
    await level.know(asked)
    assert level.encoder.texts == []
    assert len(level.meaning) == 1


async def test_languages_without_guards_are_compared_where_the_operator_says_so(
    level: Level,
) -> None:
    policy = with_rules(languages=frozenset({"other"}))
    text = "Wie heißt die Hauptstadt von Peru und warum?"
    stored = await level.know(near(text, policy=policy))
    assert await level.finds(near(f"{text}?", policy=policy)) == stored.key
    assert await level.why(near(ASKED, policy=policy)) == Uncompared.LANGUAGE


async def test_a_script_that_nobody_serves_is_not_compared() -> None:
    level = Level()
    level.fake.refusal = Uncompared.SCRIPT
    assert await level.why(near(ASKED)) == Uncompared.SCRIPT
    await level.know(near(STORED))
    assert len(level.meaning) == 0


async def test_a_long_text_is_judged_in_a_thread(
    level: Level, monkeypatch: pytest.MonkeyPatch
) -> None:
    loops: list[bool] = []
    judge = level.meaning._gate.judge

    def watched(*arguments: Any, **members: Any) -> Any:
        loops.append(asyncio._get_running_loop() is not None)
        return judge(*arguments, **members)

    monkeypatch.setattr(level.meaning._gate, "judge", watched)
    long = "It is about a small town by the sea. " * 20 + STORED
    stored = await level.know(near(long))
    assert await level.finds(near(long + "?")) == stored.key
    await level.know(near(STORED))
    assert await level.finds(near(ASKED)) is not None
    assert loops == [False, True]


async def test_a_question_finds_no_answer_of_its_own_key_twice(level: Level) -> None:
    # Somebody stored it while this request was looking: it is found, and is no alias of itself.
    stored = await level.know(near(STORED))
    assert await level.finds(near(STORED)) == stored.key
    assert level.aliases.get(stored.key) is None


async def test_what_is_gone_when_it_is_found_leaves_no_alias(
    level: Level, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = await level.know(near(STORED))
    judge = level.meaning._gate.judge

    def taken_back_meanwhile(*arguments: Any, **members: Any) -> Any:
        level.store.delete(stored.key)
        return judge(*arguments, **members)

    monkeypatch.setattr(level.meaning._gate, "judge", taken_back_meanwhile)
    await level.finds(near(ASKED))
    assert len(level.aliases) == 0


async def test_a_pair_told_to_be_wrong_is_not_found_again(level: Level) -> None:
    asked = near(ASKED)
    stored = await level.know(near(STORED))
    own = level.meaning.digest(stored.key)
    told = level.meaning.digest(stored.key, ASKED)
    assert own is not None
    assert told is not None
    level.negatives.add(own, told)
    meant = await level.meaning.find(asked)
    assert isinstance(meant, NoMatch)
    assert meant.reason == "feedback"
    assert meant.nearest == pytest.approx(SIMILARITY)
    assert await level.finds(near(f"{STORED}?")) == stored.key
    level.store.delete(stored.key)
    await level.know(near(STORED))
    assert await level.why(asked) == "feedback"


async def test_the_next_nearest_serves_where_the_nearest_was_told_to_be_wrong(
    level: Level,
) -> None:
    nearest = await level.know(near(STORED))
    other = await level.know(near("Please, please: what is the capital city of Peru?"))
    own, told = level.meaning.digest(nearest.key), level.meaning.digest(nearest.key, ASKED)
    assert own is not None
    assert told is not None
    level.negatives.add(own, told)
    assert await level.finds(near(ASKED)) == other.key


async def test_an_explanation_tells_what_is_near_here_and_elsewhere(level: Level) -> None:
    here = await level.know(near(STORED))
    far = await level.know(near(OTHER))
    elsewhere = {
        "scope": await level.know(near(STORED, ("x-cache-namespace", "n"))),
        "settings": await level.know(near(STORED, model="m2")),
        "history": await level.know(follow_up("Hello", "Hi.", level, last=STORED)),
    }
    told = await level.meaning.explain(near(ASKED))
    assert (told.encoder, told.refusal) == (NAME, "")
    assert [finding.candidate.key for finding in told.findings] == [here.key, far.key]
    assert [finding.may_serve for finding in told.findings] == [True, False]
    assert {(key, differs) for key, _, differs in told.elsewhere} == {
        (stored.key, part) for part, stored in elsewhere.items()
    }
    assert len(level.aliases) == 0


async def test_an_explanation_tells_why_nothing_is_compared(level: Level) -> None:
    await level.know(near(STORED))
    assert (await level.meaning.explain(near(ASKED, seed=1))).refusal == Uncompared.SEED
    level.encoder.refusal = Uncompared.TOO_LONG
    told = await level.meaning.explain(near(ASKED))
    assert told == meaning.Explanation("", Uncompared.TOO_LONG, (), ())
