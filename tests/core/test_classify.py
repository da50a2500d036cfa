"""Look a request up, or leave it alone: every reason, and who is told apart from whom."""

import re
from dataclasses import replace
from typing import Any

import orjson
import pytest

from proxy.core.cache.thread import NO_THREADS, Thread, answer_digest
from proxy.core.classify import (
    Bypass,
    BypassReason,
    Lookup,
    Plan,
    classify,
    find_operation,
    readable_tenants,
)
from proxy.core.exchange import Fwd
from proxy.core.head import CREDENTIAL_FIELDS, VARIANT_FIELDS, read_head
from proxy.core.model import Request, Shape
from proxy.core.policy import (
    BypassRules,
    Match,
    Policy,
    Pool,
    Route,
    Rules,
    ScopeKind,
    SemanticRules,
)
from proxy.core.wire.operation import JsonObject
from tests.core.values import OPERATIONS, SECRET, question, request
from tests.fakes.body import SilentBody

POOL = Pool("main", "http://upstream")
DEFAULT = Policy()
ANN = ("Authorization", "Bearer ann")
BOB = ("Authorization", "Bearer bob")


def plan_of(asked: Request, policy: Policy = DEFAULT, rules: Rules | None = None) -> Plan:
    return classify(asked, rules or Rules(1, (POOL,), policy), OPERATIONS, SECRET)


def lookup_of(asked: Request, policy: Policy = DEFAULT, rules: Rules | None = None) -> Lookup:
    plan = plan_of(asked, policy, rules)
    assert isinstance(plan, Lookup)
    return plan


def reason_of(asked: Request, policy: Policy = DEFAULT) -> BypassReason | None:
    plan = plan_of(asked, policy)
    return plan.reason if isinstance(plan, Bypass) else None


def test_a_question_is_looked_up() -> None:
    plan = lookup_of(request(question(stream=True, stream_options={"include_usage": True})))
    assert (plan.operation.name, plan.model, plan.pool) == ("chat", "m1", POOL)
    assert (plan.shape, plan.include_usage) == (Shape.SSE, True)
    assert plan.stream_options == b'{"include_usage":true}'


@pytest.mark.parametrize("options", [None, {}])
def test_empty_stream_options_are_none(options: JsonObject | None) -> None:
    plan = lookup_of(request(question(stream=False, stream_options=options)))
    assert (plan.shape, plan.include_usage, plan.stream_options) == (Shape.JSON, False, b"")


BYPASSED: list[tuple[BypassReason, Request]] = [
    (BypassReason.PATH, request(question(), target="/v1/models")),
    (BypassReason.PATH, request(question(), target="/v1/chat/completions/")),
    (BypassReason.PATH, request(question(), target="/v1/chatcompletions")),
    (BypassReason.METHOD, request(None, method="GET")),
    (BypassReason.METHOD, request(question(), method="PUT")),
    (BypassReason.METHOD, request(question(), method="post")),
    (BypassReason.TOO_LARGE, request(SilentBody())),
    (BypassReason.TOO_LARGE, request(None)),
    (BypassReason.CONTENT_TYPE, request(question(), content_type="text/plain")),
    (BypassReason.CONTENT_TYPE, request(question(), content_type="application/json5")),
    (BypassReason.CONTENT_TYPE, request(question(), content_type=None)),
    (BypassReason.CONTENT_CODING, request(question(), ("content-encoding", "gzip"))),
    (BypassReason.BODY, request(b'{"model":"m1","model":"m2","messages":[{"role":"user"}]}')),
    (BypassReason.BODY, request(question(extra={"é": 1, "e\u0301": 2}))),
    (BypassReason.BODY, request(question(stream_options={"é": 1, "e\u0301": 2}))),
    (BypassReason.FORM, request({})),
    (BypassReason.FORM, request(question(messages=[]))),
    (BypassReason.FORM, request(question(messages="Q"))),
    (BypassReason.FORM, request(question(messages=["Q"]))),
    (BypassReason.FORM, request(question(model=1))),
    (BypassReason.FORM, request(question(stream=1))),
    (BypassReason.FORM, request(question(stream_options=[]))),
    (BypassReason.FORM, request(question(), target="/v1/completions")),
    (BypassReason.CONNECTION, request(question(), ("Connection", "close, OpenAI-Beta"))),
    (BypassReason.CONNECTION, request(question(), ("Connection", "X"), ("connection", "COOKIE"))),
    (BypassReason.NO_STORE, request(question(), ("Cache-Control", "No-Store"))),
    (BypassReason.NO_STORE, request(question(messages=[]), ("Cache-Control", "a, no-store"))),
    (BypassReason.FIELD_VALUE, request(question(), ("x-cache-ttl", "soon"))),
    (BypassReason.FIELD_VALUE, request(question(), ("x-cache-threshold", "1.5"))),
]


