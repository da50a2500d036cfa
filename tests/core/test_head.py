"""What the head of a request says to the cache."""

import pytest

from proxy.core.cache.directives import Directives
from proxy.core.head import (
    CREDENTIAL_FIELDS,
    DECIDING_FIELDS,
    VARIANT_FIELDS,
    Head,
    caller_digest,
    read_head,
)
from tests.core.values import SECRET, request


def head_of(*fields: tuple[str, str], content_type: str | None = None) -> Head:
    return read_head(request(None, *fields, content_type=content_type), SECRET)


def test_an_empty_head_says_nothing() -> None:
    head = head_of()
    assert head.wishes == Directives()
    assert head.variant == (None,) * len(VARIANT_FIELDS)
    assert (head.coding, head.is_json, head.is_coded) == (b"", False, False)
    assert not head.dropped


def test_a_head_is_read_whatever_the_case_of_its_names() -> None:
    fields = (
        ("CACHE-CONTROL", "no-cache"),
        ("origin", "https://a"),
        ("accept-encoding", "gzip"),
        ("Accept-Encoding", "br\udcff"),
        ("content-ENCODING", "gzip"),
    )
    head = head_of(*fields, content_type="Application/JSON ; charset=utf-8")
    assert head.wishes == Directives(no_cache=True)
    assert head.variant[-1] == "https://a"
    assert head.coding == b"gzip, br\xff"
    assert head.is_json
    assert head.is_coded


def test_a_caller_is_known_by_every_credential_field() -> None:
    callers = [head_of().caller]
    callers += [head_of((name, value)).caller for name in CREDENTIAL_FIELDS for value in ("", "k")]
    callers.append(head_of(*((name, "k") for name in CREDENTIAL_FIELDS)).caller)
    assert len(set(callers)) == len(callers)
    assert head_of(("AUTHORIZATION", "k")).caller == head_of(("Authorization", "k")).caller


def test_the_digest_of_a_caller_needs_the_secret_and_does_not_show_the_credential() -> None:
    asked = request(None, ("Authorization", "Bearer k"))
    assert caller_digest(asked, SECRET) == read_head(asked, SECRET).caller
    assert caller_digest(asked, SECRET) != caller_digest(asked, b"another secret")
    assert b"Bearer" not in caller_digest(asked, SECRET)


@pytest.mark.parametrize(
    ("connection", "keeps"),
    [
        ("keep-alive", True),
        ("close, x-bar,", True),
        ("Authorization", False),
        ("close, openai-beta", False),
        ("Content-Type", False),
        ("x-cache-namespace", False),
        ("X-TEAM", False),
    ],
)
def test_the_upstream_must_see_what_the_plan_depends_on(connection: str, keeps: bool) -> None:
    assert head_of(("Connection", connection)).keeps("x-Team") is keeps


def test_without_a_scope_header_none_is_missed() -> None:
    assert head_of(("Connection", "close,")).keeps("")
    assert head_of(("Connection", "X-Team")).keeps("")


def test_the_fields_that_decide_are_named_in_lower_case() -> None:
    assert {name.lower().encode() for name in CREDENTIAL_FIELDS} < DECIDING_FIELDS
    assert {name.lower().encode() for name in VARIANT_FIELDS} < DECIDING_FIELDS
    assert b"connection" in DECIDING_FIELDS
    assert all(name == name.lower() for name in DECIDING_FIELDS)
