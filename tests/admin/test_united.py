"""Several workers are one to the operator."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from aiohttp import web

from proxy.admin import member, united
from proxy.admin.listener import MAX_BODY_BYTES
from proxy.admin.member import Member
from proxy.admin.united import RESTARTING, Fleet, UnitedListener
from tests.admin.serving import serving
from tests.fakes.client import Answer, Pairs, call, connect

TOKEN = "s3cret-token"
Script: TypeAlias = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass
class Worker:
    """A worker that says what the test has it say, and keeps what it was asked."""

    told: Any = field(default_factory=dict)
    status: int = 200
    script: Script | None = None
    reads: bool = True
    asked: list[tuple[str, str, bytes]] = field(default_factory=list)
    fields: list[dict[str, str]] = field(default_factory=list)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        body = await request.read() if self.reads else b""
        self.asked.append((request.method, request.path_qs, body))
        self.fields.append({name.lower(): value for name, value in request.headers.items()})
        if self.script is not None:
            return await self.script(request)
        if isinstance(self.told, str):
            return web.Response(text=self.told, status=self.status)
        return web.json_response(self.told, status=self.status)


@dataclass
class United:
    """A listener over workers."""

    url: str
    members: list[Member]
    state: list[str]

    async def ask(
        self, method: str, path: str, body: bytes | None = None, fields: Pairs = ()
    ) -> Answer:
        shown = [("Authorization", f"Bearer {TOKEN}"), *fields]
        return await call(self.url, method, path, fields=shown, body=body)


@contextlib.asynccontextmanager
async def listening(tmp_path: Path, *workers: Worker, token: str = TOKEN) -> AsyncIterator[United]:
    """The listener before workers 1, 2 and so on, and one more that has died unnoticed."""
    async with contextlib.AsyncExitStack() as stack:
        members = [Member(9, 0, str(tmp_path / "gone.sock"))]
        for number, worker in enumerate(workers, 1):
            app = web.Application()
            app.router.add_route("*", "/{path:.*}", worker.answer)
            path = tmp_path / f"{number}.sock"
            await stack.enter_async_context(serving(app, path))
            members.append(Member(number, 0, str(path)))
        state = ["ok"]
        listener = UnitedListener(
            Fleet(
                count=len(workers),
                token=token,
                members=lambda: members,
                restarts=lambda: 3,
                state=lambda: state[0],
            )
        )
        bound = socket.create_server(("127.0.0.1", 0))
        await listener.start(bound)
        stack.push_async_callback(listener.stop)
        yield United(f"http://127.0.0.1:{bound.getsockname()[1]}", members, state)


async def never(request: web.Request) -> web.StreamResponse:
    """A worker whose event loop is stuck."""
    await asyncio.Event().wait()
    raise AssertionError


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """No worker is waited for long."""
    monkeypatch.setattr(united, "HEALTH_SECONDS", 0.05)
    monkeypatch.setattr(member, "ASK_SECONDS", 0.05)


async def test_it_lives_while_all_that_run_answer(tmp_path: Path) -> None:
    async with listening(tmp_path, Worker("ok\n"), Worker("ok\n")) as proxy:
        assert (await proxy.ask("GET", "/livez")).body == b"ok\n"


@pytest.mark.usefixtures("impatient")
async def test_a_worker_that_is_stuck_is_not_alive(tmp_path: Path) -> None:
    async with listening(tmp_path, Worker("ok\n"), Worker(script=never)) as proxy:
        answer = await proxy.ask("GET", "/livez")
    assert (answer.status, answer.body) == (503, b"no answer from worker 2\n")


@pytest.mark.parametrize(("state", "status"), [(RESTARTING, 503), ("starting", 200)])
async def test_without_any_worker_it_lives_only_at_the_start(
    tmp_path: Path, state: str, status: int
) -> None:
    async with listening(tmp_path) as proxy:
        proxy.members.clear()
        proxy.state[0] = state
        assert (await proxy.ask("GET", "/livez")).status == status
        ready = await proxy.ask("GET", "/readyz")
        assert (ready.status, ready.body.decode()) == (503, f"{state}\n")


@pytest.mark.parametrize(
    ("states", "status", "state"),
    [
        (("ok", "ok"), 200, "ok"),
        (("loading", "ok"), 200, "ok"),
        (("loading", "draining"), 503, "loading"),
    ],
)
async def test_it_is_ready_when_one_is(
    tmp_path: Path, states: tuple[str, str], status: int, state: str
) -> None:
    workers = [Worker({"state": one, "tasks": {}}, 200 if one == "ok" else 503) for one in states]
    async with listening(tmp_path, *workers) as proxy:
        ready = await proxy.ask("GET", "/readyz")
        assert (ready.status, ready.body.decode()) == (status, f"{state}\n")
        detail = await proxy.ask("GET", "/readyz?verbose")
        assert detail.status == status
        assert detail.json() == {
            "state": state,
            "workers": {"1": workers[0].told, "2": workers[1].told},
        }


@pytest.mark.usefixtures("impatient")
async def test_the_detail_tells_of_who_does_not_answer(tmp_path: Path) -> None:
    async with listening(tmp_path, Worker({"state": "ok"}), Worker(script=never)) as proxy:
        told = (await proxy.ask("GET", "/readyz?verbose")).json()
    assert told == {"state": "ok", "workers": {"1": {"state": "ok"}, "2": {"state": "silent"}}}


async def test_metrics_are_those_of_all(tmp_path: Path) -> None:
    page = "# TYPE reprise_x counter\nreprise_x_total 2.0\n# EOF\n"
    async with listening(tmp_path, Worker(page), Worker(page), Worker("no", 500)) as proxy:
        answer = await proxy.ask("GET", "/metrics")
    assert (answer.header("Content-Type") or "").startswith("text/plain; version=")
    lines = answer.body.decode().splitlines()
    assert "reprise_x_total 4.0" in lines
    assert "reprise_worker_restarts_total 3.0" in lines


async def test_the_version_says_how_many_there_are(tmp_path: Path) -> None:
    async with listening(tmp_path, Worker({"version": "1"}), Worker({"version": "1"})) as proxy:
        assert (await proxy.ask("GET", "/version")).json() == {"version": "1", "workers": 2}


async def test_all_reload(tmp_path: Path) -> None:
    told = {"applied": True, "unchanged": False, "problems": [], "restart_required": []}
    workers = [Worker(dict(told)), Worker(dict(told))]
    async with listening(tmp_path, *workers) as proxy:
        answer = await proxy.ask("POST", "/admin/reload", b"")
        assert (answer.status, answer.json()) == (200, told)
        workers[1].told["problems"], workers[1].status = ["1:1: no"], 400
        answer = await proxy.ask("POST", "/admin/reload", b"")
        assert (answer.status, answer.json()["problems"]) == (400, ["1:1: no"])
        workers[0].told, workers[0].status = {"error": {"message": "no"}}, 500
        assert (await proxy.ask("POST", "/admin/reload", b"")).status == 500
    assert [len(worker.asked) for worker in workers] == [3, 3]


async def test_a_purge_reaches_all(tmp_path: Path) -> None:
    workers = [Worker({"purged": 1}), Worker({"purged": 4})]
    async with listening(tmp_path, *workers) as proxy:
        answer = await proxy.ask("POST", "/admin/purge", b'{"all":true}')
    assert answer.json() == {"purged": 4}
    for worker in workers:
        assert worker.asked == [("POST", "/admin/purge", b'{"all":true}')]
        assert worker.fields[0]["authorization"] == f"Bearer {TOKEN}"


async def test_upstreams_are_told_of_a_purge_once(tmp_path: Path) -> None:
    told = {"purged": 1, "forwarded": [{"upstream": "u", "status": 200}]}
    workers = [Worker(told), Worker({"purged": 4})]
    async with listening(tmp_path, *workers) as proxy:
        body = b'{"all":true,"forward":true}'
        assert (await proxy.ask("POST", "/admin/purge", body)).json() == {**told, "purged": 4}
        workers[1].status = 500
        assert (await proxy.ask("POST", "/admin/purge", body)).status == 500
        workers[0].status = 400
        assert (await proxy.ask("POST", "/admin/purge", b"no json")).status == 400
    assert [body for _, _, body in workers[0].asked] == [body, body, b"no json"]
    assert [body for _, _, body in workers[1].asked] == [b'{"all":true}'] * 2
    assert workers[0].fields[0]["x-actor"] == "127.0.0.1"


async def test_all_get_the_epoch_that_the_first_made_up(tmp_path: Path) -> None:
    told = {"model": "m*", "epoch": "abc", "forwarded": []}
    workers = [Worker(told), Worker({"model": "m*", "epoch": "abc"})]
    fields = [("X-Actor", "ann")]
    async with listening(tmp_path, *workers) as proxy:
        answer = await proxy.ask("POST", "/admin/epoch", b'{"model":"m*","forward":true}', fields)
    assert answer.json() == told
    assert workers[1].asked == [("POST", "/admin/epoch", b'{"model":"m*","epoch":"abc"}')]
    assert workers[1].fields[0]["x-actor"] == "ann"


async def test_a_large_set_goes_to_one_piece_by_piece(tmp_path: Path) -> None:
    workers = [Worker({"imported": 3}), Worker()]
    body = bytes(MAX_BODY_BYTES + 1)

    async def take(request: web.Request) -> web.StreamResponse:
        size = 0
        async for piece in request.content.iter_any():
            size += len(piece)
        return web.json_response({"size": size})

    workers[0].script = take
    workers[0].reads = False
    async with listening(tmp_path, *workers) as proxy:
        proxy.members.pop(0)
        answer = await proxy.ask("POST", "/admin/import", body)
        assert (answer.status, answer.json()) == (200, {"size": len(body)})
        assert workers[1].asked == []
        proxy.members.insert(0, Member(9, 0, str(tmp_path / "gone.sock")))
        assert (await proxy.ask("POST", "/admin/import", b"x")).status == 503


@pytest.mark.parametrize(
    ("method", "path"), [("DELETE", "/admin/entries/x"), ("POST", "/admin/feedback")]
)
async def test_what_one_knows_is_there(tmp_path: Path, method: str, path: str) -> None:
    absent = {"error": {"message": "There is no such entry."}}
    workers = [Worker(absent, 404), Worker({"purged": 1})]
    async with listening(tmp_path, *workers) as proxy:
        assert (await proxy.ask(method, path, b"{}")).json() == {"purged": 1}
        workers[1].told, workers[1].status = absent, 404
        answer = await proxy.ask(method, path, b"{}")
    assert (answer.status, answer.json()) == (404, absent)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("path", ["/admin/purge", "/admin/reload", "/admin/epoch"])
async def test_a_change_that_a_worker_may_not_have_heard_of_is_no_success(
    tmp_path: Path, path: str
) -> None:
    async with listening(tmp_path, Worker({"purged": 1}), Worker(script=never)) as proxy:
        answer = await proxy.ask("POST", path, b"{}")
    assert answer.status == 504
    assert "in time" in answer.json()["error"]["message"]


async def test_rows_are_cut_after_they_are_added_up(tmp_path: Path) -> None:
    def row(key: str, count: int) -> dict[str, object]:
        return {"key": key, "count": count, "last": 1.0}

    workers = [
        Worker({"keep_prompts": False, "misses": [row("a", 3), row("b", 2)], "groups": []}),
        Worker({"keep_prompts": False, "misses": [row("c", 3), row("b", 2)], "groups": []}),
    ]
    async with listening(tmp_path, *workers) as proxy:
        told = (await proxy.ask("GET", "/admin/misses?limit=1")).json()
        assert told["misses"] == [row("b", 4)]
        assert workers[0].asked[0][1] == "/admin/misses?limit=1000"
        workers[0].told = workers[1].told = {"error": {"message": "limit must be"}}
        workers[0].status = workers[1].status = 400
        assert (await proxy.ask("GET", "/admin/top?limit=x&by=hits")).status == 400
        assert workers[0].asked[1][1] == "/admin/top?limit=x&by=hits"


async def test_models_are_those_of_all(tmp_path: Path) -> None:
    one = Worker({"models": [{"model": "a", "entries": 1}]})
    other = Worker({"models": [{"model": "a", "entries": 3}]})
    async with listening(tmp_path, one, other) as proxy:
        told = (await proxy.ask("GET", "/admin/models")).json()
    assert told == {"models": [{"model": "a", "entries": 3}]}


async def test_who_has_a_hit_explains_it(tmp_path: Path) -> None:
    workers = [Worker({"outcome": "miss"}), Worker({"outcome": "hit"}), Worker({"outcome": "hit"})]
    fields = [("x-explain-authorization", "Bearer key-a"), ("Content-Type", "application/json")]
    async with listening(tmp_path, *workers) as proxy:
        answer = await proxy.ask("POST", "/admin/explain?path=/v1/x", b"{}", fields)
        assert answer.json() == {"outcome": "hit"}
        assert [len(worker.asked) for worker in workers] == [1, 1, 0]
        assert workers[1].asked == [("POST", "/admin/explain?path=/v1/x", b"{}")]
        assert workers[1].fields[0]["x-explain-authorization"] == "Bearer key-a"
        workers[1].told = workers[2].told = {"outcome": "stale"}
        answer = await proxy.ask("POST", "/admin/explain", b"{}")
        assert answer.json() == {"outcome": "miss"}


async def test_what_it_does_not_know_goes_to_one_or_to_all(tmp_path: Path) -> None:
    workers = [Worker({"n": 1}), Worker({"n": 2})]
    async with listening(tmp_path, *workers) as proxy:
        assert (await proxy.ask("GET", "/admin/experiments?x=1")).json() == {"n": 1}
        assert [len(worker.asked) for worker in workers] == [1, 0]
        workers[0].status = 409
        assert (await proxy.ask("POST", "/admin/else", b"{}")).json() == {"n": 2}
        workers[1].status = 500
        assert (await proxy.ask("PUT", "/admin/else", b"{}")).status == 500
    assert [len(worker.asked) for worker in workers] == [3, 2]


async def test_a_long_answer_comes_piece_by_piece(tmp_path: Path) -> None:
    gate = asyncio.Event()

    async def stream(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/x-ndjson"})
        await response.prepare(request)
        await response.write(b"one\n")
        await gate.wait()
        await response.write(b"two\n")
        return response

    async with listening(tmp_path, Worker(script=stream)) as proxy, connect(proxy.url) as client:
        shown = [("Authorization", f"Bearer {TOKEN}")]
        await client.send("GET", "/admin/export", fields=shown)
        head = await client.head()
        assert head.header("Content-Type") == "application/x-ndjson"
        assert await client.read(4) == b"one\n"
        gate.set()
        assert await client.rest() == b"two\n"


async def test_without_any_worker_it_says_so(tmp_path: Path) -> None:
    async with listening(tmp_path) as proxy:
        for method, path in (
            ("GET", "/version"),
            ("GET", "/admin/config"),
            ("GET", "/admin/top"),
            ("POST", "/admin/purge"),
            ("POST", "/admin/reload"),
            ("POST", "/admin/explain"),
        ):
            assert (await proxy.ask(method, path, b"{}")).status == 503


@pytest.mark.parametrize(
    ("token", "shown", "status"), [(TOKEN, "", 401), (TOKEN, "Bearer x", 401), ("", "Bearer ", 403)]
)
@pytest.mark.parametrize("path", ["/admin/purge", "/admin/reload", "/admin/else"])
async def test_nothing_is_passed_on_without_the_token(
    tmp_path: Path, token: str, shown: str, status: int, path: str
) -> None:
    worker = Worker()
    async with listening(tmp_path, worker, token=token) as proxy:
        fields = [("Authorization", shown)]
        assert (await call(proxy.url, "POST", path, fields=fields, body=b"{}")).status == status
    assert worker.asked == []
