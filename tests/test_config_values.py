"""Durations, sizes, addresses, URLs and the rest of the notations."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.config_values import (
    ConfigValueError,
    FromEnv,
    check_not_empty,
    check_text,
    format_duration,
    format_size,
    format_timeout,
    looks_secret,
    parse_address,
    parse_deadline,
    parse_duration,
    parse_header_name,
    parse_header_value,
    parse_ignored_field,
    parse_mask,
    parse_model,
    parse_path_glob,
    parse_pattern,
    parse_redis_prefix,
    parse_redis_url,
    parse_scope,
    parse_secret,
    parse_size,
    parse_timeout,
    parse_upstream_header_name,
    parse_url,
    parse_word,
    redacted_url,
    shown,
)
from proxy.core.address import Address


def mistake(parse: Callable[[object], object], value: object) -> ConfigValueError:
    with pytest.raises(ConfigValueError) as caught:
        parse(value)
    return caught.value


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("250ms", 0.25),
        ("5s", 5),
        ("10m", 600),
        ("24h", 86400),
        ("7d", 604800),
        ("1h30m", 5400),
        ("1d2h3m4s5ms", 93784.005),
        ("1.5h", 5400),
        ("0s", 0),
        ("0", 0),
        (0, 0),
        (0.0, 0),
        (FromEnv("30s"), 30),
        ("3650d", 315360000),
    ],
)
def test_duration_has_a_unit_or_is_zero(text: object, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    ("value", "remedy"),
    [
        (30, 'write "30s"'),
        ("30", 'write "30s"'),
        (1.5, 'write "1.5s"'),
        (-1, 'write "0s" or more'),
        ("-5s", 'write "0s" or more'),
        ("", "such as"),
        ("high", "such as"),
        ("30m1h", "such as"),
        ("5 s", "such as"),
        ("٣s", "such as"),
        ("5s\n", "such as"),
        (None, "such as"),
        (True, "such as"),
        (False, "such as"),
        ([], "such as"),
        (float("nan"), "such as"),
        ("9999999999999d", "3650d"),
        ("9" * 400 + "d", "such as"),
        ("3650d1ms", "3650d"),
    ],
)
def test_no_duration_is_refused_with_a_remedy(value: object, remedy: str) -> None:
    assert remedy in mistake(parse_duration, value).remedy


@given(st.integers(min_value=0, max_value=3650 * 86_400_000))
def test_written_duration_reads_the_same(milliseconds: int) -> None:
    seconds = milliseconds / 1000
    assert parse_duration(format_duration(seconds)) == seconds


@pytest.mark.parametrize("value", [None, "none", FromEnv("none")])
def test_timeout_may_have_no_bound(value: object) -> None:
    assert parse_timeout(value) is None
    assert format_timeout(None) == "none"


def test_timeout_is_a_duration_above_zero() -> None:
    assert parse_timeout("5s") == 5
    assert format_timeout(5) == "5s"
    assert "none" in mistake(parse_timeout, 0).remedy


@pytest.mark.parametrize("value", [0, "0s", "0.1ms", "none", FromEnv("none"), None, "soon", 100])
def test_deadline_is_a_bound_above_zero(value: object) -> None:
    assert parse_deadline("100ms") == 0.1
    assert "write " in mistake(parse_deadline, value).remedy


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("64KiB", 65536),
        ("4MiB", 4 << 20),
        ("1GiB", 1 << 30),
        ("1TiB", 1 << 40),
        ("500KB", 500_000),
        ("10MB", 10_000_000),
        ("1.5 MiB", 1572864),
        ("12B", 12),
        ("4096", 4096),
        (4096, 4096),
        ("1024TiB", 1 << 50),
    ],
)
def test_size_has_a_unit_or_is_bytes(text: object, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("64kib", "not a size"),
        ("1.5", "not a size"),
        (1.5, "not a size"),
        ("", "not a size"),
        (None, "not a size"),
        (True, "not a size"),
        ({}, "not a size"),
        (-4, "negative"),
        ("-4MiB", "negative"),
        (0, "size of 0"),
        ("0.0001B", "size of 0"),
        ("1025TiB", "larger than 1024 TiB"),
        ("9" * 400 + "TB", "not a size"),
    ],
)
def test_no_size_is_refused(value: object, message: str) -> None:
    assert message in mistake(parse_size, value).message


@given(st.integers(min_value=1, max_value=1 << 50))
def test_written_size_reads_the_same(size: int) -> None:
    assert parse_size(format_size(size)) == size


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("127.0.0.1:8080", "127.0.0.1", 8080),
        ("localhost:0", "localhost", 0),
        ("[::1]:65535", "::1", 65535),
        ("*:8080", "*", 8080),
        (Address("::1", 80), "::1", 80),
    ],
)
def test_address_is_host_and_port(text: object, host: str, port: int) -> None:
    address = parse_address(text)
    assert (address.host, address.port) == (host, port)
    assert parse_address(str(address)) == address


@pytest.mark.parametrize(
    ("value", "remedy"),
    [
        (8080, '"127.0.0.1:8080"'),
        (":9000", '"*:9000"'),
        ("*.example:80", "127.0.0.1:8080"),
        ("somewhere", "127.0.0.1:8080"),
        ("127.0.0.1:65536", "0 to 65535"),
        ("127.0.0.1:", "0 to 65535"),
        ("127.0.0.1:-1", "0 to 65535"),
        ("127.0.0.1:٣", "0 to 65535"),
        ("::1:8080", "[::1]:8080"),
        ("http://x:80", "[::1]:8080"),
        (None, "127.0.0.1:8080"),
    ],
)
def test_no_address_is_refused_with_a_remedy(value: object, remedy: str) -> None:
    assert remedy in mistake(parse_address, value).remedy


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("http://127.0.0.1:11434", "http://127.0.0.1:11434"),
        ("HTTPS://LLM.Example.org/Api/", "https://llm.example.org/Api"),
        ("http://[::1]:8000/", "http://[::1]:8000"),
        ("http://host_name", "http://host_name"),
    ],
)
def test_url_is_kept_in_one_form(text: str, url: str) -> None:
    assert parse_url(text) == url
    assert parse_url(url) == url


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("127.0.0.1:11434", "begins with"),
        ("ftp://x", "begins with"),
        ("", "begins with"),
        ("http://", "not a URL"),
        ("http://x:99999", "not a URL"),
        ("http://x:0", "not a URL"),
        ("http://[::1", "not a URL"),
        ("http://x y", "not a URL"),
        ("http://x/a b", "spaces"),
        ("http://x/é", "not a URL"),
        ("http://user@x", "user name"),
        ("http://:geheim@x", "user name"),
        ("http://x/?a=1", "query"),
        ("http://x/?", "query"),
        ("http://x#f", "fragment"),
        (5, "text"),
        (None, "text"),
    ],
)
def test_no_url_is_refused(value: object, message: str) -> None:
    found = mistake(parse_url, value)
    assert message in found.message
    assert "geheim" not in found.message + found.remedy


def test_text_from_the_environment_becomes_plain_text() -> None:
    assert type(check_text(FromEnv("a"))) is str


@pytest.mark.parametrize("value", ["", "  ", None, 5])
def test_word_is_text_and_not_empty(value: object) -> None:
    mistake(parse_word, value)
    assert parse_word("a*") == "a*"


@pytest.mark.parametrize("value", ["", "a b", "a:b", "ä", 5])
def test_header_name_is_a_token(value: object) -> None:
    mistake(parse_header_name, value)
    assert parse_header_name("x-Team") == "x-Team"


def test_headers_of_the_connection_are_not_the_operators() -> None:
    assert "connection" in mistake(parse_upstream_header_name, "Transfer-Encoding").message
    assert parse_upstream_header_name("x-team") == "x-team"


@pytest.mark.parametrize("value", ["a\r\nb: c", " a", "a ", "é", "\x00", 5])
def test_header_value_is_printable(value: object) -> None:
    mistake(parse_header_value, value)


@pytest.mark.parametrize("value", ["", "a b", "a\tb", "*"])
def test_header_value_may_have_spaces_inside(value: str) -> None:
    assert parse_header_value(value) == value


@pytest.mark.parametrize("value", ["geheim ", "ge heim", "geheim\n", "ge\theim", "gehéim", 4711])
def test_secret_is_checked_and_never_shown(value: object) -> None:
    found = mistake(parse_secret, value)
    assert "geh" not in found.message + found.remedy
    assert "4711" not in found.message + found.remedy


@pytest.mark.parametrize("value", ["", "sk-123", FromEnv("4711")])
def test_secret_may_be_empty(value: str) -> None:
    assert parse_secret(value) == value


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Authorization", True),
        ("api-key", True),
        ("X-APIKey", True),
        ("x-auth-token", True),
        ("Cookie", True),
        ("x-team", False),
        ("x-author", False),
        ("x-max-tokens", False),
    ],
)
def test_headers_that_carry_credentials_are_known(name: str, expected: bool) -> None:
    assert looks_secret(name) is expected


@pytest.mark.parametrize("scope", ["credential", "shared", "header:x-tenant"])
def test_scope_is_one_of_three(scope: str) -> None:
    assert parse_scope(scope) == scope


@pytest.mark.parametrize(
    "value", ["", "Shared", "header", "header:", "header:a b", "header:Authorization", None]
)
def test_no_scope_is_refused(value: object) -> None:
    mistake(parse_scope, value)


@pytest.mark.parametrize("value", ["(", "a{99999999999}", "", "(?P<1>a)", 5])
def test_pattern_compiles(value: object) -> None:
    mistake(parse_pattern, value)
    assert parse_pattern(r"\d+") == r"\d+"


@pytest.mark.parametrize("value", [".*", "a*", "", "(x)?", "^"])
def test_mask_matches_something(value: str) -> None:
    mistake(parse_mask, value)
    assert parse_mask(r"\d{4}") == r"\d{4}"


def test_path_glob_begins_like_a_path() -> None:
    assert parse_path_glob("") == ""
    assert parse_path_glob("*/embeddings") == "*/embeddings"
    assert mistake(parse_path_glob, "v1/*").remedy == 'write "/v1/*"'


@pytest.mark.parametrize("name", ["messages", "prompt", "input", "model", ""])
def test_what_makes_the_question_cannot_be_ignored(name: str) -> None:
    mistake(parse_ignored_field, name)
    assert parse_ignored_field("trace_id") == "trace_id"


def test_model_has_a_name() -> None:
    assert parse_model("all-minilm-l6-v2") == "all-minilm-l6-v2"
    for value in ("", " ", 5, None):
        assert mistake(parse_model, value).remedy


def test_list_may_have_to_have_something_in_it() -> None:
    assert check_not_empty(("a",)) == ("a",)
    with pytest.raises(ConfigValueError, match="is empty"):
        check_not_empty(())


def test_values_are_shown_short() -> None:
    assert shown(None) == '"null"'
    assert len(shown("x" * 1000)) == 62


@pytest.mark.parametrize(
    ("url", "shown_as"),
    [
        ("", ""),
        ("redis://127.0.0.1:6379/0", "redis://127.0.0.1:6379/0"),
        ("redis://:geheim@h:1/0", "redis://***@h:1/0"),
        ("rediss://user:ge%40heim@h", "rediss://***@h"),
        ("unix:///run/redis.sock?db=1", "unix:///run/redis.sock?db=1"),
        ("redis+sentinel://a:26379,b:26379/main/0", "redis+sentinel://a:26379,b:26379/main/0"),
        ("redis+cluster://user:x@a:1,b:2", "redis+cluster://***@a:1,b:2"),
    ],
)
def test_url_of_redis_is_kept_and_shown_without_password(url: str, shown_as: str) -> None:
    assert parse_redis_url(url) == url
    assert redacted_url(url) == shown_as


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("127.0.0.1:6379", "begins with none"),
        ("http://x", "begins with none"),
        ("redis:", "begins with none"),
        ("redis://", "not a URL"),
        ("redis://user@", "not a URL"),
        ("redis://a b", "not a URL"),
        ("redis+sentinel://a:1,b:2", "master"),
        ("redis://:gehe#im@h:1/0", "the password"),
        ("redis://:gehe/im@h:1/0", "the password"),
        ("redis://:geheim@h:x/0", "a port"),
        ("redis://:geheim@h:99999/0", "a port"),
        ("redis://:geheim@[::1/0", "a host"),
        ("redis+cluster://a:1,b:x", "a port"),
        (5, "text"),
    ],
)
def test_no_url_of_redis_is_refused(value: object, message: str) -> None:
    told = mistake(parse_redis_url, value)
    assert message in told.message
    assert "gehe" not in f"{told.message} {told}"


def test_prefix_of_keys_has_plain_characters() -> None:
    assert parse_redis_prefix("team-a:reprise_2.0") == "team-a:reprise_2.0"
    for text in ("", "a b", "a*", "{a}", "a" * 65):
        assert "character" in mistake(parse_redis_prefix, text).message
