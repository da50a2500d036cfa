"""What operators are told of questions."""

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from proxy.app import App
from tests.conftest import StartProxy
from tests.fakes.client import Answer, ask, call, question
from tests.fakes.clock import FakeClock
from tests.fakes.semantic import NEAR, FakeEncoder, comparing_by_words, learned
from tests.fakes.upstream import ScriptedUpstream, error_reply
from tests.watch import figure, until

TOKEN = "s3cret-token"
BARE = f"admin: {{token: '{TOKEN}'}}\nttl: {{exact: 100s, jitter: 0}}\n"
SETTINGS = BARE + NEAR
KEEPING = SETTINGS + "\nprivacy: {keep_prompts: true}"
RESET = "How do I reset my password?"
REWORDED = "How can I reset my password?"
CANCEL = "Can I cancel my order within 14 days?"
CANCEL_LATER = "Can I cancel my order within 30 days?"
KEY = ("x-explain-authorization", "Bearer key-a")


async def admin(
    app: App,
    method: str,
    path: str,
    body: bytes | None = None,
    *,
    fields: tuple[tuple[str, str], ...] = (),
) -> Answer:
    """A request of the operator's."""
    shown = [("Authorization", f"Bearer {TOKEN}"), *fields]
    return await call(app.admin_url, method, path, fields=shown, body=body)


async def told(app: App, path: str) -> Any:
    """What is told, which must be told."""
    answer = await admin(app, "GET", path)
    assert answer.status == 200, answer.body
    return answer.json()


async def explained(app: App, body: bytes, *fields: tuple[str, str], path: str = "") -> Any:
    """What is said of a request."""
    answer = await admin(app, "POST", f"/admin/explain{path}", body, fields=(KEY, *fields))
    assert answer.status == 200, answer.body
    return answer.json()


@pytest.fixture
def encoder(monkeypatch: pytest.MonkeyPatch) -> FakeEncoder:
    return comparing_by_words(monkeypatch)


@pytest.fixture
async def keeping(proxy: StartProxy, encoder: FakeEncoder) -> AsyncIterator[App]:
    """A proxy that keeps prompts, with two answers."""
    async with proxy(KEEPING) as app:
        await learned(app, 0)
        await ask(app.url, question(RESET))
        await ask(app.url, question(CANCEL))
        await learned(app, 2)
        yield app


@pytest.fixture
async def discreet(proxy: StartProxy, encoder: FakeEncoder) -> AsyncIterator[App]:
    """The same without prompts."""
    async with proxy(SETTINGS) as app:
        await learned(app, 0)
        await ask(app.url, question(RESET))
        await ask(app.url, question(CANCEL))
        await learned(app, 2)
        yield app


async def test_what_is_given_most_comes_first(keeping: App) -> None:
    for text in (CANCEL, CANCEL, CANCEL, RESET):
        assert (await ask(keeping.url, question(text))).is_hit
    hit = await ask(keeping.url, question(REWORDED))
    assert "detail=semantic" in hit.cache
    first, second = (await told(keeping, "/admin/top"))["entries"]
    assert (first["question"], first["hits"], first["levels"]) == (CANCEL, 3, {"exact": 3})
    assert (second["question"], second["levels"]) == (RESET, {"exact": 1, "semantic": 1})
    assert second["entry"] == hit.header("x-cache-entry")
    assert (first["model"], first["ttl"] > 90, first["age"]) == ("m1", True, 0)
    assert first["saved_tokens"] == 3 * second["saved_tokens"] / 2
    (most,) = (await told(keeping, "/admin/top?by=tokens&limit=1"))["entries"]
    assert most["question"] == CANCEL


async def test_an_answer_that_is_gone_is_still_counted(keeping: App) -> None:
    await ask(keeping.url, question(RESET))
    await admin(keeping, "POST", "/admin/purge", b'{"all": true}')
    (entry,) = (await told(keeping, "/admin/top"))["entries"]
    assert (entry["entry"], entry["age"], entry["ttl"], entry["hits"]) == (None, None, None, 1)
    assert "question" not in entry


async def test_misses_tell_what_was_near_and_what_kept_it(keeping: App) -> None:
    assert not (await ask(keeping.url, question(CANCEL_LATER))).is_hit
    misses = (await told(keeping, "/admin/misses"))["misses"]
    assert [miss["question"] for miss in misses] == [CANCEL_LATER, CANCEL, RESET]
    assert (misses[0]["reason"], misses[0]["guard"]) == ("guard", "numbers")
    assert misses[0]["nearest"] == 0.875
    assert (misses[2]["reason"], misses[2]["nearest"], misses[2]["count"]) == ("absent", None, 1)
    assert len((await told(keeping, "/admin/misses?limit=1"))["misses"]) == 1


