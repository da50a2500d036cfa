"""Look an answer up by meaning, and take new ones in so that they are found (design 5 and 6).

Only the last user text is compared, inside the partition of everything else. All that takes time
(embedding, search) happens in the threads of the encoder and the index.
"""

import asyncio
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

import orjson

from proxy.core.cache.change import Aliased, Change, Learnt
from proxy.core.cache.freshness import age
from proxy.core.cache.key import Key
from proxy.core.cache.outcome import MissReason
from proxy.core.cache.thread import answer_digest
from proxy.core.cache.value import StoredResponse
from proxy.core.classify import Lookup
from proxy.core.meaning.comparable import rule
from proxy.core.meaning.gate import Candidate, Finding, Gate
from proxy.core.meaning.language import language_of
from proxy.core.meaning.negatives import Negatives, text_digest
from proxy.core.meaning.outcome import Match, Meant, NoMatch
from proxy.core.meaning.text import Text
from proxy.core.meaning.uncompared import NotCompared, Uncompared
from proxy.core.meaning.vectors import from_bytes, to_bytes
from proxy.core.model import Shape
from proxy.core.policy import SemanticRules
from proxy.core.wire import sse
from proxy.core.wire.operation import Operation
from proxy.pipeline.aliases import Alias, Aliases
from proxy.pipeline.known import Known, KnownEntries, Partition
from proxy.pipeline.replay import THREAD_ABOVE_BYTES
from proxy.ports import Clock, Encoder, Neighbour, Store, Vector, VectorIndex
from proxy.tasks import Tasks

Recall: TypeAlias = Callable[[Sequence[bytes]], Awaitable[Collection[bytes]]]
"""Brings in entries that others have stored, by their exact keys, as far as they can be had.

Gives those under which there is nothing any more for anybody. Never raises.
"""
NEIGHBOURS = 5
"""Candidates of one look-up."""
LEARN_SECONDS = 30.0
"""How long the vector of a new entry may take; nobody waits for it."""
_LOADING_SECONDS = 0.25
"""How often is looked whether an encoder is loaded."""
MAX_LEARNING = 256
"""Entries whose vectors are being made; more are found by their key alone."""
MAX_EMBEDDED = 1024
"""Vectors of questions that were not found, kept until their answers are there."""
MAX_UNREAD = 100_000
"""Entries whose vectors wait to be made anew."""
MAX_TEXTS = 4096
"""Questions of entries that are kept as the guards read them."""
THREAD_ABOVE_CHARACTERS = 400
"""Longer texts are judged in a thread, so that the event loop stays free."""


