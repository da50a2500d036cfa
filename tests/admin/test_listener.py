"""What both admin listeners have in common."""

import pytest
from aiohttp import web

from proxy.admin.listener import error_response, json_response, limit_of, wants_detail
from tests.admin.serving import serving
from tests.fakes.client import call


async def understood(path: str, accept: str = "") -> tuple[int | None, bool]:
    """The limit of a request, and whether it wants detail."""

    async def tell(request: web.Request) -> web.Response:
        return json_response({"told": [limit_of(request), wants_detail(request)]})

    app = web.Application()
    app.router.add_get("/readyz", tell)
    async with serving(app) as url:
        limit, detail = (await call(url, "GET", path, fields=[("Accept", accept)])).json()["told"]
    return limit, detail


@pytest.mark.parametrize(
    ("query", "limit"),
    [
        ("", 20),
        ("?limit=0", 0),
        ("?limit=1000", 1000),
        ("?limit=1001", None),
        ("?limit=-1", None),
        ("?limit=x", None),
        ("?limit=%D9%A3", None),
        ("?limit=000000000001", None),
    ],
)
async def test_a_limit_is_a_small_whole_number(query: str, limit: int | None) -> None:
    assert (await understood(f"/readyz{query}"))[0] == limit


@pytest.mark.parametrize(
    ("path", "accept", "wanted"),
    [
        ("/readyz", "", False),
        ("/readyz", "*/*", False),
        ("/readyz?verbose", "", True),
        ("/readyz?verbose=1", "", True),
        ("/readyz", "application/json, */*", True),
    ],
)
async def test_detail_is_for_who_asks_for_it(path: str, accept: str, wanted: bool) -> None:
    assert (await understood(path, accept))[1] is wanted


def test_a_lone_surrogate_is_told_as_an_escape() -> None:
    assert json_response({"text": "\udc80"}).body == b'{"text": "\\udc80"}'


def test_an_error_has_its_message() -> None:
    response = error_response(404, "no")
    assert (response.status, response.body) == (404, b'{"error":{"message":"no"}}')
