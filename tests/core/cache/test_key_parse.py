"""Bodies that two readers may read differently are never keyed."""

import sys
from collections.abc import Iterator

import pytest

from proxy.core.cache.key import MAX_DEPTH, UnkeyableBody, canonical, mask, parse
from tests.effort import is_cheaper

AMBIGUOUS = {
    "a name twice": b'{"model":"a","model":"b"}',
    "a name twice, once escaped": rb'{"model":"a","mode\u006c":"a"}',
    "a name twice, deep": b'{"messages":[{"content":[{"text":"a","text":"a"}]}]}',
    "a name twice in an ignored member": b'{"metadata":{"a":1,"a":2}}',
    "a name twice among others": b'{"a":1,"b":2,"a":1}',
    "NaN": b'{"temperature":NaN}',
    "Infinity": b'{"temperature":Infinity}',
    "-Infinity": b'{"a":[-Infinity]}',
    "an integer of 65 bits": b'{"seed":18446744073709551616}',
    "a negative integer of 65 bits": b'{"seed":-9223372036854775809}',
    "a very long integer": b'{"seed":' + b"9" * 5000 + b"}",
    "a double out of range": b'{"temperature":1e999}',
    "a negative double out of range": b'{"temperature":-1e999}',
    "invalid UTF-8": b'{"model":"\xff"}',
    "UTF-8 of a surrogate": b'{"model":"\xed\xa0\x80"}',
    "overlong UTF-8": b'{"model":"\xc0\xaf"}',
    "UTF-16": '{"model":"a"}'.encode("utf-16"),
    "UTF-16 without a mark": '{"model":"a"}'.encode("utf-16-le"),
    "a byte order mark": b'\xef\xbb\xbf{"model":"a"}',
    "a list": b"[]",
    "a string": b'"model"',
    "a number": b"1",
    "null": b"null",
    "nothing": b"",
    "blanks": b"  ",
    "something after the end": b'{"model":"a"} x',
    "two documents": b"{}{}",
    "a trailing comma": b'{"model":"a",}',
    "a comment": b'{"model":"a"/* b */}',
    "single quotes": b"{'model':'a'}",
    "a bare control character": b'{"model":"a\nb"}',
    "an unfinished escape": rb'{"model":"\u12"}',
    "a leading zero": b'{"seed":01}',
    "a leading plus": b'{"seed":+1}',
    "digits of another script": '{"seed":１}'.encode(),
    "an unfinished body": b'{"model":"a"',
    "depth 101": b'{"a":' + b"[" * 100 + b"]" * 100 + b"}",
    "depth 1000": b'{"a":' + b"[" * 999 + b"]" * 999 + b"}",
    "depth 1000 of objects": b'{"a":' * 1000 + b"1" + b"}" * 1000,
    "depth 100000": b'{"a":' + b"[" * 99999 + b"]" * 99999 + b"}",
    "depth 100000 that never ends": b'{"a":' + b"[" * 100000,
}


@pytest.mark.parametrize("body", AMBIGUOUS.values(), ids=AMBIGUOUS.keys())
def test_a_body_that_is_not_unambiguous_json_is_refused(body: bytes) -> None:
    with pytest.raises(UnkeyableBody):
        parse(body)


PLAIN = {
    "an empty object": b"{}",
    "blanks around": b' \t\r\n{"a" : 1}\n',
    "the largest integer": b'{"seed":18446744073709551615}',
    "the smallest integer": b'{"seed":-9223372036854775808}',
    "a lone surrogate": rb'{"model":"\ud800"}',
    "the same name in two objects": b'{"a":{"b":1},"c":{"b":1}}',
    "a name and the same text": b'{"a":"a"}',
    "an underflow": b'{"temperature":1e-999}',
    "depth 100": b'{"a":' + b"[" * 99 + b"]" * 99 + b"}",
    "many brackets, none deep": b'{"a":[' + b",".join([b'{"b":[1]}'] * 300) + b"]}",
    "brackets in text": b'{"a":"' + b"[{" * 300 + b'"}',
}


@pytest.mark.parametrize("body", PLAIN.values(), ids=PLAIN.keys())
def test_an_unambiguous_object_is_read(body: bytes) -> None:
    assert canonical(parse(body))


def test_whoever_walks_through_a_parsed_body_may_recurse() -> None:
    nested = MAX_DEPTH - 1
    body = parse(b'{"a":' + b"[" * nested + b'"x"' + b"]" * nested + b"}")
    assert canonical(mask(body, ())) == canonical(body)


@pytest.fixture
def _no_limit_of_digits() -> Iterator[None]:
    limit = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    yield
    sys.set_int_max_str_digits(limit)


@pytest.mark.usefixtures("_no_limit_of_digits")
def test_a_number_of_many_digits_is_refused_before_it_is_worked_out() -> None:
    digits = b"7" * 50_000

    def refuse() -> None:
        with pytest.raises(UnkeyableBody):
            parse(b'{"seed":-' + digits + b"}")

    assert is_cheaper(refuse, 0.5, lambda: int(digits))


def test_the_depth_of_a_wide_body_takes_no_more_than_reading_it() -> None:
    body = b'{"input":[' + b",".join([b"[1,2,3,4]"] * 20_000) + b"]}"
    assert len(canonical(parse(body))) == len(body)
