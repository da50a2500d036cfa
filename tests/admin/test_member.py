"""Asking one worker's own admin listener."""

from pathlib import Path

import pytest
from aiohttp import web

from proxy.admin.member import SILENT, Member, asking, read
from proxy.admin.merge import Answer
from tests.admin.serving import serving
from tests.fakes.client import call


async def answered(tmp_path: Path, request: tuple[str, str], *, alive: bool = True) -> Answer:
    """What a worker says to a request of ours; what it says is what it was asked."""

    async def tell(asked: web.Request) -> web.Response:
        body = await asked.read()
        told = {"asked": f"{asked.method} {asked.path_qs} {body.decode()}"}
        return web.json_response(told | {"fields": sorted(asked.headers)}, status=207)

    async def ask(asked: web.Request) -> web.Response:
        member = Member(1, 0, str(tmp_path / ("1.sock" if alive else "2.sock")))
        answer = await asking(asked, await asked.read())(member)
        return web.Response(status=answer.status if answer else 599, body=answer and answer.body)

    worker, ours = web.Application(), web.Application()
    worker.router.add_route("*", "/{path:.*}", tell)
    ours.router.add_route("*", "/{path:.*}", ask)
    async with serving(worker, tmp_path / "1.sock"), serving(ours) as url:
        told = await call(url, *request, body=b"body", fields=[("X-Mine", "1")])
    return Answer(told.status, told.body, "application/json")


async def test_a_worker_is_asked_the_same(tmp_path: Path) -> None:
    answer = await answered(tmp_path, ("POST", "/admin/x?a=%2F&b"))
    assert answer.status == 207
    told = read(answer)
    assert told["asked"] == "POST /admin/x?a=%2F&b body"
    assert told["fields"] == ["Connection", "Content-Length", "Host", "X-Actor", "X-Mine"]


async def test_one_that_has_died_says_nothing(tmp_path: Path) -> None:
    assert (await answered(tmp_path, ("GET", "/"), alive=False)).status == 599


@pytest.mark.parametrize("body", [b"", b"no", b"[]", b"7"])
def test_what_is_no_object_is_read_as_nothing(body: bytes) -> None:
    assert read(Answer(200, body, "text/plain")) == {}


def test_silence_is_an_error_with_a_message() -> None:
    assert SILENT.is_error
    assert "in time" in read(SILENT)["error"]["message"]
