"""Documents, and all the ways in which a server may tell one as a stream (strategies)."""

from collections.abc import Sequence

import orjson
from hypothesis import strategies as st

from proxy.core.wire.operation import Json, JsonObject
from tests.core.wire.streams import without

Draw = st.DrawFn

texts = st.text('abc 答案。é😀\n"\\{}', min_size=1, max_size=12)
arguments = st.dictionaries(st.sampled_from(["city", "天"]), texts | st.integers(0, 9), max_size=2)
vendor: st.SearchStrategy[Json] = st.sampled_from(
    [None, 0, False, {"a": 0, "b": ["c"]}, [], [{"x": None}], "v1"]
)
usages: st.SearchStrategy[JsonObject] = st.builds(
    lambda prompt, completion: {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "prompt_tokens_details": {"cached_tokens": 0},
        "completion_tokens_details": None,
    },
    st.integers(0, 99),
    st.integers(0, 99),
)
token_logprobs: st.SearchStrategy[Json] = st.builds(
    lambda token, logprob: {"token": token, "logprob": logprob, "top_logprobs": []},
    texts,
    st.floats(-9, 0),
)
logprobs: st.SearchStrategy[Json] = st.none() | st.fixed_dictionaries(
    {"content": st.lists(token_logprobs, min_size=1, max_size=4), "refusal": st.none()}
)
finish_reasons = st.sampled_from(["stop", "length", "tool_calls", "content_filter"])


@st.composite
def documents(draw: Draw, choices: st.SearchStrategy[JsonObject], kind: str) -> JsonObject:
    """A JSON answer of the form that servers give."""
    found = draw(st.lists(choices, min_size=1, max_size=3))
    document: JsonObject = {
        "id": "answer-1",
        "object": kind,
        "created": 1700000001,
        "model": "m1",
        "choices": [{"index": index} | choice for index, choice in enumerate(found)],
    }
    optional: dict[str, st.SearchStrategy[Json]] = {
        "usage": usages.map(lambda usage: usage),
        "system_fingerprint": st.just("fp_1") | st.none(),
        "timings": st.just({"prompt_n": 1, "predicted_ms": 2.5}),
        "x_vendor": vendor,
    }
    return document | draw(st.fixed_dictionaries({}, optional=optional))


@st.composite
def pieces(draw: Draw, text: str) -> list[str]:
    """The text in fragments, some of them empty."""
    cuts = sorted(draw(st.lists(st.integers(0, len(text)), max_size=4)))
    bounds = zip([0, *cuts], [*cuts, len(text)], strict=True)
    return [text[start:end] for start, end in bounds]


@st.composite
def interleaved(draw: Draw, lists: Sequence[Sequence[JsonObject]]) -> list[JsonObject]:
    """All elements of the lists, each list in its own order."""
    waiting = [list(items) for items in lists if items]
    merged: list[JsonObject] = []
    while waiting:
        chosen = draw(st.sampled_from(range(len(waiting))))
        merged.append(waiting[chosen].pop(0))
        waiting = [items for items in waiting if items]
    return merged


@st.composite
def chunks(draw: Draw, document: JsonObject, fragments: list[JsonObject], kind: str) -> list[Json]:
    """The chunks that carry these fragments of choices and the document's other members."""
    envelope = {name: document[name] for name in ("id", "created", "model")}
    envelope["object"] = kind
    told: list[JsonObject] = [envelope | {"choices": [fragment]} for fragment in fragments]
    known = {*envelope, "choices", "usage"}
    for name, value in without(document, known).items():
        place = draw(st.integers(0, len(told) - 1))
        told[place] = told[place] | {name: value}
    usage = document.get("usage")
    if isinstance(usage, dict):
        early = usage | {"completion_tokens": 0}
        match draw(st.sampled_from(["first", "last", "each", "own", "nulls"])):
            case "first":
                told[0] = told[0] | {"usage": usage}
            case "last":
                told[-1] = told[-1] | {"usage": usage}
            case "each":
                told = [one | {"usage": early} for one in told]
                told.append(envelope | {"choices": [], "usage": usage})
            case "own":
                told.append(envelope | {"choices": [], "usage": usage})
            case _:
                told = [one | {"usage": None} for one in told]
                told.append({"usage": usage})
    return list(told)


@st.composite
def written(draw: Draw, told: list[Json]) -> bytes:
    """The chunks as an event stream, with every line end and comment that the standard allows."""
    end = draw(st.sampled_from([b"\n", b"\r\n", b"\r"]))
    data = draw(st.sampled_from([b"data: ", b"data:"]))
    comments = st.sampled_from([b"", b"", b": ping" + end + end, b":" + end, b"id: 7" + end])
    lines = [data + orjson.dumps(one) + end + end for one in told] + [data + b"[DONE]" + end + end]
    body = b"".join(draw(comments) + line for line in lines)
    return draw(st.sampled_from([b"", b"\xef\xbb\xbf"])) + body + draw(st.just(b"") | st.just(end))
