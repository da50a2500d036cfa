"""Meaning with the real encoders and the shipped verifier (B12, B51): served, and not served."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from proxy.app import App
from tests.conftest import Serve, StartProxy
from tests.fakes.client import Answer, Pairs, ask, call, question
from tests.fakes.models import prepared_models
from tests.fakes.process import DEADLINE
from tests.fakes.upstream import ScriptedUpstream
from tests.watch import figure, until

PATIENT = "semantic: {deadline: 10s}"
"""A busy machine shall not decide what is found."""
REWORDED = {
    "en": ("What is the capital city of Peru?", "Which city is the capital of Peru?"),
    "zh": ("怎么重置密码？", "请问如何重置密码？"),
}
NEAR_MISSES = [
    ("How do I convert 5 km to miles?", "How do I convert 8 km to miles?"),
    ("How do I enable dark mode?", "How do I disable dark mode?"),
    ("Which foods are safe for dogs?", "Which foods are not safe for dogs?"),
    ("What is the capital city of Peru?", "What is the capital city of Chile?"),
    (
        "Translate this letter from German to French.",
        "Translate this letter from French to German.",
    ),
    ("怎么把5公里换算成英里？", "怎么把8公里换算成英里？"),
    ("怎么打开夜间模式？", "怎么关闭夜间模式？"),
    ("狗可以吃葡萄吗？", "狗不可以吃葡萄吗？"),
    ("秘鲁的首都是哪里？", "智利的首都是哪里？"),
    ("What is the capital city of Peru?", "秘鲁的首都是哪里？"),
]
SPELLINGS = [
    ("Can you polish this for me?", "Can you Polish this for me?"),
    ("¿Cuántos años tienes?", "¿Cuántos anos tienes?"),
    ("What does x = 1\n  y mean?", "What does x = 1\ny mean?"),
    ("What is １２ times 3?", "What is 12 times 3?"),
    ("What does ﬁ mean?", "What does fi mean?"),
    ("What does 👩‍👧 mean?", "What does 👩👧 mean?"),
    ("Why is the sky blue?", "Why is the sky blue? "),
]


@pytest.fixture(autouse=True)
def _models(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REPRISE_MODELS", str(prepared_models()))


@pytest.fixture
def comparing(proxy: StartProxy) -> "Comparing":
    return Comparing(proxy)


class Comparing:
    """Starts a proxy, and waits until every encoder is loaded."""

    def __init__(self, proxy: StartProxy) -> None:
        self._proxy = proxy

    @asynccontextmanager
    async def __call__(self) -> AsyncIterator[App]:
        async with self._proxy(PATIENT) as app:
            await until(lambda: not app.semantic.is_loading)
            # The first text of its script loads the other one.
            await ask(app.url, question("你好，世界"), key="other")
            await until(lambda: figure(app, "semantic_entries") == 1)
            yield app


def detail(answer: Answer) -> str:
    """What Cache-Status says in particular."""
    return answer.cache.partition("detail=")[2]


async def stored(app: App, *texts: str, fields: Pairs = ()) -> None:
    """Ask, and wait until the answers are found by meaning."""
    before = figure(app, "semantic_entries")
    for text in texts:
        await ask(app.url, question(text), fields=fields)
    await until(lambda: figure(app, "semantic_entries") == before + len(texts))


async def test_a_rewording_is_served_in_both_languages(
    comparing: Comparing, upstream: ScriptedUpstream
) -> None:
    async with comparing() as app:
        await stored(app, *(first for first, _ in REWORDED.values()))
        calls = upstream.calls
        for text in (reworded for _, reworded in REWORDED.values()):
            answers = [await ask(app.url, question(text)) for _ in range(2)]
            assert [detail(answer) for answer in answers] == ["semantic", "alias"], text
            similarity = answers[0].header("x-cache-similarity")
            assert similarity is not None
            assert 0.5 < float(similarity) < 1
            assert len(similarity) == 6
        assert upstream.calls == calls


async def test_what_only_looks_alike_is_not(comparing: Comparing) -> None:
    async with comparing() as app:
        for number, (first, other) in enumerate(NEAR_MISSES):
            fields = [("x-cache-namespace", str(number))]
            await stored(app, first, fields=fields)
            assert not (await ask(app.url, question(other), fields=fields)).is_hit, (first, other)


async def test_no_spelling_is_another_ones_exact_key(comparing: Comparing) -> None:
    async with comparing() as app:
        for first, other in SPELLINGS:
            await ask(app.url, question(first))
            assert detail(await ask(app.url, question(other))) != "exact", other
            assert detail(await ask(app.url, question(first))) == "exact"


async def test_all_but_the_question_must_be_equal(comparing: Comparing) -> None:
    # B09 with real encoders: however near the question is.
    first, other = REWORDED["en"]

    def with_system(system: str, text: str) -> bytes:
        turns = [("system", system), ("user", text)]
        return question(messages=[{"role": role, "content": said} for role, said in turns])

    async with comparing() as app:
        await ask(app.url, with_system("Answer only in French.", first))
        await until(lambda: figure(app, "semantic_entries") == 2)
        assert not (await ask(app.url, with_system("Answer only in German.", other))).is_hit
        assert not (await ask(app.url, question(other))).is_hit
        assert (
            detail(await ask(app.url, with_system("Answer only in French.", other))) == "semantic"
        )


async def test_many_questions_at_once_do_not_block_each_other(
    comparing: Comparing, upstream: ScriptedUpstream
) -> None:
    async with comparing() as app:
        before = figure(app, "semantic_entries")
        texts = [f"What is the chemical symbol of element number {number}?" for number in range(40)]
        async with asyncio.TaskGroup() as group:
            asking = [group.create_task(ask(app.url, question(text))) for text in texts]
        assert {task.result().status for task in asking} == {200}
        assert not any(task.result().is_hit for task in asking)
        await until(lambda: figure(app, "semantic_entries") == before + len(texts))


async def test_the_command_serves_a_rewording_once_it_is_ready(
    serve: Serve, upstream: ScriptedUpstream
) -> None:
    async def seen(path: str, what: bytes) -> None:
        async with asyncio.timeout(DEADLINE):
            while what not in (await call(process.admin_url, "GET", path)).body:  # noqa: ASYNC110 - a process
                await asyncio.sleep(0.05)

    first, other = REWORDED["en"]
    async with serve("--upstream", upstream.url, semantic=True) as process:
        await seen("/readyz", b"ok")
        await ask(process.url, question(first))
        await seen("/metrics", b"reprise_semantic_entries 1.0")
        assert detail(await ask(process.url, question(other))) == "semantic"
    assert first not in process.stdout + process.stderr
