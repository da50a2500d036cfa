"""What both admin listeners have in common."""

import pytest
from aiohttp import web

from proxy.admin.answer import json_answer
from proxy.admin.listener import wants_detail
from tests.admin.serving import serving
from tests.fakes.client import call


async def wants(path: str, accept: str) -> bool:
    """Whether a request wants detail."""

    async def tell(request: web.Request) -> web.Response:
        return json_answer({"wants": wants_detail(request)})

    app = web.Application()
    app.router.add_get("/readyz", tell)
    async with serving(app) as url:
        answer = await call(url, "GET", path, fields=[("Accept", accept)])
    return bool(answer.json()["wants"])


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
    assert await wants(path, accept) is wanted
