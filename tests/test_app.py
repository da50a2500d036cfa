"""What the composition root joins."""

import pytest

from tests.conftest import StartProxy
from tests.fakes.client import ask, question
from tests.fakes.upstream import ScriptedUpstream
from tests.watch import figure


async def test_models_go_to_the_upstream_that_names_them(proxy: StartProxy) -> None:
    async with ScriptedUpstream() as small, ScriptedUpstream() as rest:
        settings = (
            f"upstreams:\n  - {{url: '{small.url}', models: ['tiny-*', mini]}}\n"
            f"  - {{url: '{rest.url}'}}\n"
        )
        async with proxy(settings, upstream=None) as app:
            for model in ("tiny-1", "mini", "minor", "大模型"):
                await ask(app.url, question(model=model))
            await ask(app.url, question(model="tiny-2"), path="/v1/embeddings")
            await ask(app.url, b"no json")
    assert [seen.json()["model"] for seen in small.requests] == ["tiny-1", "mini", "tiny-2"]
    assert rest.calls == 3


async def test_a_route_overrides_what_it_names(proxy: StartProxy) -> None:
    settings = (
        "routes:\n"
        "  - {match: {model: 'never-*'}, bypass: {models: ['*']}}\n"
        "  - {match: {header: {x-app: batch}}, policy: {epoch: other}}\n"
    )
    async with proxy(settings) as app:
        never = question(model="never-1")
        assert [(await ask(app.url, never)).is_hit for _ in range(2)] == [False, False]
        assert [(await ask(app.url)).is_hit for _ in range(2)] == [False, True]
        batch = [("x-app", "batch")]
        assert [(await ask(app.url, fields=batch)).is_hit for _ in range(2)] == [False, True]


@pytest.mark.parametrize(
    ("bounds", "kept"),
    [("max_entries: 5", 5), ("max_bytes: 8KiB", 8), ("max_entries: 100", 20)],
)
async def test_memory_is_bounded_and_the_least_used_goes_first(
    proxy: StartProxy, bounds: str, kept: int
) -> None:
    async with proxy(f"memory: {{{bounds}}}") as app:
        for number in range(20):
            await ask(app.url, question(f"Q{number}"))
            await ask(app.url, question("Q0"))
        assert figure(app, "entries") <= kept
        assert figure(app, "store_bytes") <= 8192 or kept != 8
        assert figure(app, "evictions_total") == 20 - figure(app, "entries")
        assert (await ask(app.url, question("Q0"))).is_hit
        assert (await ask(app.url, question("Q19"))).is_hit
        assert (await ask(app.url, question("Q1"))).is_hit == (kept == 20)


async def test_figures_are_at_rest_when_nothing_happens(proxy: StartProxy) -> None:
    async with proxy() as app:
        await ask(app.url)
        for name in ("in_flight_requests", "flights"):
            assert figure(app, name) == 0
        assert figure(app, "entries") == 1