@pytest.mark.parametrize(("reason", "asked"), BYPASSED)
def test_what_cannot_be_looked_up_goes_to_the_upstream(
    reason: BypassReason, asked: Request
) -> None:
    assert reason_of(asked) is reason


def test_text_that_a_mask_might_have_left_behind_is_not_looked_up() -> None:
    policy = Policy(masks=(re.compile(r"\d+"),))
    assert reason_of(request(question("a\x1a\x1a")), policy) is BypassReason.BODY
    assert reason_of(request(question("a\x1a\x1a"))) is None


@pytest.mark.parametrize(
    "content_type",
    ["application/json", "Application/JSON; charset=utf-8", ' application/json ;charset="UTF8"'],
)
def test_json_is_recognised_by_its_media_type(content_type: str) -> None:
    assert reason_of(request(question(), content_type=content_type)) is None


@pytest.mark.parametrize("parameter", ["charset=iso-8859-1", "charset=utf-16", "a=b"])
def test_json_in_another_charset_may_mean_another_text(parameter: str) -> None:
    asked = request(question("é"), content_type=f"application/json; {parameter}")
    assert reason_of(asked) is BypassReason.CONTENT_TYPE


@pytest.mark.parametrize("connection", ["keep-alive", "close,", "X-Bar, te", ""])
def test_connection_options_that_do_not_count_change_nothing(connection: str) -> None:
    assert reason_of(request(question(), ("Connection", connection))) is None


def test_the_scope_header_must_reach_the_upstream() -> None:
    policy = Policy(scope=ScopeKind.HEADER, scope_header="X-Team")
    asked = request(question(), ("X-Team", "a"), ("Connection", "x-team"))
    assert reason_of(asked, policy) is BypassReason.CONNECTION


def test_a_bypass_tells_how_the_request_goes_on() -> None:
    assert plan_of(request(question(), ("Cache-Control", "no-store, only-if-cached"))) == Bypass(
        BypassReason.NO_STORE,
        Fwd.REQUEST,
        DEFAULT,
        POOL,
        operation="chat",
        model="m1",
        only_if_cached=True,
    )
    assert plan_of(request(None, method="GET")) == Bypass(
        BypassReason.METHOD, Fwd.METHOD, DEFAULT, POOL
    )
    assert plan_of(request(None, target="/")) == Bypass(
        BypassReason.PATH, Fwd.BYPASS, DEFAULT, POOL
    )


def test_the_longest_suffix_tells_the_operation() -> None:
    operation = find_operation("/openai/deployments/d/chat/completions", OPERATIONS)
    assert operation is not None
    assert operation.name == "chat"
    assert find_operation("/v1/embeddings/x", OPERATIONS) is None


CLUSTER = Rules(
    1,
    (Pool("a", "http://a"), Pool("b", "http://b", models=("b-*",))),
    DEFAULT,
    (Route(Match(model="b-*"), Policy(epoch="b")),),
)


@pytest.mark.parametrize(
    "asked",
    [
        request(question(model="b-1")),
        request(question(model="b-1", messages="not the form")),
        request(question(model="b-1"), content_type="text/plain"),
        request(question(model="b-1"), target="/v1/responses"),
        request(b'{"model":"b-1","seed":99999999999999999999,"temperature":NaN}'),
        request(rb'{"messages":"\ud800","model":"b-1"}'),
        request(b'{"model":"a","model":"b-1"}'),
    ],
)
def test_every_body_with_a_model_goes_to_the_upstream_of_that_model(asked: Request) -> None:
    plan = plan_of(asked, rules=CLUSTER)
    assert (plan.pool.name, plan.policy.epoch) == ("b", "b")