@dataclass(frozen=True, slots=True, eq=False)
class Space:
    """An encoder, and the vectors that it made."""

    name: str
    """The model's, as the verifier knows it."""
    encoder: Encoder
    index: VectorIndex


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
        self._aliases = aliases
        self._negatives = negatives
        self._clock = clock
        self._tasks = tasks
        self._note = note
        self.judge = b""
        """The digest of what decides now; it goes along with what is noted."""
        self._recall = recall
        self._known = KnownEntries()
        self._by_index: dict[VectorIndex, Space] = {}
        self._embedded: OrderedDict[bytes, tuple[Space, Vector]] = OrderedDict()
        self._texts: OrderedDict[bytes, Text] = OrderedDict()
        self._searching: dict[bytes, asyncio.Future[None]] = {}
        self._learning = 0
        self._unread: deque[Learnt] = deque(maxlen=MAX_UNREAD)
        """What others have learnt with another encoder, and what was lost: to be made anew."""

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
        try:
            async with asyncio.timeout(plan.policy.semantic.deadline):
                return await self._find(plan)
        except NotCompared as refused:
            return NoMatch(refused.reason)
        except TimeoutError:
            return NoMatch(Uncompared.DEADLINE)
        finally:
            del self._searching[key]
            done.set_result(None)

    async def _find(self, plan: Lookup) -> Meant:
        asked, space = await self._asked(plan)
        vector = await self._embed(plan, space, plan.policy.semantic.deadline)
        neighbours = await self._near(plan, space, vector)
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
            self._answered(plan, last.candidate)
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
        self._replace_alias(plan)
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
            self._tell(key, *embedded)
            return
        partition.index.prolong(partition.history, key, until)
        if self._note is not None:
            self._tasks.spawn(self._tell_again(key), "learn")

    async def adopt(self, learnt: Sequence[Learnt]) -> None:
        """Take in what others have learnt of entries that are here.

        Vectors of another encoder are not looked at; they are made anew, little by little.
        """
        cells: dict[tuple[Space, bytes], list[Learnt]] = {}
        for one in learnt:
            if self._store.peek(one.key) is None:
                continue
            if one.key in self._known:
                self._known.prolong(one.key, one.until)
                continue
            try:
                space = self._pick(one.text)
            except NotCompared:
                continue
            if one.encoder and space.encoder.identity == one.encoder:
                cells.setdefault((space, one.history), []).append(one)
            else:
                self._read_later(one)
        for (space, history), cell in cells.items():
            vectors = from_bytes([one.vector for one in cell])
            latest = max(one.until for one in cell)
            await space.index.take_in(history, [one.key for one in cell], vectors, until=latest)
            for one in cell:
                self._keep(one, space)

    async def learnt(self, keys: Sequence[bytes]) -> list[Learnt]:
        """What is known of some entries, for others to take in.

        Vectors that a shared index has lost are made anew, little by little, and told then.
        """
        partitions: dict[Partition, list[bytes]] = {}
        for key in keys:
            known = self._known.get(key)
            if known is not None:
                partitions.setdefault(known.partition, []).append(key)
        found = []
        for partition, its_keys in partitions.items():
            space = self._by_index[partition.index]
            vectors = await space.index.vectors(partition.history, its_keys)
            for key in its_keys:
                known, vector = self._known.get(key), vectors.get(key)
                if known is not None and vector is not None:
                    found.append(_learnt(key, known, space, to_bytes(vector)))
                elif known is not None and space.index.is_shared:
                    self._read_later(_learnt(key, known, space, b""))  # it was lost there
        return found

    def _keep(self, one: Learnt, space: Space) -> None:
        # It may have gone, or have been learnt here, while the index took its vector.
        if self._store.peek(one.key) is None:
            if not space.index.is_shared:
                space.index.discard(one.history, one.key)
        elif one.key not in self._known:
            key = Key(one.scope, one.settings, one.history, one.key)
            self._by_index[space.index] = space
            self._known.add(key, one.text, space.index, one.until)

    def _read_later(self, one: Learnt) -> None:
        self._unread.append(replace(one, vector=b""))
        if len(self._unread) == 1:
            self._tasks.spawn(self._read_anew(), "embed-anew")

    async def _read_anew(self) -> None:
        while self._unread:
            one = self._unread[0]
            try:
                space = self._pick(one.text)
                vector = await _patiently(space.encoder, one.text)
            except NotCompared:
                pass  # found by its key alone
            else:
                is_wanted = one.key not in self._known or space.index.is_shared
                if is_wanted and self._store.peek(one.key) is not None:
                    space.index.add(one.history, one.key, vector, until=one.until)
                    self._keep(one, space)
                    self._tell(one.key, space, vector)
            self._unread.popleft()

    def _tell(self, key: bytes, space: Space, vector: Vector) -> None:
        known = self._known.get(key)
        if self._note is not None and known is not None:
            self._note(_learnt(key, known, space, to_bytes(vector)))

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
        """The texts that one answer would serve, as groups of two or more of their positions.

        A group is about its first text: the others would be served what is stored for that one.
        """
        groups: dict[bytes, list[int]] = {}
        firsts: list[tuple[bytes, Space, Text, Vector]] = []
        for position, text in enumerate(texts):
            try:
                asked, space = self._read(text, rules)
                vector = await space.encoder.embed(text, deadline=LEARN_SECONDS)
            except NotCompared:
                continue
            candidates = [
                Candidate(key, float(vector @ other), first)
                for key, its_space, first, other in firsts
                if its_space is space
            ]
            candidates.sort(key=lambda candidate: -candidate.similarity)
            findings = self._gate.judge(
                asked,
                candidates[:NEIGHBOURS],
                encoder=space.name,
                min_similarity=rules.min_similarity,
                max_error_rate=rules.max_error_rate,
            )
            if findings and findings[-1].may_serve:
                groups[findings[-1].candidate.key].append(position)
            else:
                key = b"%d" % position
                groups[key] = [position]
                firsts.append((key, space, asked, vector))
        return [group for group in groups.values() if len(group) > 1]

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

    def _answered(self, plan: Lookup, candidate: Candidate) -> None:
        """A repeat need not be compared again, and the conversation may go on as the other's."""
        stored = self._store.get(candidate.key)
        if stored is None or candidate.key == plan.key.exact:
            return
        asked = text_digest(plan.key.scope, plan.text)
        alias = Alias(candidate.key, candidate.similarity, asked, b"")
        self._put_alias(plan, alias)
        self._tasks.spawn(self._note_answer(plan, stored, alias), "thread")

    async def _note_answer(self, plan: Lookup, stored: StoredResponse, alias: Alias) -> None:
        if len(stored.body) > THREAD_ABOVE_BYTES:
            text = await asyncio.to_thread(_spoken, stored, plan.operation)
        else:
            text = _spoken(stored, plan.operation)
        # Unless feedback has taken it back meanwhile.
        if text and self._aliases.get(plan.key.exact) is alias:
            self._put_alias(plan, alias._replace(answer=answer_digest(text)))

    def _put_alias(self, plan: Lookup, alias: Alias) -> None:
        key = plan.key.exact
        self._aliases.put(key, alias)
        if self._note is not None:
            self._note(Aliased(key, *alias, judge=self.judge, at=self._clock.now()))

    def _replace_alias(self, plan: Lookup) -> None:
        alias = self._aliases.pop(plan.key.exact)
        if alias is not None and plan.directives.no_cache:
            # The client would not have what was stored: its fresh answer takes the place of both.
            self._store.delete(alias.target)

    def _add(self, plan: Lookup, space: Space, vector: Vector, until: float) -> None:
        self._by_index[space.index] = space
        self._known.add(plan.key, plan.text, space.index, until)
        space.index.add(plan.key.history, plan.key.exact, vector, until=until)
        self._tell(plan.key.exact, space, vector)

    async def _learn_later(self, plan: Lookup, stored: StoredResponse, until: float) -> None:
        try:
            _, space = await self._asked(plan)
            vector = await _patiently(space.encoder, plan.text)
        except NotCompared:
            return  # found by its key alone
        finally:
            self._learning -= 1
        if stored.key not in self._known and self._store.peek(stored.key) is stored:
            self._add(plan, space, vector, until)

    async def _tell_again(self, key: bytes) -> None:
        for one in await self.learnt([key]):
            if self._note is not None:
                self._note(one)


