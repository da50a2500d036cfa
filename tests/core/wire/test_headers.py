"""Which fields pass, which are stored, and how they stand on the wire (B28, B30)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.core.model import Fields
from proxy.core.wire.headers import (
    HOP_BY_HOP,
    STORED,
    by_name,
    connection_options,
    forwarded,
    relayed,
    render,
    stored,
    upgrading,
)

REQUEST: Fields = (
    (b"Host", b"proxy:8080"),
    (b"User-Agent", b"OpenAI/Python"),
    (b"X-Twice", b"1"),
    (b"cOnNeCtIoN", b"X-Bar, close"),
    (b"X-Bar", b"secret"),
    (b"TE", b"trailers"),
    (b"x-twice", b"2"),
    (b"Connection", b" , X-Foo ,"),
    (b"X-FOO", b"f"),
    (b"Keep-Alive", b"timeout=5"),
    (b"Proxy-Authorization", b"Basic x"),
    (b"Proxy-Connection", b"keep-alive"),
    (b"Upgrade", b"h2c"),
    (b"Trailer", b"X-End"),
    (b"Transfer-Encoding", b"chunked"),
    (b"Content-Length", b"12"),
    (b"Expect", b"100-continue"),
    (b"X-Cache-TTL", b"1h"),
    (b"x-cache-anything", b"a"),
    (b"X-Cached", b"stays"),
    (b"Cache-Control", b"no-cache"),
    (b"Authorization", b"Bearer k"),
)


def test_a_request_goes_on_without_what_is_for_this_hop() -> None:
    assert forwarded(REQUEST) == (
        (b"User-Agent", b"OpenAI/Python"),
        (b"X-Twice", b"1"),
        (b"x-twice", b"2"),
        (b"X-Cached", b"stays"),
        (b"Cache-Control", b"no-cache"),
        (b"Authorization", b"Bearer k"),
    )


def test_a_cache_of_our_kind_gets_the_wishes() -> None:
    kept = forwarded(REQUEST, keeps_wishes=True)
    assert {(b"X-Cache-TTL", b"1h"), (b"x-cache-anything", b"a")} <= set(kept)
    assert len(kept) == len(forwarded(REQUEST)) + 2


def test_the_operator_s_fields_replace_the_client_s() -> None:
    asked = ((b"AUTHORIZATION", b"Bearer k"), (b"authorization", b"Bearer l"), (b"A", b"1"))
    ours = ((b"Authorization", b"Bearer ours"), (b"X-Org", b"o"))
    assert forwarded(asked, ours) == ((b"A", b"1"), *ours)
    assert upgrading(asked, ours) == ((b"A", b"1"), *ours)


def test_the_client_cannot_take_the_operator_s_fields_off() -> None:
    ours = ((b"Authorization", b"Bearer ours"),)
    assert forwarded(((b"Connection", b"authorization"),), ours) == ours


def test_an_upgrade_keeps_what_makes_it_one() -> None:
    asked = (
        (b"Host", b"proxy:8080"),
        (b"Connection", b"Upgrade"),
        (b"Upgrade", b"websocket"),
        (b"Sec-WebSocket-Key", b"x"),
        (b"Proxy-Authorization", b"Basic x"),
        (b"x-cache-namespace", b"n"),
    )
    assert upgrading(asked) == asked[1:4]


RESPONSE: Fields = (
    (b"Date", b"Mon, 01 Jan 2026 00:00:00 GMT"),
    (b"Content-Type", b"application/json"),
    (b"Set-Cookie", b"s=1"),
    (b"set-cookie", b"t=2"),
    (b"Connection", b"X-Foo, close"),
    (b"connection", b"OpenAI-Version"),
    (b"X-Foo", b"hop"),
    (b"openai-version", b"2020-10-01"),
    (b"OpenAI-Model", b"m1"),
    (b"Keep-Alive", b"timeout=5"),
    (b"Trailer", b"X-End"),
    (b"Transfer-Encoding", b"chunked"),
    (b"Content-Length", b"2"),
    (b"Content-Encoding", b"gzip"),
    (b"Proxy-Authenticate", b"Basic"),
    (b"x-ratelimit-remaining-requests", b"3"),
    (b"x-request-id", b"r1"),
    (b"openai-processing-ms", b"7"),
    (b"Server-Timing", b"a;dur=1"),
    (b"Age", b"7"),
    (b"Retry-After", b"2"),
    (b"ETag", b'"e"'),
    (b"Vary", b"Origin"),
    (b"Access-Control-Allow-Origin", b"https://a"),
)


def test_a_response_reaches_the_client_without_framing_and_in_order() -> None:
    hops = {b"connection", b"x-foo", b"openai-version", b"keep-alive", b"trailer"}
    hops |= {b"transfer-encoding", b"content-length", b"proxy-authenticate"}
    passed = [field for field in RESPONSE if field[0].lower() not in hops]
    assert relayed(RESPONSE, by_name(RESPONSE)) == render(passed)
    assert render(passed).count(b"et-") == 2


def test_only_what_speaks_of_the_answer_is_stored() -> None:
    assert stored(by_name(RESPONSE)) == (
        (b"access-control-allow-origin", b"https://a"),
        (b"openai-model", b"m1"),
        (b"vary", b"Origin"),
    )


def test_no_field_of_one_moment_or_one_client_is_ever_stored() -> None:
    never = {b"set-cookie", b"date", b"age", b"content-length", b"content-encoding", b"server"}
    assert not STORED & (HOP_BY_HOP | never)
    assert not any(b"ratelimit" in name or b"request-id" in name for name in STORED)


@pytest.mark.parametrize(
    ("values", "options"),
    [
        ([], set()),
        ([b""], set()),
        ([b" , ,"], set()),
        ([b"close"], {b"close"}),
        ([b"X-A,\tx-b"], {b"x-a", b"x-b"}),
        ([b"a", b"B"], {b"a", b"b"}),
    ],
)
def test_every_connection_field_names_hop_by_hop_fields(
    values: list[bytes], options: set[bytes]
) -> None:
    fields = tuple((b"Connection", value) for value in values)
    assert connection_options(by_name(fields)) == options


def test_several_fields_of_one_name_are_one_list() -> None:
    fields = ((b"A", b"1"), (b"b", b"2"), (b"a", b"3"), (b"a", b""), (b"B", b"4, 5"))
    assert by_name(fields) == {b"a": b"1, 3, ", b"b": b"2, 4, 5"}
    assert by_name(()) == {}


def test_field_lines_are_rendered_as_they_came() -> None:
    assert render([(b"X-A", b"1"), (b"x-a", b""), (b"B", "é".encode())]) == (
        b"X-A: 1\r\nx-a: \r\nB: \xc3\xa9\r\n"
    )


names = st.sampled_from([b"A", b"a", b"Connection", b"TE", b"x-cache-x", b"Host", b"Content-Type"])


@given(st.lists(st.tuples(names, st.sampled_from([b"a", b"te, A", b""]))).map(tuple))
def test_what_passes_is_a_part_of_what_came_in_its_order(fields: Fields) -> None:
    for passed in (forwarded(fields), upgrading(fields)):
        rest = iter(fields)
        assert all(field in rest for field in passed)
        assert not any(name.lower().startswith(b"x-cache-") for name, _ in passed)
    lines = iter(render([field]) for field in fields)
    assert all(line in lines for line in relayed(fields, by_name(fields)).splitlines(keepends=True))
