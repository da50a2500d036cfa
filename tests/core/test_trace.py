"""W3C Trace Context, and what is noted of a request on its way."""

import gc
import weakref

import pytest

from proxy.core.trace import Call, Context, Trace, offshoot, read_context

ID, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
CONTEXT = Context(bytes.fromhex(ID), bytes.fromhex(SPAN), 1)


class FakeSource:
    """Fulfils proxy.core.trace.Source: a second passes with each look at the clock."""

    def __init__(self) -> None:
        self.now = 0.0
        self.drawn = 0
        self.told: list[Call] = []

    def draw(self, count: int) -> bytes:
        """Never the same twice."""
        self.drawn += 1
        return bytes([self.drawn]) * count

    def monotonic(self) -> float:
        """One more each time."""
        self.now += 1
        return self.now

    def tell(self, trace: Trace, call: Call) -> None:
        """Keep it."""
        self.told.append(call)


@pytest.mark.parametrize(
    ("value", "flags"),
    [
        (f"00-{ID}-{SPAN}-01", 1),
        (f"00-{ID}-{SPAN}-00", 0),
        (f" 00-{ID}-{SPAN}-03\t", 3),
        (f"00-{ID}-{SPAN}-ff", 3),
        (f"cc-{ID}-{SPAN}-01", 1),
        (f"cc-{ID}-{SPAN}-01-what-comes-later", 1),
    ],
)
def test_a_context_is_read(value: str, flags: int) -> None:
    assert read_context(value) == CONTEXT._replace(flags=flags)


@pytest.mark.parametrize(
    "value",
    [
        "",
        f"00-{ID}-{SPAN}",
        f"00-{ID}-{SPAN}-01-more",
        f"00-{ID}-{SPAN}-1",
        f"00-{ID.upper()}-{SPAN}-01",
        f"ff-{ID}-{SPAN}-01",
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{ID}-{'0' * 16}-01",
        f"00-{ID[:-1]}g-{SPAN}-01",
        f"00-{ID}-{SPAN}-01,00-{ID}-{SPAN}-01",
        f"cc-{ID}-{SPAN}-01more",
        f"00-{ID}-{SPAN}-٠١",  # digits, but not of ASCII
        f"00-{ID}-{SPAN}-01\n",
    ],
)
def test_what_is_malformed_is_none(value: str) -> None:
    assert read_context(value) is None


def test_a_context_is_written_as_it_was_read() -> None:
    assert CONTEXT.field() == f"00-{ID}-{SPAN}-01".encode()
    assert read_context(CONTEXT.field().decode()) == CONTEXT


@pytest.mark.parametrize("is_sampled", [True, False])
def test_a_trace_goes_on_with_the_clients_or_begins(is_sampled: bool) -> None:
    drawn = Trace(FakeSource(), is_sampled).context
    assert drawn == Context(b"\x01" * 16, b"\x01" * 8, int(is_sampled))
    parent = CONTEXT._replace(flags=2 + is_sampled)
    assert Trace(FakeSource(), is_sampled, parent).context == parent._replace(span_id=b"\x01" * 8)


def test_a_call_is_told_of_once_when_it_ends() -> None:
    source = FakeSource()
    trace = Trace(source, is_sampled=True, parent=CONTEXT)
    trace.end_call("nothing is under way")
    call = trace.begin_call("http://u", method="POST", operation="chat", model="m")
    assert call.context == CONTEXT._replace(span_id=b"\x02" * 8)
    trace.end_call("upstream_timeout")
    trace.end_call()
    assert source.told == [call]
    assert (call.began, call.ended, call.error) == (1, 2, "upstream_timeout")


def test_what_was_traced_leaves_no_cycle() -> None:
    trace = Trace(FakeSource(), is_sampled=True)
    trace.begin_call("http://u", method="POST", operation="chat", model="m")
    trace.end_call()
    trace.source = FakeSource()  # the other one keeps the call
    gone = weakref.ref(trace)
    gc.disable()
    try:
        del trace
        assert gone() is None
    finally:
        gc.enable()


def test_a_call_of_the_proxys_own_is_another_trace_with_its_cause() -> None:
    trace = Trace(FakeSource(), is_sampled=True, parent=CONTEXT, state="a=1", offset=5.0)
    own = trace.offshoot("refresh")
    assert own.context == Context(b"\x02" * 16, b"\x02" * 8, 1)
    assert (own.cause, own.kind, own.offset) == (trace.context, "refresh", 5.0)
    assert (own.parent, own.state) == (None, "")
    assert offshoot(None, "refresh") is None