async def test_misses_that_mean_the_same_are_grouped(
    keeping: App, upstream: ScriptedUpstream
) -> None:
    upstream.respond = lambda seen: error_reply(500)
    for key in ("key-b", "key-c", "key-c"):
        await ask(keeping.url, question(REWORDED), key=key)
    await ask(keeping.url, question(CANCEL_LATER), key="key-b")
    (group,) = (await told(keeping, "/admin/misses"))["groups"]
    assert (group["count"], group["tenants"]) == (4, 3)
    assert group["questions"] == [REWORDED, REWORDED, RESET]


async def test_a_text_that_is_not_compared_is_in_no_group(
    keeping: App, encoder: FakeEncoder, upstream: ScriptedUpstream
) -> None:
    for key in ("key-b", "key-c"):
        await ask(keeping.url, question("What is new today?"), key=key)
        await ask(keeping.url, question("?!"), key=key)
    assert (await told(keeping, "/admin/misses"))["groups"] == []


async def test_no_word_of_a_question_is_told_unless_prompts_are_kept(discreet: App) -> None:
    for text in (RESET, REWORDED, CANCEL_LATER):
        await ask(discreet.url, question(text))
    pages = [await admin(discreet, "GET", path) for path in ("/admin/top", "/admin/misses")]
    for text in (RESET, CANCEL_LATER):
        for model in ("m1", "m2"):
            asked = question(text, model=model)
            pages.append(await admin(discreet, "POST", "/admin/explain", asked, fields=(KEY,)))
    for page in pages:
        assert page.status == 200
        for word in (b"reset", b"password", b"cancel", b"days"):
            assert word not in page.body, page.body
    assert pages[1].json()["groups"] == []
    nearest = pages[4].json()["meaning"]["nearest"]
    assert any({"guard": "numbers"} in near["guards"] for near in nearest)


async def test_a_reload_takes_the_texts_back_at_once(keeping: App) -> None:
    before = keeping.reloader.current
    assert "question" in (await told(keeping, "/admin/misses"))["misses"][0]
    for keeps in (False, True):
        keeping.apply(replace(before, dynamic=replace(before.dynamic, keep_prompts=keeps)))
        assert "question" not in (await told(keeping, "/admin/misses"))["misses"][0]


async def test_the_models_with_stored_answers_are_told(keeping: App) -> None:
    await ask(keeping.url, question(RESET, model="m2"))
    assert (await told(keeping, "/admin/models"))["models"] == [
        {"model": "m1", "entries": 2},
        {"model": "m2", "entries": 1},
    ]


async def test_what_would_happen_is_what_happens(keeping: App, upstream: ScriptedUpstream) -> None:
    for text in (RESET, REWORDED, CANCEL_LATER, "Who are you?"):
        said = await explained(keeping, question(text))
        calls = upstream.calls
        answer = await ask(keeping.url, question(text))
        assert (said["outcome"] == "hit") == answer.is_hit == (upstream.calls == calls)
        if answer.is_hit:
            assert f"detail={said['level']}" in answer.cache
            assert said["entry"] == answer.header("x-cache-entry")
            similarity = answer.header("x-cache-similarity")
            assert said.get("similarity") == (float(similarity) if similarity else None)


async def test_a_guard_names_the_two_pieces(keeping: App) -> None:
    said = await explained(keeping, question(CANCEL_LATER))
    assert (said["outcome"], said["reason"], said["meaning"]["reason"]) == (
        "miss",
        "absent",
        "guard",
    )
    assert (said["meaning"]["encoder"], said["meaning"]["threshold"]) == ("by-words", 0.7)
    nearest = said["meaning"]["nearest"][0]
    assert nearest["question"] == CANCEL
    assert {"guard": "numbers", "stored": "14 days", "asked": "30 days"} in nearest["guards"]
    assert not nearest["may_serve"]


async def test_another_key_is_another_scope(keeping: App) -> None:
    answer = await admin(keeping, "POST", "/admin/explain", question(RESET))
    said = answer.json()
    assert (said["outcome"], said["stored"]) == ("miss", None)
    other = said["meaning"]["elsewhere"][0]
    assert (other["differs"], other["question"], other["similarity"]) == ("scope", RESET, 1.0)
    own = await explained(keeping, question(RESET))
    assert other["tenant"] == own["tenant"] != said["tenant"]
    assert own["key"]["scope"] != said["key"]["scope"]
    assert own["key"]["settings"] == said["key"]["settings"]