@pytest.mark.parametrize(
    "body",
    [None, SilentBody(), b"", b"\xff", b"[]", b'{"model":1}', b'{"model":null}', b"[" * 100_000],
)
def test_a_body_without_a_model_goes_where_every_model_goes(body: Any) -> None:
    assert plan_of(request(body), rules=CLUSTER).pool.name == "a"
    assert plan_of(request(body, target="/x"), rules=CLUSTER).pool.name == "a"


@pytest.mark.parametrize("depth", [98, 99, 500, 940, 960, 980, 990, 1000, 100_000])
def test_no_depth_is_too_much_for_masks_and_rules(depth: int) -> None:
    deep = b"[" * depth + b'"x"' + b"]" * depth
    body = b'{"model":"m1","messages":[{"role":"user","content":' + deep + b"}]}"
    rules = BypassRules(media=True, keywords=("today",), patterns=(re.compile("今天"),))
    for policy in (DEFAULT, Policy(masks=(re.compile("x"),)), Policy(bypass=rules)):
        assert isinstance(plan_of(request(body), policy), Bypass)


def test_each_credential_field_tells_tenants_apart() -> None:
    named = [request(question(), (name, "k")) for name in CREDENTIAL_FIELDS]
    empty = [request(question(), (name, "")) for name in CREDENTIAL_FIELDS]
    combined = [
        request(question(), (one, "k"), (other, "k"))
        for number, one in enumerate(CREDENTIAL_FIELDS)
        for other in CREDENTIAL_FIELDS[number + 1 :]
    ]
    others = [
        request(question()),
        request(question(), ("Authorization", "K")),
        request(question(), ("Authorization", "k"), ("Authorization", "l")),
        request(question(), ("Authorization", "l"), ("Authorization", "k")),
        request(question(), ("Authorization", "k\udcff")),
        request(question(), ("Authorization", "k\ufffd")),
    ]
    plans = [lookup_of(each) for each in (*named, *empty, *combined, *others)]
    assert len({plan.key.exact for plan in plans}) == len(plans)
    assert len({plan.flight for plan in plans}) == len(plans)
    assert len({plan.tenant for plan in plans}) == len(plans)


def test_a_head_that_is_known_is_not_read_again() -> None:
    known = read_head(request(question(), ANN), SECRET)
    rules = Rules(1, (POOL,), DEFAULT)
    plan = classify(request(question()), rules, OPERATIONS, SECRET, head=known)
    assert plan == lookup_of(request(question(), ANN))


def test_shared_scope_shares_the_answer_but_not_the_call() -> None:
    ann, bob = (
        lookup_of(request(question(), who), Policy(scope=ScopeKind.SHARED)) for who in (ANN, BOB)
    )
    assert ann.key == bob.key
    assert ann.tenant == bob.tenant
    assert ann.caller != bob.caller
    assert ann.flight != bob.flight
    assert ann.answer != bob.answer


def test_a_scope_header_takes_the_place_of_the_credential() -> None:
    policy = Policy(scope=ScopeKind.HEADER, scope_header="X-Team")

    def ask(*fields: tuple[str, str], policy: Policy = policy) -> Lookup:
        return lookup_of(request(question(), *fields), policy)

    assert ask(ANN, ("x-team", "红")).key == ask(BOB, ("X-TEAM", "红")).key
    plans = [
        ask(ANN),
        ask(ANN, ("X-Team", "")),
        ask(ANN, ("X-Team", "a")),
        ask(ANN, ("X-Team", "a"), ("X-Team", "b")),
        ask(ANN, ("X-Other", "a"), policy=replace(policy, scope_header="X-Other")),
        ask(ANN, policy=Policy(scope=ScopeKind.SHARED)),
        ask(ANN, policy=DEFAULT),
    ]
    assert len({plan.tenant for plan in plans}) == len(plans)
    assert ask(ANN, ("X-Team", "a")).caller != ask(BOB, ("X-Team", "a")).caller


