"""Changes for tests: the usual ones, and any that there may be."""

from typing import Any

from hypothesis import strategies as st

from proxy.core.cache.change import (
    Aliased,
    Barred,
    Change,
    Deleted,
    Learnt,
    Purged,
    Put,
    Rejected,
    Renewed,
)
from proxy.core.cache.selector import Selector
from proxy.core.cache.value import StoredResponse
from proxy.core.model import Shape
from tests.core.values import NOW, stored_response


def key(number: int) -> bytes:
    """The key of a number."""
    return number.to_bytes(32, "big")


def put(number: int, **members: Any) -> Put:
    """An answer under the key of a number."""
    return Put(stored_response(key=key(number), **members))


def learnt(number: int, **members: Any) -> Learnt:
    """How to find the answer under the key of a number."""
    usual: dict[str, Any] = {
        "key": key(number),
        "scope": b"s" * 32,
        "settings": b"e" * 32,
        "history": b"h" * 32,
        "text": "How do I reset my password?",
        "until": NOW + 100,
        "encoder": "minilm@1",
        "vector": bytes(4 * 4),
    }
    return Learnt(**(usual | members))


def aliased(number: int, target: int) -> Aliased:
    """A question that was answered with what is stored for another."""
    return Aliased(key(number), key(target), 0.9, b"a" * 16, b"b" * 16, judge=b"j" * 32, at=NOW)


def comparable(change: Change) -> object:
    """A value that is equal for equal changes: a stored response is equal only to itself."""
    if not isinstance(change, Put):
        return change
    stored = change.stored
    names = StoredResponse.__slots__
    members = {name: getattr(stored, name) for name in names if name not in ("derived", "charged")}
    return {**members, "followed": change.followed}


_digests = st.binary(min_size=32, max_size=32)
_text_digests = st.binary(min_size=16, max_size=16)
_texts = st.text(st.characters(), max_size=40)
"""Lone surrogates among them."""
_times = st.floats(-1e12, 1e12)
_lifetimes = st.floats(0, 1e12)
_counts = st.integers(0, 2**63 - 1)
_heads = st.lists(st.binary(max_size=20), max_size=3).map(
    lambda values: (
        b"".join(
            b"%b: %b\r\n" % (name, value.translate(None, b"\r\n\0"))
            for name, value in zip(
                (b"content-type", b"openai-version", b"x-a"), values, strict=False
            )
        )
        or b"Content-Type: a/b\r\n"
    )
)

stored_responses = st.builds(
    StoredResponse,
    key=_digests,
    tenant=_digests,
    operation=_texts,
    model=_texts,
    namespace=_texts,
    tags=st.lists(_texts, max_size=16).map(tuple),
    shape=st.sampled_from(Shape),
    body=st.binary(max_size=200),
    head=_heads,
    stream_options=st.binary(max_size=20),
    created=_times,
    ttl=_lifetimes,
    prompt_tokens=_counts,
    completion_tokens=_counts,
    duration=_lifetimes,
)
changes: st.SearchStrategy[Change] = st.one_of(
    st.builds(Put, stored_responses, st.lists(_digests, max_size=3).map(tuple)),
    st.builds(Deleted, _digests, _times),
    st.builds(Barred, _digests, st.booleans(), _times),
    st.builds(
        Learnt,
        *(_digests, _digests, _digests, _digests),
        _texts,
        _times,
        _texts,
        st.integers(1, 20).flatmap(lambda size: st.binary(min_size=4 * size, max_size=4 * size)),
    ),
    st.builds(
        Aliased,
        _digests,
        _digests,
        st.floats(-1, 1),
        _text_digests,
        st.just(b"") | _text_digests,
        _digests,
        _times,
    ),
    st.builds(
        Rejected,
        _digests,
        _times,
        st.lists(st.tuples(_text_digests, _text_digests), max_size=4).map(tuple),
    ),
    st.builds(
        Purged,
        st.builds(Selector, _texts, _texts, _texts, _texts, _texts),
        st.booleans(),
        _times,
        _texts,
    ),
    st.builds(Renewed, _texts, _texts, _times, _texts),
)
"""Any change of any kind."""
