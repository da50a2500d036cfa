"""Nobody gets what another caller's credential was answered (B5, B47)."""

import asyncio

import pytest

from tests.conftest import StartProxy
from tests.fakes.answers import chat_answer, chat_stream
from tests.fakes.client import CHAT, Answer, Pairs, ask, call, connect, posting, question
from tests.fakes.upstream import Reply, ScriptedUpstream, Seen, error_reply, json_reply, sse_reply
from tests.watch import figure, until

SECRET = "A-SECRET 余额 512.40"
BALANCE = question("Long context. " * 100 + "What is my balance?")
STREAM = question("Long context. " * 100 + "What is my balance?", stream=True)


def by_credential(seen: Seen) -> Reply:
    """What a server with keys would say."""
    credential = seen.header("Authorization") or ""
    if credential not in {"Bearer key-a", "Bearer key-b"}:
        return error_reply(401, "Incorrect API key provided")
    text = SECRET if credential == "Bearer key-a" else "B has nothing"
    return sse_reply(*chat_stream([text])) if b'"stream": true' in seen.body else _json(text)


def _json(text: str) -> Reply:
    return json_reply(chat_answer(text))


@pytest.mark.parametrize("body", [BALANCE, STREAM], ids=["json", "sse"])
@pytest.mark.parametrize("warmed_by", [BALANCE, STREAM], ids=["from json", "from sse"])
async def test_another_credential_is_a_true_miss(
    proxy: StartProxy, upstream: ScriptedUpstream, body: bytes, warmed_by: bytes
) -> None:
    upstream.respond = by_credential
    async with proxy() as app:
        assert SECRET in (await ask(app.url, warmed_by, key="key-a")).text
        other = await ask(app.url, body, key="key-b")
        assert (other.text, other.is_hit) == ("B has nothing", False)
        assert "fwd=miss" in other.cache
        again = await ask(app.url, body, key="key-a")
        assert (again.text, again.is_hit) == (SECRET, True)
    assert upstream.calls == 2


@pytest.mark.parametrize(
    "fields",
    [
        [],
        [("Authorization", "Bearer wrong")],
        [("Authorization", "Bearer key-a ,")],
        [("Authorization", "bearer key-a")],
        [("Authorization", "Bearer key-a"), ("Authorization", "Bearer key-b")],
        [("Authorization", "Bearer key-a"), ("Cookie", "session=2")],
        [("api-key", "key-a")],
        [("x-api-key", "Bearer key-a")],
    ],
    ids=["none", "wrong", "odd", "case", "two", "with cookie", "api-key", "x-api-key"],
)
async def test_whatever_differs_in_a_credential_never_hits(
    proxy: StartProxy, upstream: ScriptedUpstream, fields: Pairs
) -> None:
    async with proxy() as app:
        first = await ask(app.url, key="key-a")
        other = await ask(app.url, key=None, fields=fields)
    assert not other.is_hit
    assert first.text != other.text


@pytest.mark.parametrize("key", [None, "wrong", "key-b"])
@pytest.mark.parametrize("stream", [False, True])
async def test_a_running_call_is_not_shared_across_credentials(
    proxy: StartProxy, upstream: ScriptedUpstream, key: str | None, *, stream: bool
) -> None:
    gate = asyncio.Event()
    upstream.will(sse_reply(*chat_stream([SECRET])[:2], gate))
    upstream.respond = by_credential
    async with proxy() as app, connect(app.url) as leader:
        await leader.send("POST", CHAT, fields=posting(), body=STREAM)
        await leader.head()
        other = await ask(app.url, STREAM if stream else BALANCE, key=key)
        assert SECRET.encode() not in other.body
        assert other.status == (200 if key == "key-b" else 401)
        assert "collapsed" not in other.cache
        gate.set()
    assert upstream.calls == 2


async def revoke(url: str, upstream: ScriptedUpstream, status: int) -> Answer:
    """From now on the upstream refuses key-a, and says so once."""
    upstream.respond = lambda seen: error_reply(status, "revoked")
    return await ask(url, question("Something else"), key="key-a")