@pytest.mark.parametrize("scope", [ScopeKind.CREDENTIAL, ScopeKind.SHARED])
def test_a_namespace_can_only_narrow(scope: ScopeKind) -> None:
    def ask(*fields: tuple[str, str]) -> Lookup:
        return lookup_of(request(question(), ANN, *fields), Policy(scope=scope))

    spaces = ("a", "A", "ab", "甲")
    plans = [ask(), *(ask(("x-cache-namespace", space)) for space in spaces)]
    assert len({plan.key.exact for plan in plans}) == len(plans)
    assert {plan.tenant for plan in plans} == {ask().tenant}


@pytest.mark.parametrize("name", VARIANT_FIELDS)
def test_a_field_that_may_change_the_answer_counts(name: str) -> None:
    plans = [
        lookup_of(request(question())),
        lookup_of(request(question(), (name, ""))),
        lookup_of(request(question(), (name, "a"))),
        lookup_of(request(question(), (name, "a\udcff"))),
    ]
    assert len({plan.key.exact for plan in plans}) == len(plans)


def test_target_upstream_operation_and_epoch_count() -> None:
    body = question(prompt="Q")
    targets = ("/v1/chat/completions", "/v1/chat/completions?a=1", "/x/chat/completions")
    plans = [lookup_of(request(body, target=target)) for target in (*targets, "/v1/completions")]
    plans.append(lookup_of(request(body), Policy(epoch="2")))
    plans.append(lookup_of(request(body), rules=Rules(1, (Pool("o", "http://o"),), DEFAULT)))
    assert len({plan.key.exact for plan in plans}) == len(plans)


def test_other_fields_do_not_count() -> None:
    one = request(question(), ("User-Agent", "a"), ("x-request-id", "1"), ("Accept", "*/*"))
    other = request(question(), ("User-Agent", "b"), ("traceparent", "2"))
    assert lookup_of(one).flight == lookup_of(other).flight


def test_calls_are_shared_only_in_one_shape_and_coding() -> None:
    bodies: list[JsonObject] = [
        question(),
        question(stream=True),
        question(stream=True, stream_options={"include_usage": True}),
        question(stream=True, stream_options={"include_obfuscation": False}),
    ]
    plans = [lookup_of(request(body)) for body in bodies]
    plans.append(lookup_of(request(question(), ("Accept-Encoding", "gzip"))))
    plans.append(lookup_of(request(question(), ("Accept-Encoding", "\udcff"))))
    assert len({plan.flight for plan in plans}) == len(plans)
    assert len({plan.key for plan in plans}) == 1
    assert [plan.answer == plans[0].answer for plan in plans] == [True] * 4 + [False] * 2


def test_a_route_may_ignore_further_members_and_mask_text() -> None:
    policy = Policy(ignore_fields=frozenset({"trace"}), masks=(re.compile(r"\d+"),))
    one = lookup_of(request(question("第1次", trace="a")), policy)
    other = lookup_of(request(question("第2次", trace="b")), policy)
    assert one.key == other.key
    assert lookup_of(request(question("第1次", trace="a"))).key != one.key


def test_a_body_is_read_as_it_stands() -> None:
    body = orjson.dumps(question(), option=orjson.OPT_INDENT_2)
    assert lookup_of(request(body)).key == lookup_of(request(question())).key


def test_a_client_may_read_what_it_could_be_served_on_some_route() -> None:
    team = ("x-team", "red")
    policies = [
        Policy(),
        Policy(scope=ScopeKind.SHARED),
        Policy(scope=ScopeKind.HEADER, scope_header="x-team"),
    ]
    routes = tuple(
        Route(Match(model=f"m{number}"), policy) for number, policy in enumerate(policies)
    )
    rules = Rules(1, (POOL,), DEFAULT, routes)
    asked = request(None, ANN, team)
    tenants = readable_tenants(asked, rules, SECRET)
    assert tenants == {lookup_of(request(question(), ANN, team), each).tenant for each in policies}
    assert len(tenants) == 3
    for other in (request(None, BOB, team), request(None, ANN, ("x-team", "blue"))):
        assert len(tenants & readable_tenants(other, rules, SECRET)) == 2
    alone = readable_tenants(asked, Rules(1, (POOL,), DEFAULT), SECRET)
    assert alone == {lookup_of(request(question(), ANN)).tenant}


