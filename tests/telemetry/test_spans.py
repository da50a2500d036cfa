"""Spans as bytes: opentelemetry's own definitions read them."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.core.trace import Context
from proxy.telemetry.spans import MAX_CHARACTERS, Kind, Span, SpanWriter, Value
from tests.fakes.collector import Received, read

CONTEXT = Context(bytes(range(1, 17)), bytes(range(1, 9)), 1)
PARENT = bytes(range(11, 19))
LINK = Context(bytes(range(31, 47)), bytes(range(31, 39)), 1)
WRITER = SpanWriter({"service.name": "s", "worker": 2}, "reprise", "1")
SPAN = Span(CONTEXT, b"", "chat m", Kind.SERVER, 1_760_000_000_000_000_001, 2**63, {})


def written(*spans: Span) -> list[Received]:
    return read(WRITER.request([WRITER.span(span) for span in spans]))


def told(**attributes: Value) -> dict[str, Any]:
    (received,) = written(SPAN._replace(attributes=attributes))
    return received.attributes


def test_a_span_is_read_as_it_was_written() -> None:
    (one,) = written(
        SPAN._replace(
            parent=PARENT, has_failed=True, is_remote=True, state="a=1,b=2", links=[LINK, CONTEXT]
        )
    )
    assert one == Received(
        name="chat m",
        kind="server",
        trace_id=CONTEXT.trace_id.hex(),
        span_id=CONTEXT.span_id.hex(),
        parent=PARENT.hex(),
        began=1_760_000_000_000_000_001,
        ended=2**63,
        has_failed=True,
        is_remote=True,
        state="a=1,b=2",
        links=tuple((c.trace_id.hex(), c.span_id.hex()) for c in (LINK, CONTEXT)),
        attributes={},
        resource={"service.name": "s", "worker": 2},
    )


def test_what_a_span_does_not_have_is_not_there() -> None:
    (one,) = written(SPAN)
    assert (one.parent, one.has_failed, one.is_remote, one.state) == ("", False, False, "")
    assert one.links == ()


@pytest.mark.parametrize("kind", list(Kind))
def test_kinds_are_those_of_the_protocol(kind: Kind) -> None:
    assert written(SPAN._replace(kind=kind))[0].kind == kind.name.lower()


def test_values_keep_their_types() -> None:
    values: dict[str, Value] = {"a": True, "b": 1, "c": 1.0, "d": "1", "e": False, "f": 0}
    for _ in range(2):  # written, and as kept
        found = told(**values)
        assert found == values
        assert [type(value) for value in found.values()] == [bool, int, float, str, bool, int]


@given(
    st.dictionaries(
        st.text(st.characters(codec="utf-8"), max_size=200),
        st.one_of(
            st.text(st.characters(codec="utf-8"), max_size=MAX_CHARACTERS),
            st.integers(-(2**63), 2**63 - 1),
            st.booleans(),
            st.floats(allow_nan=False),
        ),
        max_size=20,
    )
)
def test_any_attributes_arrive(attributes: dict[str, Value]) -> None:
    (one,) = written(SPAN._replace(attributes=attributes))
    assert one.attributes == attributes


def test_what_is_no_number_arrives() -> None:
    assert math.isnan(told(a=math.nan)["a"])


def test_texts_are_bounded_and_lone_surrogates_replaced() -> None:
    found = told(long="x" * 1000, odd="a\udcffb")
    assert found == {"long": "x" * MAX_CHARACTERS, "odd": "a?b"}
    assert len(written(SPAN._replace(name="n" * 1000))[0].name) == MAX_CHARACTERS


def test_many_spans_go_in_one_request() -> None:
    assert [one.name for one in written(*[SPAN._replace(name=str(n)) for n in range(300)])] == [
        str(n) for n in range(300)
    ]
