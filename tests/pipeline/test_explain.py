"""What would happen to a request, and why; and that asking leaves no trace."""

from typing import Any

import pytest

from proxy.core.cache.outcome import Hit, Miss, MissReason, Stale
from proxy.core.classify import Bypass, BypassReason, Lookup, classify
from proxy.core.exchange import Level
from proxy.core.meaning.negatives import Negatives, text_digest
from proxy.core.meaning.uncompared import Uncompared
from proxy.core.model import Request, Shape
from proxy.core.policy import Policy, Rules, SemanticRules
from proxy.pipeline.acceptance import Acceptance
from proxy.pipeline.aliases import Alias, Aliases
from proxy.pipeline.explain import Account, Explainer
from proxy.store.memory import MemoryStore
from proxy.tasks import Tasks
from tests.core.values import NOW, OPERATIONS, SECRET, question, request, stored_response
from tests.fakes.clock import FakeClock
from tests.fakes.semantic import FakeEncoder, FakeLevel
from tests.pipeline.plans import POOL

POLICY = Policy(ttl=1000.0, ttl_jitter=0.0, semantic=SemanticRules(ttl=1000.0, min_similarity=0.7))
RESET = "How do I reset my password?"
REWORDED = "How can I reset my password?"
OTHER = "How can I reset my email?"


class Scene:
    """A store with answers in it, and somebody who explains."""

    def __init__(self, *, policy: Policy = POLICY, has_level: bool = True) -> None:
        self.rules = Rules(1, (POOL,), policy)
        self.clock = FakeClock(NOW)
        self.store = MemoryStore(max_bytes=1 << 20, max_entries=100, max_entry_bytes=1 << 20)
        self.aliases, self.negatives = Aliases(), Negatives()
        self.acceptance = Acceptance(FakeClock())
        self.encoder = FakeEncoder()
        self.tasks = Tasks(lambda name, error: pytest.fail(f"{name}: {error!r}"))
        self.level = FakeLevel(
            self.encoder,
            store=self.store,
            aliases=self.aliases,
            negatives=self.negatives,
            clock=self.clock,
            tasks=self.tasks,
        )
        meaning = self.level.meaning if has_level else None
        self.secret = SECRET
        self.explainer = Explainer(
            operations=OPERATIONS,
            secret=lambda: self.secret,
            store=self.store,
            aliases=self.aliases,
            negatives=self.negatives,
            acceptance=self.acceptance,
            clock=self.clock,
            meaning=lambda: meaning,
        )

    def plan(self, text: str, *fields: tuple[str, str], **members: Any) -> Lookup:
        """The plan of a question."""
        asked = request(question(text, **members), *fields)
        found = classify(asked, self.rules, OPERATIONS, SECRET)
        assert isinstance(found, Lookup)
        return found

    async def keep(self, text: str, *fields: tuple[str, str], **members: Any) -> Lookup:
        """Store an answer to a question, so that it is found."""
        plan = self.plan(text, *fields, **members)
        stored = stored_response(key=plan.key.exact, tenant=plan.tenant, ttl=1000.0)
        self.store.put(stored)
        self.level.meaning.learn(plan, stored)
        await self.tasks.drain(5)
        return plan

    async def explain(self, text: str, *fields: tuple[str, str], **members: Any) -> Account:
        """What would happen to a question."""
        found = await self.explainer.explain(
            request(question(text, **members), *fields), self.rules
        )
        assert isinstance(found, Account)
        return found


@pytest.fixture
def scene() -> Scene:
    return Scene()


async def test_what_is_left_alone_says_why(scene: Scene) -> None:
    asked: Request = request(question(RESET), ("Cache-Control", "no-store"))
    explained = await scene.explainer.explain(asked, scene.rules)
    assert isinstance(explained, Bypass)
    assert explained.reason is BypassReason.NO_STORE


async def test_the_same_question_is_an_exact_hit(scene: Scene) -> None:
    plan = await scene.keep(RESET)
    scene.clock.advance(100)
    account = await scene.explain(RESET)
    assert isinstance(account.outcome, Hit)
    assert account.outcome.level is Level.EXACT
    assert account.plan.key == plan.key
    assert account.stored is scene.store.peek(plan.key.exact)
    assert account.left == 900


async def test_the_same_in_other_words_is_a_semantic_hit(scene: Scene) -> None:
    plan = await scene.keep(RESET)
    account = await scene.explain(REWORDED)
    assert isinstance(account.outcome, Hit)
    assert (account.outcome.level, account.outcome.stored.key) == (
        Level.SEMANTIC,
        plan.key.exact,
    )
    assert account.outcome.similarity == pytest.approx(5 / 6)
    assert (account.encoder, account.refusal, account.objection) == ("by-words", "", "")
    assert account.stored is None


async def test_a_guard_says_what_differs(scene: Scene) -> None:
    await scene.keep("Can I cancel my order within 14 days?")
    account = await scene.explain("Can I cancel my order within 30 days?")
    assert account.outcome == Miss(MissReason.ABSENT)
    assert account.objection == "guard"
    (near,) = account.nearest
    assert [tuple(objection) for objection in near.finding.objections][:1] == [
        ("numbers", "14 days", "30 days")
    ]
    assert account.serving is None