def test_a_plan_follows_the_threads_of_its_conversation() -> None:
    class FakeThreads:
        def thread(self, key: bytes, least: float) -> Thread | None:
            known = key == first.key.exact and least <= 0.9
            return Thread(b"t" * 32, answer_digest("Hi.")) if known else None

    first = lookup_of(request(question("Hello", temperature=0)))
    turns = [("Hello", "user"), ("Hi.", "assistant"), ("More", "user")]
    body = question(messages=[{"role": role, "content": text} for text, role in turns])
    rules = Rules(1, (POOL,), DEFAULT)
    plain, led = (
        classify(request(body), rules, OPERATIONS, SECRET, threads)
        for threads in (NO_THREADS, FakeThreads())
    )
    assert isinstance(plain, Lookup)
    assert isinstance(led, Lookup)
    assert led.key.scope == plain.key.scope
    assert led.key.settings == plain.key.settings
    assert led.key.history != plain.key.history
    assert (led.key.followed, plain.key.followed) == ((first.key.exact,), ())


def test_a_conversation_goes_on_only_from_what_would_be_served_now() -> None:
    class FakeThreads:
        def thread(self, key: bytes, least: float) -> Thread | None:
            return Thread(b"t" * 32, answer_digest("Hi.")) if least <= 0.9 else None

    turns = [("Hello", "user"), ("Hi.", "assistant"), ("More", "user")]
    body = question(messages=[{"role": role, "content": text} for text, role in turns])

    def led(policy: Policy, *fields: tuple[str, str]) -> bool:
        rules = Rules(1, (POOL,), policy)
        plan = classify(request(body, *fields), rules, OPERATIONS, SECRET, FakeThreads())
        assert isinstance(plan, Lookup)
        return bool(plan.key.followed)

    assert led(DEFAULT)
    assert led(DEFAULT, ("x-cache-threshold", "0.9"))
    assert not led(DEFAULT, ("x-cache-threshold", "0.95"))
    assert not led(replace(DEFAULT, semantic=SemanticRules(min_similarity=0.95)))
    assert not led(replace(DEFAULT, semantic=SemanticRules(enabled=False)))


def test_without_an_epoch_of_an_operator_s_keys_are_what_they_were() -> None:
    """Entries that outlast a version are found by the next one."""
    asked, policy = request(question("pinned"), ANN), Policy(epoch="e0")
    pinned = "1fdf5234b256a87d9195fac725a91fcac1fcc36ad395bb93f14319f5b6d6ef4c"
    assert lookup_of(asked, policy).key.exact.hex() == pinned
    others = Rules(1, (POOL,), policy, epochs=(("other", "e"), ("m1", "e"), ("m*", "")))
    assert lookup_of(asked, rules=others).key.exact.hex() == pinned


def test_an_operator_s_epoch_counts_beside_the_policy_s() -> None:
    policies = (Policy(), Policy(epoch="a"), Policy(epoch="a,b"))
    keys = {
        lookup_of(request(question()), rules=Rules(1, (POOL,), policy, epochs=epochs)).key.settings
        for policy in policies
        for epochs in ((), (("m*", "a"),), (("m*", "b"),), (("m*", "a"), ("m?", "c")))
    }
    assert len(keys) == 12


def test_before_a_cache_of_our_kind_wishes_tell_calls_apart() -> None:
    def calls(pool: Pool) -> int:
        wishes: tuple[dict[str, str], ...] = (
            {},
            {"Cache-Control": "max-age=5"},
            {"x-cache-threshold": "0.9"},
        )
        rules = Rules(1, (pool,), DEFAULT)
        asked = [request(question(), *fields.items()) for fields in wishes]
        plans = [lookup_of(one, rules=rules) for one in asked]
        assert len({plan.key.exact for plan in plans}) == 1
        assert len({plan.answer for plan in plans}) == len({plan.flight for plan in plans})
        return len({plan.flight for plan in plans})

    assert calls(POOL) == 1
    assert calls(replace(POOL, is_reprise=True)) == 3