def _learnt(key: bytes, known: Known, space: Space, vector: bytes) -> Learnt:
    partition = known.partition
    return Learnt(
        key=key,
        scope=partition.scope,
        settings=partition.settings,
        history=partition.history,
        text=known.text,
        until=known.until,
        encoder=space.encoder.identity,
        vector=vector,
    )


async def _patiently(encoder: Encoder, text: str) -> Vector:
    """The vector of a text, even of one that made the encoder load."""
    for _ in range(int(LEARN_SECONDS / _LOADING_SECONDS)):
        try:
            return await encoder.embed(text, deadline=LEARN_SECONDS)
        except NotCompared as refused:
            if refused.reason is not Uncompared.LOADING:
                raise
        await asyncio.sleep(_LOADING_SECONDS)
    raise NotCompared(Uncompared.LOADING)


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


def _spoken(stored: StoredResponse, operation: Operation) -> str | None:
    """The text of a stored answer; None where it is more, or other, than text."""
    body: bytes | None = stored.body
    if stored.shape is Shape.SSE:
        body = operation.to_document(sse.split(stored.body)[0])
    document = orjson.loads(body) if body else {}
    try:
        message = document["choices"][0]["message"]
        text = None if message.get("tool_calls") else message["content"]
    except (LookupError, TypeError, AttributeError):
        return None
    return text if isinstance(text, str) else None