async def test_what_is_too_far_says_so(scene: Scene) -> None:
    await scene.keep(RESET)
    account = await scene.explain("What is the capital of Norway?")
    assert (account.outcome, account.objection) == (Miss(MissReason.ABSENT), "similarity")


async def test_an_alias_is_told(scene: Scene) -> None:
    plan, asked = await scene.keep(RESET), scene.plan(REWORDED)
    scene.aliases.put(asked.key.exact, Alias(plan.key.exact, 0.9, b"", b""))
    account = await scene.explain(REWORDED)
    assert isinstance(account.outcome, Hit)
    assert (account.outcome.level, account.outcome.similarity) == (Level.ALIAS, 0.9)


async def test_a_pair_that_was_told_to_be_wrong_is_told(scene: Scene) -> None:
    plan = await scene.keep(RESET)
    scope = plan.key.scope
    scene.negatives.add(text_digest(scope, RESET), text_digest(scope, REWORDED))
    account = await scene.explain(REWORDED)
    assert account.outcome == Miss(MissReason.ABSENT)
    assert account.objection == "feedback"
    assert [near.is_negative for near in account.nearest] == [True]


async def test_what_is_too_old_for_meaning_is_shown_and_not_served(scene: Scene) -> None:
    await scene.keep(RESET)
    scene.clock.advance(1001)
    account = await scene.explain(REWORDED)
    assert (account.outcome, account.objection) == (Miss(MissReason.ABSENT), "absent")
    assert [near.left for near in account.nearest] == [0.0]


@pytest.mark.parametrize(
    ("fields", "members", "differs"),
    [
        ([("Authorization", "Bearer other")], {}, "scope"),
        ([], {"model": "m2"}, "settings"),
        ([], {"messages": "history"}, "history"),
    ],
)
async def test_what_is_near_elsewhere_tells_the_first_part_that_differs(
    scene: Scene, fields: list[tuple[str, str]], members: dict[str, Any], differs: str
) -> None:
    if members.get("messages") == "history":
        user = {"role": "user", "content": REWORDED}
        members = {"messages": [{"role": "system", "content": "Be brief."}, user]}
    plan = await scene.keep(RESET)
    account = await scene.explain(REWORDED, *fields, **members)
    assert account.nearest == ()
    (other,) = account.elsewhere
    assert (other.stored.key, other.differs) == (plan.key.exact, differs)
    assert account.objection == "absent"


@pytest.mark.parametrize(
    ("members", "refusal"),
    [({"seed": 1}, Uncompared.SEED), ({"n": 2}, Uncompared.CHOICES)],
)
async def test_what_is_not_compared_says_why(
    scene: Scene, members: dict[str, Any], refusal: Uncompared
) -> None:
    account = await scene.explain(RESET, **members)
    assert (account.encoder, account.refusal, account.objection) == ("", refusal, refusal)


async def test_an_encoder_that_fails_is_told(scene: Scene) -> None:
    scene.encoder.refusal = Uncompared.BROKEN
    assert (await scene.explain(RESET)).refusal == Uncompared.BROKEN


async def test_without_the_level_meaning_is_off() -> None:
    scene = Scene(has_level=False)
    plan = scene.plan(RESET)
    scene.store.put(stored_response(key=plan.key.exact, ttl=1000.0))
    assert isinstance((await scene.explain(RESET)).outcome, Hit)
    account = await scene.explain(REWORDED)
    assert (account.outcome, account.refusal) == (Miss(MissReason.ABSENT), Uncompared.OFF)


async def test_what_is_stale_is_told_with_what_would_be_done() -> None:
    scene = Scene(policy=Policy(ttl=1000.0, ttl_jitter=0.0, stale_while_revalidate=60.0))
    await scene.keep(RESET)
    scene.clock.advance(1030)
    account = await scene.explain(RESET)
    assert isinstance(account.outcome, Stale)
    assert account.left == -30


async def test_what_does_not_convert_is_a_miss_and_stays_as_it_is(scene: Scene) -> None:
    plan = await scene.keep(RESET)
    stored = scene.store.peek(plan.key.exact)
    account = await scene.explain(RESET, stream=True)
    assert account.plan.shape is Shape.SSE
    assert account.outcome == Miss(MissReason.SHAPE)
    assert stored is not None
    assert stored.derived is None


async def test_a_refused_caller_gets_nothing_by_meaning_either(scene: Scene) -> None:
    plan = await scene.keep(RESET)
    scene.acceptance.learn(plan.caller, 200)
    scene.acceptance.learn(plan.caller, 401)
    assert (await scene.explain(REWORDED)).outcome == Miss(MissReason.CREDENTIAL)


async def test_a_long_request_is_explained_too(scene: Scene) -> None:
    account = await scene.explain(RESET, padding="x" * 100_000)
    assert account.outcome == Miss(MissReason.ABSENT)


async def test_asking_leaves_no_trace(scene: Scene) -> None:
    first = await scene.keep(RESET)
    await scene.keep(OTHER)
    order = [stored.key for stored in scene.store.scan()]
    for text in (RESET, REWORDED, "Something else?"):
        await scene.explain(text)
        await scene.explain(text, model="m2")
    assert [stored.key for stored in scene.store.scan()] == order
    assert order[0] == first.key.exact
    assert (len(scene.aliases), len(scene.level.index), len(scene.tasks)) == (0, 2, 0)
