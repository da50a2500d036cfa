"""Look an answer up by meaning, and take new ones in so that they are found (design 5 and 6).

Only the last user text is compared, inside the partition of everything else. All that takes time
(embedding, search) happens in the threads of the encoder and the index.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import NamedTuple, TypeAlias

from proxy.core.cache.change import Change, Learnt
from proxy.core.cache.freshness import age
from proxy.core.cache.outcome import MissReason
from proxy.core.cache.value import StoredResponse
from proxy.core.classify import Lookup
from proxy.core.exchange import Stage, Timed
from proxy.core.meaning.comparable import rule
from proxy.core.meaning.gate import Candidate, Finding, Gate
from proxy.core.meaning.language import language_of
from proxy.core.meaning.negatives import Negatives, text_digest
from proxy.core.meaning.outcome import Match, Meant, NoMatch
from proxy.core.meaning.text import Text
from proxy.core.meaning.uncompared import NotCompared, Uncompared
from proxy.core.policy import SemanticRules
from proxy.pipeline.adoption import Adoption
from proxy.pipeline.aliases import Aliases
from proxy.pipeline.groups import groups
from proxy.pipeline.known import KnownEntries, Partition
from proxy.pipeline.rewordings import Rewordings
from proxy.pipeline.space import LEARN_SECONDS, NEIGHBOURS, Space
from proxy.ports import Clock, Neighbour, Store, Vector
from proxy.tasks import Tasks

Recall: TypeAlias = Callable[[Sequence[bytes]], Awaitable[Collection[bytes]]]
"""Brings in entries that others have stored, by their exact keys, as far as they can be had.

