"""What other caches are told, against a scripted upstream. Whole chains are in e2e."""

import asyncio

import pytest

from proxy.core.policy import Policy, Pool
from proxy.pipeline import chain as module
from proxy.pipeline.chain import FEEDBACK_PATH, Chain
from proxy.tasks import Tasks
from proxy.telemetry.load import UpstreamLoad
from proxy.upstream.client import AiohttpUpstream
from tests.core.values import request
from tests.fakes.clock import FakeClock
from tests.fakes.upstream import Reply, ScriptedUpstream, error_reply, hang_up, json_reply
from tests.watch import until

SAID = {"entry": "aa-1", "verdict": "wrong"}
ASKED = request(b"{}", ("Authorization", "Bearer key-a"), ("x-cache-namespace", "n"))


class Scene:
    """A chain before one upstream."""

    def __init__(self, url: str) -> None:
        self.died: list[str] = []
        self.results: list[str] = []
        self.tasks = Tasks(lambda name, error: self.died.append(f"{name}: {error!r}"))
        self.upstream = AiohttpUpstream(
            max_connections=100,
            max_header_bytes=16384,
            via=b"1.1 here",
            tasks=self.tasks,
            load=UpstreamLoad(FakeClock().monotonic),
        )
        self.pool = Pool("centre", url, is_reprise=True, admin_url=url, admin_token="t")
        self.pools = [self.pool, Pool("model", url, admin_url=url)]
        self.chain = Chain(
            upstream=self.upstream,
            pools=lambda: self.pools,
            on_feedback=self.results.append,
            tasks=self.tasks,
            clock=FakeClock(),
        )

    def tell(self) -> None:
        """A client's opinion."""
        self.chain.feedback(ASKED, SAID, self.chain.pools, Policy())

    async def close(self) -> None:
        """Nothing has died."""
        await self.tasks.drain(0.0)
        await self.upstream.close()
        assert self.died == []


async def test_feedback_goes_with_the_client_s_credential(upstream: ScriptedUpstream) -> None:
    scene = Scene(upstream.url)
    scene.tell()
    seen = await upstream.received(1)
    await until(lambda: scene.results)
    assert (seen.method, seen.target, seen.json()) == ("POST", FEEDBACK_PATH, SAID)
    assert seen.header("Authorization") == "Bearer key-a"
    assert seen.header("x-cache-namespace") == "n"
    assert seen.header("Content-Length") == str(len(seen.body))
    assert scene.results == ["taken"]
    await scene.close()


@pytest.mark.parametrize(
    ("replies", "result", "calls"),
    [
        ([error_reply(404)], "unknown", 1),
        ([error_reply(401)], "unknown", 1),
        ([error_reply(500), error_reply(429), json_reply({})], "taken", 3),
        ([hang_up(), error_reply(502), error_reply(503)], "failed", 3),
        ([json_reply(b"x" * (2 << 20))] * 3, "failed", 3),
    ],
)
async def test_an_upstream_that_fails_is_told_again_a_few_times(
    upstream: ScriptedUpstream,
    monkeypatch: pytest.MonkeyPatch,
    replies: list[Reply],
    result: str,
    calls: int,
) -> None:
    monkeypatch.setattr(module, "PAUSES", (0.0, 0.0))
    upstream.will(*replies)
    scene = Scene(upstream.url)
    scene.tell()
    await until(lambda: scene.results)
    assert (scene.results, upstream.calls) == ([result], calls)
    await scene.close()


async def test_not_more_wait_than_there_is_room_for(
    upstream: ScriptedUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_WAITING", 2)
    gate = asyncio.Event()
    upstream.respond = lambda seen: json_reply({}, before_head=gate)
    scene = Scene(upstream.url)
    for _ in range(5):
        scene.tell()
    assert scene.results == ["dropped"] * 3
    gate.set()
    await until(lambda: len(scene.results) == 5)
    scene.tell()
    await until(lambda: len(scene.results) == 6)
    assert scene.results[3:] == ["taken"] * 3
    await scene.close()


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        (json_reply({"purged": 3}), {"purged": 3}),
        (error_reply(403, "Set admin.token"), {"error": "Set admin.token"}),
        (json_reply(b"[]", status=200), {"error": "it answered with 200"}),
        (json_reply(b"no", status=502), {"error": "it answered with 502"}),
        (json_reply({"error": "flat"}, status=400), {"error": "it answered with 400"}),
    ],
)
async def test_an_order_goes_to_the_admin_listener(
    upstream: ScriptedUpstream, reply: Reply, told: dict[str, object]
) -> None:
    upstream.will(reply)
    scene = Scene(upstream.url)
    assert await scene.chain.order("/admin/purge", {"all": True}, "änn") == [
        {"upstream": "centre", **told}
    ]
    seen = upstream.requests[0]
    assert (seen.target, seen.json()) == ("/admin/purge", {"all": True})
    assert (seen.header("Authorization"), seen.header("X-Actor")) == ("Bearer t", "?nn")
    assert seen.header("Via") == "1.1 here"
    await scene.close()


async def test_whoever_has_no_admin_listener_is_left_out(upstream: ScriptedUpstream) -> None:
    scene = Scene(upstream.url)
    scene.pools = [Pool("centre", upstream.url, is_reprise=True)]
    assert await scene.chain.order("/admin/purge", {}, "") == []
    assert upstream.calls == 0
    await scene.close()