@pytest.mark.parametrize("status", [401, 403])
async def test_a_revoked_credential_gets_no_hit_until_it_is_accepted_again(
    proxy: StartProxy, upstream: ScriptedUpstream, status: int
) -> None:
    upstream.respond = by_credential
    async with proxy() as app:
        await ask(app.url, BALANCE, key="key-a")
        assert (await revoke(app.url, upstream, status)).status == status
        for body in (BALANCE, STREAM):
            refused = await ask(app.url, body, key="key-a")
            assert refused.status == status
            assert "detail=credential" in refused.cache
        upstream.respond = by_credential
        accepted = await ask(app.url, question("Hello again"), key="key-a")
        assert accepted.status == 200
        assert (await ask(app.url, BALANCE, key="key-a")).is_hit


@pytest.mark.parametrize("stream", [False, True])
async def test_a_revoked_credential_joins_no_call_that_began_before(
    proxy: StartProxy, upstream: ScriptedUpstream, *, stream: bool
) -> None:
    gate = asyncio.Event()
    upstream.will(sse_reply(*chat_stream([SECRET])[:2], gate, *chat_stream([SECRET])[2:]))
    upstream.respond = by_credential
    async with proxy() as app, connect(app.url) as leader, asyncio.TaskGroup() as group:
        await leader.send("POST", CHAT, fields=posting(), body=STREAM)
        await leader.head()
        await revoke(app.url, upstream, 401)
        asked = group.create_task(ask(app.url, STREAM if stream else BALANCE, key="key-a"))
        await until(lambda: upstream.calls == 3 or figure(app, "in_flight_requests") == 2)
        gate.set()
        assert (await asked).status == 401
        assert SECRET.encode() in await leader.rest()


async def test_a_refusal_seen_on_another_path_counts_too(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    async with proxy() as app:
        await ask(app.url)
        upstream.respond = lambda seen: error_reply(401)
        await call(app.url, "GET", "/v1/models", fields=posting("key-a"))
        assert (await ask(app.url)).status == 401


async def test_a_made_up_credential_changes_nothing_for_others(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    upstream.respond = by_credential
    async with proxy() as app:
        await ask(app.url, BALANCE, key="key-a")
        for number in range(3):
            assert (await ask(app.url, BALANCE, key=f"wrong-{number}")).status == 401
        assert (await ask(app.url, BALANCE, key="key-a")).is_hit


async def test_a_shared_scope_is_shared_but_its_running_calls_are_not(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    gate = asyncio.Event()
    async with proxy("tenancy: {scope: shared}") as app:
        first = await ask(app.url, key="key-a")
        other = await ask(app.url, key="key-b")
        assert (other.is_hit, other.body) == (True, first.body)
        upstream.will(sse_reply(gate), error_reply(401))
        async with connect(app.url) as leader:
            body = question("新しい", stream=True)
            await leader.send("POST", CHAT, fields=posting("key-a"), body=body)
            await leader.head()
            assert (await ask(app.url, body, key="wrong")).status == 401
            gate.set()


async def test_a_header_scope_takes_the_place_of_the_credential(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    async with proxy("tenancy: {scope: 'header:x-team'}") as app:
        team = [("X-Team", "red")]
        await ask(app.url, key="key-a", fields=team)
        assert (await ask(app.url, key="key-b", fields=team)).is_hit
        assert not (await ask(app.url, key="key-b", fields=[("X-Team", "blue")])).is_hit
        assert not (await ask(app.url, key="key-a")).is_hit


async def test_a_shared_answer_that_its_server_calls_private_is_not_shared(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    upstream.respond = lambda seen: json_reply(
        chat_answer(seen.header("Authorization")), fields=[("Cache-Control", "private")]
    )
    async with proxy("tenancy: {scope: shared}") as app:
        await ask(app.url, key="key-a")
        assert (await ask(app.url, key="key-b")).text == "Bearer key-b"


async def test_neither_question_nor_answer_nor_key_is_logged(
    proxy: StartProxy, upstream: ScriptedUpstream
) -> None:
    log: list[bytes] = []
    upstream.respond = by_credential
    async with proxy("log: {level: debug}", log=log) as app:
        for key in ("key-a", "key-of-nobody", "key-a"):
            await ask(app.url, BALANCE, key=key)
        await until(lambda: b"".join(log).count(b'"request"') == 3)
        exposed = (await call(app.admin_url, "GET", "/metrics")).body + b"".join(log)
    for private in (b"key-a", b"key-of-nobody", b"balance", b"SECRET"):
        assert private not in exposed