Gives those under which there is nothing any more for anybody. Never raises.
"""
MAX_LEARNING = 256
"""Entries whose vectors are being made; more are found by their key alone."""
MAX_EMBEDDED = 1024
"""Vectors of questions that were not found, kept until their answers are there."""
MAX_TEXTS = 4096
"""Questions of entries that are kept as the guards read them."""
THREAD_ABOVE_CHARACTERS = 400
"""Longer texts are judged in a thread, so that the event loop stays free."""


class Explanation(NamedTuple):
    """What the level would do with a question, and why."""

    encoder: str
    """Empty where the question is not compared."""
    refusal: str
    """Why it is not compared."""
    findings: tuple[Finding, ...]
    """Of the nearest entries in its partition."""
    elsewhere: tuple[tuple[bytes, float, str], ...]
    """Near entries of other partitions: exact key, similarity, the first part that differs."""


class Meaning:
    """The semantic level."""

    def __init__(
        self,
        *,
        pick: Callable[[str], Space],
        gate: Gate,
        store: Store,
        aliases: Aliases,
        negatives: Negatives,
        clock: Clock,
        tasks: Tasks,
        note: Callable[[Change], None] | None = None,
        recall: Recall | None = None,
    ) -> None:
        """`pick` chooses by the script of a text, or raises NotCompared.

        `note` is told what is learnt, and what was answered by meaning. `recall` is needed where
        an index is shared.
        """
        self._pick = pick
        self._gate = gate
        self._store = store
        self._negatives = negatives
        self._clock = clock
        self._tasks = tasks
        self.judge = b""
        """The digest of what decides now; it goes along with what is noted."""
        self._recall = recall
        self._known = KnownEntries()
        self._adoption = Adoption(pick=pick, known=self._known, store=store, tasks=tasks, note=note)
        self._rewordings = Rewordings(
            store=store,
            aliases=aliases,
            judge=lambda: self.judge,
            clock=clock,
            tasks=tasks,
            note=note,
        )
        self._embedded: OrderedDict[bytes, tuple[Space, Vector]] = OrderedDict()
        self._texts: OrderedDict[bytes, Text] = OrderedDict()
        self._searching: dict[bytes, asyncio.Future[None]] = {}
        self._learning = 0

    def __len__(self) -> int:
        return len(self._known)

    def question(self, key: bytes) -> str | None:
        """The question of an entry that can be found by meaning, by its exact key."""
        known = self._known.get(key)
        return None if known is None else known.text

    async def find(self, plan: Lookup) -> Meant:
        """Look for an entry whose answer serves; takes `deadline` of the policy at most.

        Of several requests with one key the first looks; the others wait for it, and are told
        "repeated": there may be an answer or a call under way by now.
        """
        if plan.directives.no_cache:
            return NoMatch(MissReason.REQUEST)
        key = plan.key.exact
        under_way = self._searching.get(key)
        if under_way is not None:
            await asyncio.shield(under_way)
            return NoMatch("repeated")
        done = self._searching[key] = asyncio.get_running_loop().create_future()
        stages: list[Timed] = []
        meant: Meant
        try:
            async with asyncio.timeout(plan.policy.semantic.deadline):
                meant = await self._find(plan, stages)
        except NotCompared as refused:
            meant = NoMatch(refused.reason)
        except TimeoutError:
            meant = NoMatch(Uncompared.DEADLINE)
        finally:
            del self._searching[key]
            done.set_result(None)
        return replace(meant, stages=tuple(stages))

    async def _find(self, plan: Lookup, stages: list[Timed]) -> Meant:
        asked, space = await self._asked(plan)
        with self._timed(Stage.EMBED, stages):
            vector = await self._embed(plan, space, plan.policy.semantic.deadline)
        with self._timed(Stage.SEARCH, stages):
            neighbours = await self._near(plan, space, vector)
        with self._timed(Stage.GATE, stages):
            return await self._choose(plan, asked, space, neighbours)

    @contextmanager
    def _timed(self, stage: Stage, stages: list[Timed]) -> Iterator[None]:
        """Note how long it takes, also where it fails."""
        began = self._clock.monotonic()
        try:
            yield
        finally:
            stages.append(Timed(stage, began, self._clock.monotonic()))

    async def _choose(
        self, plan: Lookup, asked: Text, space: Space, neighbours: Sequence[Neighbour]
    ) -> Meant:
        """Judge what is near."""
        now = self._clock.now()
        for neighbour in neighbours:
            self._drop_expired(neighbour.key, now)
        candidates = [
            Candidate(neighbour.key, neighbour.similarity, self._text(neighbour.key))
            for neighbour in neighbours
            if self._is_of(neighbour.key, plan) and self.remaining(neighbour.key, plan, now) > 0
        ]
        if not candidates:
            return NoMatch("absent")
        if len(plan.text) > THREAD_ABOVE_CHARACTERS:
            findings = await asyncio.to_thread(self._judge, plan, asked, space, candidates)
        else:
            findings = self._judge(plan, asked, space, candidates)
        if not findings:
            return NoMatch("feedback", candidates[0].similarity)
        last = findings[-1]
        if last.may_serve:
            self._rewordings.answered(plan, last.candidate)
            return Match(last.candidate.key, last.candidate.similarity)
        nearest = findings[0]
        guard = nearest.objections[0].guard if nearest.objections else ""
        return NoMatch(nearest.reason, nearest.candidate.similarity, guard)

    def _drop_expired(self, key: bytes, now: float) -> None:
        # Else it would go on taking the place of one that may be served.
        known = self._known.get(key)
        if known is not None and known.until <= now:
            self.forget(key, is_evicted=True)

    async def _near(self, plan: Lookup, space: Space, vector: Vector) -> Sequence[Neighbour]:
        """The nearest entries of the partition; those that others have stored are brought in."""
        index, partition = space.index, plan.key.history
        neighbours = await index.search(partition, vector, NEIGHBOURS)
        if self._recall is None or not index.is_shared:
            return neighbours
        now = self._clock.now()
        missing = [near.key for near in neighbours if not self._is_here(near.key, now)]
        if missing:
            for key in await self._recall(missing):
                # Else it would go on taking the place of one that is there.
                index.discard(partition, key)
        return neighbours

    def _is_here(self, key: bytes, now: float) -> bool:
        known = self._known.get(key)
        return known is not None and known.until > now and self._store.peek(key) is not None

    def _is_of(self, key: bytes, plan: Lookup) -> bool:
        """Whether an entry is of a plan's partition, whatever an index beyond this process says."""
        known = self._known.get(key)
        return known is not None and known.partition.history == plan.key.history

    def remaining(self, key: bytes, plan: Lookup, now: float) -> float:
        """Seconds for which an entry may still be found for a plan; not positive if it may not.

        It keeps the lifetime it was given, but a policy that has become shorter since holds for it.
        """
        directives, policy = plan.directives, plan.policy
        known, stored = self._known.get(key), self._store.peek(key)
        if known is None or stored is None or stored.ttl <= 0:
            return 0.0
        longest = policy.semantic.ttl * (1 + policy.ttl_jitter)
        left = min(known.until - now, longest - age(stored, now))
        too_old = directives.max_age is not None and age(stored, now) > directives.max_age
        return 0.0 if too_old or left < (directives.min_fresh or 0.0) else left

    def is_wrong(self, target: bytes, asked: bytes) -> bool:
        """Whether somebody said that this entry does not serve a question, told by its digest."""
        own = self.digest(target)
        return own is not None and self._negatives.has(own, asked)

    def learn(self, plan: Lookup, stored: StoredResponse) -> None:
        """Take in an entry that was stored just now; its vector may come later."""
        self._rewordings.replace(plan)
        until = stored.created + _lifetime(plan, stored)
        embedded = self._embedded.pop(stored.key, None)
        known = self._known.get(stored.key)
        if known is not None:
            self._known.prolong(stored.key, until)
            self._learn_again(stored.key, known.partition, embedded, until)
            return
        if embedded is not None:
            self._add(plan, *embedded, until)
        elif plan.text and self._learning < MAX_LEARNING:
            self._learning += 1
            self._tasks.spawn(self._learn_later(plan, stored, until), "learn")

    def _learn_again(
        self, key: bytes, partition: Partition, embedded: tuple[Space, Vector] | None, until: float
    ) -> None:
        if embedded is not None and partition.index.is_shared:
            # It may have lost what it had.
            partition.index.add(partition.history, key, embedded[1], until=until)
            self._adoption.tell(key, *embedded)
            return
        partition.index.prolong(partition.history, key, until)
        self._adoption.tell_again(key)

    async def adopt(self, learnt: Sequence[Learnt]) -> None:
        """Take in what others have learnt of entries that are here."""
        await self._adoption.adopt(learnt)

    async def learnt(self, keys: Sequence[bytes]) -> list[Learnt]:
        """What is known of some entries, for others to take in."""
        return await self._adoption.learnt(keys)

    def forget(self, key: bytes, *, is_evicted: bool = False) -> None:
        """An entry is gone from the store: from now on it is not found.

        With `is_evicted` others may have it still, and it stays in an index that is shared.
        """
        known = self._known.pop(key)
        if known is not None:
            partition = known.partition
            if not (is_evicted and partition.index.is_shared):
                partition.index.discard(partition.history, key)
            self._texts.pop(key, None)

    def digest(self, key: bytes, text: str | None = None) -> bytes | None:
        """The digest of an entry's question, or of a text asked by whoever may have the entry."""
        known = self._known.get(key)
        if known is None:
            return None
        return text_digest(known.partition.scope, known.text if text is None else text)

    async def explain(self, plan: Lookup) -> Explanation:
        """What would happen to a question, with every guard's word on its nearest entries."""
        try:
            asked, space = await self._asked(plan)
            vector = await self._embed(plan, space, LEARN_SECONDS)
        except NotCompared as refused:
            return Explanation("", refused.reason, (), ())
        rules = plan.policy.semantic
        neighbours = await self._near(plan, space, vector)
        findings = self._gate.explain(
            asked,
            [
                Candidate(neighbour.key, neighbour.similarity, self._text(neighbour.key))
                for neighbour in neighbours
                if self._is_of(neighbour.key, plan)
            ],
            encoder=space.name,
            min_similarity=max(rules.min_similarity, plan.directives.threshold),
            max_error_rate=rules.max_error_rate,
        )
        elsewhere = [
            (near.key, near.similarity, _first_difference(plan, known.partition))
            for near in await space.index.search_all(vector, 2 * NEIGHBOURS)
            if (known := self._known.get(near.key)) is not None
            and known.partition.history != plan.key.history
        ]
        return Explanation(space.name, "", findings, tuple(elsewhere))

    async def same(self, texts: Sequence[str], rules: SemanticRules) -> list[list[int]]:
        """The texts that one answer would serve, as groups of two or more of their positions."""
        return await groups(texts, rules, read=self._read, gate=self._gate)

    async def _asked(self, plan: Lookup) -> tuple[Text, Space]:
        """A question as it is compared, and where. Raises NotCompared."""
        if plan.uncompared is not None:
            raise NotCompared(plan.uncompared)
        if len(plan.text) > THREAD_ABOVE_CHARACTERS:
            return await asyncio.to_thread(self._read, plan.text, plan.policy.semantic)
        return self._read(plan.text, plan.policy.semantic)

    def _read(self, text: str, rules: SemanticRules) -> tuple[Text, Space]:
        reason = rule(text, rules)
        if reason is not None:
            raise NotCompared(reason)
        space = self._pick(text)
        asked = Text(text)
        if language_of(asked) not in rules.languages:
            raise NotCompared(Uncompared.LANGUAGE)
        return asked, space

    async def _embed(self, plan: Lookup, space: Space, deadline: float) -> Vector:
        embedded = self._embedded.get(plan.key.exact)
        if embedded is not None:
            return embedded[1]
        vector = await space.encoder.embed(plan.text, deadline=deadline)
        self._embedded[plan.key.exact] = (space, vector)
        if len(self._embedded) > MAX_EMBEDDED:
            self._embedded.popitem(last=False)
        return vector

    def _judge(
        self, plan: Lookup, asked: Text, space: Space, candidates: Sequence[Candidate]
    ) -> tuple[Finding, ...]:
        rules, scope = plan.policy.semantic, plan.key.scope
        digest = text_digest(scope, plan.text)
        allowed = [
            candidate
            for candidate in candidates
            if not self._negatives.has(digest, text_digest(scope, candidate.text.original))
        ]
        return self._gate.judge(
            asked,
            allowed,
            encoder=space.name,
            min_similarity=max(rules.min_similarity, plan.directives.threshold),
            max_error_rate=rules.max_error_rate,
        )

    def _text(self, key: bytes) -> Text:
        """The question of a known entry, as the guards read it."""
        text = self._texts.get(key)
        if text is None:
            text = self._texts[key] = Text(self._known[key].text)
            if len(self._texts) > MAX_TEXTS:
                self._texts.popitem(last=False)
        else:
            self._texts.move_to_end(key)
        return text

    def _add(self, plan: Lookup, space: Space, vector: Vector, until: float) -> None:
        self._adoption.keep(plan.key, plan.text, space, until)
        space.index.add(plan.key.history, plan.key.exact, vector, until=until)
        self._adoption.tell(plan.key.exact, space, vector)

    async def _learn_later(self, plan: Lookup, stored: StoredResponse, until: float) -> None:
        try:
            _, space = await self._asked(plan)
            vector = await space.embed_patiently(plan.text)
        except NotCompared:
            return  # found by its key alone
        finally:
            self._learning -= 1
        if stored.key not in self._known and self._store.peek(stored.key) is stored:
            self._add(plan, space, vector, until)


def _first_difference(plan: Lookup, partition: Partition) -> str:
    if partition.scope != plan.key.scope:
        return "scope"
    return "settings" if partition.settings != plan.key.settings else "history"


def _lifetime(plan: Lookup, stored: StoredResponse) -> float:
    """Seconds for which an entry is found by meaning: with the same jitter as by its key."""
    policy = plan.policy
    if plan.directives.ttl is not None or policy.ttl <= 0:
        return min(stored.ttl, policy.semantic.ttl)
    return stored.ttl * policy.semantic.ttl / policy.ttl