async def test_the_clients_wishes_are_taken_as_sent(keeping: App) -> None:
    said = await explained(keeping, question(RESET), ("x-cache-namespace", "n"))
    assert said["outcome"] == "miss"
    said = await explained(keeping, question(REWORDED), ("x-cache-threshold", "0.9"))
    assert (said["outcome"], said["meaning"]["reason"]) == ("miss", "similarity")
    said = await explained(keeping, question(RESET), ("x-explain-cache-control", "no-store"))
    assert (said["outcome"], said["reason"]) == ("bypass", "no-store")
    said = await explained(keeping, question(RESET), ("x-explain-content-type", "text/plain"))
    assert (said["outcome"], said["reason"]) == ("bypass", "content-type")
    said = await explained(keeping, question(RESET), path="?path=/v1/audio")
    assert (said["outcome"], said["reason"]) == ("bypass", "path")
    said = await explained(keeping, b"no json")
    assert (said["outcome"], said["reason"]) == ("bypass", "body")


async def test_what_is_stale_is_told(
    proxy: StartProxy, encoder: FakeEncoder, clock: FakeClock
) -> None:
    settings = SETTINGS.replace("jitter: 0", "jitter: 0, stale_while_revalidate: 60s")
    async with proxy(settings, clock=clock) as app:
        await learned(app, 0)
        await ask(app.url, question(RESET))
        await learned(app, 1)
        clock.advance(110)
        said = await explained(app, question(RESET))
    assert (said["outcome"], said["level"]) == ("stale", "exact")
    assert (said["stored"]["age"], said["stored"]["ttl"]) == (110, -10)
    assert said["entry"] == said["stored"]["entry"]


async def test_feedback_takes_an_answer_out_and_the_pair_is_remembered(keeping: App) -> None:
    hit = await ask(keeping.url, question(REWORDED))
    entry = hit.header("x-cache-entry") or ""
    body = json.dumps({"entry": entry, "verdict": "wrong", "question": REWORDED}).encode()
    answer = await admin(keeping, "POST", "/admin/feedback", body)
    assert (answer.status, answer.json()) == (200, {"entry": entry, "verdict": "wrong"})
    assert (await admin(keeping, "POST", "/admin/feedback", body)).status == 404
    assert not (await ask(keeping.url, question(RESET))).is_hit
    await until(lambda: figure(keeping, "semantic_entries") == 2)
    said = await explained(keeping, question(REWORDED))
    nearest = said["meaning"]["nearest"][0]
    assert (said["outcome"], nearest["question"]) == ("miss", RESET)
    assert (nearest["negative"], nearest["reason"]) == (True, "feedback")


async def test_an_unclear_opinion_changes_nothing(keeping: App) -> None:
    for body in (b"", b"[]", b'{"entry": "x"}', b'{"entry": "x", "verdict": "bad"}'):
        answer = await admin(keeping, "POST", "/admin/feedback", body)
        assert answer.status == 400
        assert "verdict" in answer.json()["error"]["message"]
    assert figure(keeping, "entries") == 2


@pytest.mark.parametrize(
    "path",
    [
        *("/admin/top?by=most", "/admin/top?limit=-1", "/admin/misses?limit=many"),
        *("/admin/misses?limit=1001", "/admin/top?limit=%C2%B2"),
    ],
)
async def test_an_unclear_query_is_refused(proxy: StartProxy, path: str) -> None:
    async with proxy(BARE) as app:
        answer = await admin(app, "GET", path)
        assert answer.status == 400
        assert "must be" in answer.json()["error"]["message"]
        assert (await admin(app, "POST", "/admin/explain?path=v1", b"{}")).status == 400


async def test_without_the_semantic_level_everything_else_is_told(proxy: StartProxy) -> None:
    async with proxy(BARE + "semantic: {enabled: false}\nprivacy: {keep_prompts: true}") as app:
        for _ in range(2):
            await ask(app.url, question(RESET))
        (entry,) = (await told(app, "/admin/top"))["entries"]
        assert (entry["hits"], "question" in entry) == (1, False)
        page = await told(app, "/admin/misses")
        assert (page["misses"][0]["count"], page["groups"]) == (1, [])
        said = await explained(app, question(RESET))
        assert (said["outcome"], said["meaning"]["reason"]) == ("hit", "off")


async def test_text_that_no_utf_8_can_hold_is_told(keeping: App) -> None:
    odd = question("Who is \ud800?", model="m\udfff")
    await ask(keeping.url, odd)
    assert (await told(keeping, "/admin/misses"))["misses"][0]["question"] == "Who is \ud800?"
    assert (await explained(keeping, odd))["model"] == "m\udfff"
