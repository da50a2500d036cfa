"""What a request asks of the cache (RFC 9111 5.2.1)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.core.cache.directives import (
    MAX_NAMESPACE,
    MAX_TAG,
    MAX_TAGS,
    NONE,
    Directives,
    parse,
    parse_duration,
)
from tests.core.values import header_of
from tests.effort import grows_linearly

INFINITE = float("inf")


def of(*values: str) -> Directives:
    return parse(header_of(*(("Cache-Control", value) for value in values)))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("no-store", Directives(no_store=True)),
        ("No-Store", Directives(no_store=True)),
        ("no-cache", Directives(no_cache=True)),
        ('no-cache="authorization"', Directives(no_cache=True)),
        ("only-if-cached", Directives(only_if_cached=True)),
        ("max-age=0", Directives(max_age=0)),
        ("MAX-AGE=60", Directives(max_age=60)),
        ('max-age="60"', Directives(max_age=60)),
        ("max-age = 60", Directives(max_age=60)),
        ("max-age=007", Directives(max_age=7)),
        ("max-age=" + "9" * 40, Directives(max_age=float("9" * 40))),
        ("min-fresh=5", Directives(min_fresh=5)),
        ("max-stale", Directives(max_stale=INFINITE)),
        ("max-stale=5", Directives(max_stale=5)),
        ("no-cache,no-store", Directives(no_cache=True, no_store=True)),
        (" ,, no-cache ,\tmax-age=1 ,", Directives(no_cache=True, max_age=1)),
        ("no-transform, community='UCI', x=1", NONE),
        ("x-no-store, no-store-at-all, nostore", NONE),
        ('ext="a, no-store, max-stale", max-age=1', Directives(max_age=1)),
        ("", NONE),
        (" ", NONE),
    ],
)
def test_directives_are_read_as_the_standard_says(value: str, expected: Directives) -> None:
    assert of(value) == expected


@pytest.mark.parametrize(
    "number",
    ["", "-1", "+1", "1.5", "1e3", "0x10", "abc", "１２", "²", "1 2", "60s", '"', '"6', "∞"],
)
def test_a_number_that_cannot_be_read_is_taken_strictly(number: str) -> None:
    assert of(f"max-age={number}") == Directives(max_age=0)
    assert of(f"min-fresh={number}") == Directives(min_fresh=INFINITE)
    assert of(f"max-stale={number}") == Directives(max_stale=0)


def test_a_number_that_is_missing_is_taken_strictly() -> None:
    assert of("max-age, min-fresh") == Directives(max_age=0, min_fresh=INFINITE)


def test_of_a_directive_given_twice_the_first_counts() -> None:
    assert of("max-age=5, max-age=10", "max-age=1").max_age == 5
    assert of("max-stale=5, max-stale").max_stale == 5
    assert of("max-age=x, max-age=10").max_age == 0


def test_several_fields_are_one_list() -> None:
    assert of("no-cache", "only-if-cached") == Directives(no_cache=True, only_if_cached=True)


def test_without_fields_there_are_no_wishes() -> None:
    assert parse(header_of()) is NONE
    assert parse(header_of(("Pragma", "no-cache"))) is NONE


directive = st.sampled_from(["no-store", "max-age", "max-stale", "min-fresh", "a"])


@given(st.text('abn-ostremxgf="\\, 19é', max_size=30))
def test_whatever_is_sent_is_read(value: str) -> None:
    wishes = of(value)
    assert wishes.max_age is None or wishes.max_age >= 0
    assert wishes.flaw is None


@given(st.text(), st.lists(directive, min_size=1), st.sampled_from(["no-store", "no-cache"]))
def test_no_text_in_front_hides_a_strict_directive(
    text: str, others: list[str], strict: str
) -> None:
    value = ",".join([text.replace('"', ""), *others, strict])
    assert getattr(of(value), strict.replace("-", "_"))


@pytest.mark.parametrize("piece", ['"', '\\"', ",", "a=", '="a,', "a "])
def test_long_fields_take_linear_time(piece: str) -> None:
    # An odd number of quotes opens a string that never ends.
    assert grows_linearly(lambda size: of('"' + piece * size), 10_000)
    assert grows_linearly(lambda size: of(piece * size), 10_000)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 90),
        ("0", 0),
        ("90s", 90),
        (" 1.5h ", 5400),
        ("15m", 900),
        ("1d", 86400),
        ("250ms", 0.25),
        ("2 h", 7200),
        ("999999999d", 999999999 * 86400),
    ],
)
def test_a_duration_has_a_unit_or_is_in_seconds(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds
    assert parse(header_of(("x-cache-ttl", text))) == Directives(ttl=seconds)


@pytest.mark.parametrize(
    "text", ["soon", "-1", "1h30m", "1w", "1H", "1e3", "1.", ".5", "１h", "1,5", "9999999999", "h"]
)
def test_a_duration_that_cannot_be_read_is_a_flaw(text: str) -> None:
    assert parse_duration(text) is None
    assert parse(header_of(("x-cache-ttl", text))).flaw == "x-cache-ttl"


@pytest.mark.parametrize(
    ("value", "threshold"),
    [("0", 0), ("1", 1), ("0.8", 0.8), (".95", 0.95), ("1.0", 1), ("1.000", 1), (" 0.9 ", 0.9)],
)
def test_a_threshold_is_a_number_from_zero_to_one(value: str, threshold: float) -> None:
    assert parse(header_of(("x-cache-threshold", value))) == Directives(threshold=threshold)


@pytest.mark.parametrize("value", ["1.1", "2", "-0.5", "high", "0.", "1e-1", "０.9", "nan", "00.5"])
def test_a_threshold_that_cannot_be_read_is_a_flaw(value: str) -> None:
    wishes = parse(header_of(("x-cache-threshold", value)))
    assert (wishes.flaw, wishes.threshold) == ("x-cache-threshold", 0)


@pytest.mark.parametrize(
    ("value", "tags"),
    [
        ("b, a,,b ", ("a", "b")),
        ("标签,tag", ("tag", "标签")),
        (",", ()),
        ("x" * MAX_TAG, ("x" * MAX_TAG,)),
    ],
)
def test_tags_are_a_set(value: str, tags: tuple[str, ...]) -> None:
    assert parse(header_of(("x-cache-tags", value))) == Directives(tags=tags)


def test_tags_and_namespace_are_bounded() -> None:
    many = ",".join(map(str, range(MAX_TAGS + 1)))
    assert parse(header_of(("x-cache-tags", many))).flaw == "x-cache-tags"
    assert parse(header_of(("x-cache-tags", "x" * (MAX_TAG + 1)))).flaw == "x-cache-tags"
    assert parse(header_of(("x-cache-namespace", "n" * MAX_NAMESPACE))).flaw is None
    long = parse(header_of(("x-cache-namespace", "n" * (MAX_NAMESPACE + 1))))
    assert long.flaw == "x-cache-namespace"


def test_the_first_flaw_is_told() -> None:
    fields = header_of(("x-cache-ttl", "?"), ("x-cache-threshold", "?"))
    assert parse(fields).flaw == "x-cache-ttl"


@pytest.mark.parametrize(
    ("value", "is_background", "flaw"),
    [
        ("background", True, None),
        (" Background ", True, None),
        ("normal", False, None),
        ("low", False, "x-cache-priority"),
        ("background, background", False, "x-cache-priority"),
    ],
)
def test_a_priority_is_background_or_normal(
    value: str, is_background: bool, flaw: str | None
) -> None:
    wishes = parse(header_of(("x-cache-priority", value)))
    assert (wishes.is_background, wishes.flaw) == (is_background, flaw)


@pytest.mark.parametrize("name", ["ttl", "tags", "namespace", "threshold", "priority"])
def test_an_empty_field_of_ours_is_none(name: str) -> None:
    assert parse(header_of((f"x-cache-{name}", ""))) is NONE
