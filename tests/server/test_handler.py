"""One line of log for every request, and one place where mistakes of ours end."""

import json
from typing import Any, NoReturn

import pytest

from proxy.pipeline.pipeline import Pipeline
from tests.conftest import StartProxy
from tests.fakes.answers import chat_answer
from tests.fakes.client import CHAT, ask, call, connect, posting, question
from tests.fakes.upstream import ScriptedUpstream, error_reply, json_reply, silence
from tests.watch import until


def requests(log: list[bytes]) -> list[dict[str, Any]]:
    """The log lines that tell of requests."""
    return [line for line in map(json.loads, log) if line["event"] == "request"]


async def test_every_request_is_told_of_once(proxy: StartProxy, upstream: ScriptedUpstream) -> None:
    log: list[bytes] = []
    async with proxy(log=log) as app:
        await ask(app.url)
        await ask(app.url)
        upstream.will(error_reply(429))
        await ask(app.url, question("other"))
        await call(app.url, "GET", "/v1/models?secret=1")
        await ask(app.url, question("no"), fields=[("Cache-Control", "only-if-cached")])
        await upstream.stop()
        await ask(app.url, question("down"))
        await until(lambda: len(requests(log)) == 6)
    miss, hit, refused, models, absent, down = requests(log)
    assert (miss["cache"], miss["status"]) == ("miss", 200)
    assert (hit["cache"], hit["age"], hit["saved_tokens"]) == ("exact", 0, 4)
    assert (refused["status"], refused["fwd_status"]) == (429, 429)
    assert (models["cache"], models["path"], models["method"]) == ("bypass", "/v1/models", "GET")
    assert (absent["status"], absent["error"]) == (504, "only_if_cached_miss")
    assert (down["status"], down["error"]) == (502, "upstream_unreachable")
    assert miss["tenant"] == hit["tenant"]
    assert len({line["request_id"] for line in requests(log)}) == 6
    assert all(line["duration_ms"] >= 0 for line in requests(log))


async def test_a_client_that_left_is_told_of(proxy: StartProxy, upstream: ScriptedUpstream) -> None:
    log: list[bytes] = []
    upstream.will(silence())
    async with proxy("policy: {on_client_gone: abort}", log=log) as app:
        async with connect(app.url) as client:
            await client.send("POST", CHAT, fields=posting(), body=question())
            await upstream.received(1)
        await until(lambda: requests(log))
    assert requests(log)[0]["client_gone"] is True


async def test_a_mistake_of_ours_is_an_error_object_and_a_line_of_log(
    proxy: StartProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*arguments: object) -> NoReturn:
        raise RuntimeError(prompt)

    prompt = "how old is the moon"
    log: list[bytes] = []
    async with proxy(log=log) as app, connect(app.url) as client:
        with monkeypatch.context() as patch:
            patch.setattr(Pipeline, "handle", fail)
            failed = await client.ask("POST", CHAT, fields=posting(), body=question())
        assert failed.status == 500
        assert failed.json()["error"]["code"] == "internal_error"
        assert prompt.encode() not in failed.body
        assert (await client.ask("POST", CHAT, fields=posting(), body=question())).status == 200
    told = [line for line in map(json.loads, log) if line["event"] == "internal error"]
    assert told[0]["error"] == "RuntimeError"
    assert "in fail" in told[0]["trace"]
    assert prompt not in repr(log)
    assert told[0]["request_id"] == failed.header("x-request-id")


async def test_a_quiet_log_level_is_quiet(proxy: StartProxy, upstream: ScriptedUpstream) -> None:
    log: list[bytes] = []
    upstream.will(json_reply(chat_answer("x")))
    async with proxy("log: {level: warning}", log=log) as app:
        await ask(app.url)
    assert log == []
