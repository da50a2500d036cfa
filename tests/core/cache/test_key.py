"""The exact key: what makes two questions one, and what keeps them apart."""

import json
import os
import re
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.core.cache.key import UnkeyableBody, canonical, tenant_digest
from proxy.core.wire.operation import Json, JsonObject, Question
from tests.core.values import key_of, question

NESTED = (
    '{"model":"m1","messages":[{"role":"user","content":"Caf\\u00e9 oder 茶?"}],"temperature":0,'
    '"tools":[{"type":"function","function":{"name":"f","parameters":{"b":[1,2.5],"a":{"z":null}}}}]}'
)
NESTED_EXACT = "e4240f4d6a35404a"
HELLO: JsonObject = {"role": "user", "content": "你好"}

texts = st.text('aA1é\u0301ｅ \x1a"\\茶\ud800', max_size=4)
scalars: st.SearchStrategy[Json] = (
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from([0.0, 1.0, 0.5, -0.0]) | texts
)
values: st.SearchStrategy[Json] = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", max_size=1), inner),
    max_leaves=6,
)


def same(left: Json, right: Json) -> bool:
    """Whether two values are one for the key: as JSON says, and NFC."""
    if isinstance(left, str) and isinstance(right, str):
        return nfc(left) == nfc(right)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[name], right[name]) for name in left)
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    return left == right


def nfc(text: str) -> str:
    return re.sub("e\u0301", "é", text)


@given(values, values)
def test_canonical_forms_are_equal_only_for_equal_values(left: Json, right: Json) -> None:
    assert (canonical(left) == canonical(right)) == same(left, right)


@given(st.dictionaries(st.text("abé茶", max_size=3), values, max_size=4), st.randoms())
def test_order_of_names_blanks_and_escapes_do_not_count(members: JsonObject, chance: Any) -> None:
    names = list(members)
    chance.shuffle(names)
    shuffled = {name: members[name] for name in names}
    plain = question("Q", extra=members)
    other = {name: plain[name] for name in reversed(plain)} | {"extra": shuffled}
    assert key_of(json.dumps(plain)) == key_of(json.dumps(other, indent=3))


@pytest.mark.parametrize(
    "other",
    [
        '{"temperature": 0.0, "messages": [ {"content": "é ", "role": "user"} ],\n "model": "m1"}',
        r'{"\u006dodel":"m1","messages":[{"role":"user","content":"\u00e9\u0020"}],"temperature":0}',
        '{"model":"m1","messages":[{"role":"user","content":"e\u0301 "}],"temperature":-0e5}',
    ],
    ids=["order and blanks", "escapes", "NFD"],
)
def test_what_json_calls_equal_has_one_key(other: str) -> None:
    assert key_of(other) == key_of(question("é "))


@pytest.mark.parametrize("hash_seed", ["0", "1", "random"])
def test_the_key_is_the_same_in_every_process(hash_seed: str) -> None:
    script = (
        "import sys; from tests.core.values import key_of; print(key_of(sys.argv[1]).exact.hex())"
    )
    done = subprocess.run(  # noqa: S603 - our own interpreter and our own words
        [sys.executable, "-c", script, NESTED],
        env=os.environ | {"PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == key_of(NESTED).exact.hex()


def test_the_key_stays_as_it_is_for_what_is_stored_already() -> None:
    assert key_of(NESTED).exact.hex().startswith(NESTED_EXACT)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("polish the table", "Polish the table"),
        ("año", "ano"),
        ("I", "ı"),
        ("x = 1\n  y", "x = 1\ny"),
        ("１２", "12"),
        ("ﬁ", "fi"),
        ("ℌ", "H"),
        ("👩\u200d👧", "👩👧"),
        ("مُحَمَّد", "محمد"),
        ("Q", "Q "),
        ("Q", " Q"),
        ("Q\n", "Q\r\n"),
        ("茶", "茶\ufe0f"),
        ("是", "昰"),
        ("体", "體"),
        ("a\u00a0b", "a b"),
        ("", "\u0000"),
    ],
)
def test_texts_that_only_look_alike_stay_apart(one: str, other: str) -> None:
    assert key_of(question(one)).exact != key_of(question(other)).exact


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("\\ud800", "\\ud801"),
        ("\\ud800", "\\ufffd"),
        ("\\ud800", "\\\\ud800"),
        ("\\udc00\\ud800", "\\ud800\\udc00"),
    ],
)
def test_lone_surrogates_have_keys_of_their_own(one: str, other: str) -> None:
    body = '{"model":"m1","messages":[{"role":"user","content":"%s"}]}'
    assert key_of(body % one).exact != key_of(body % other).exact


def test_an_escaped_pair_of_surrogates_is_the_character_it_stands_for() -> None:
    body = '{"model":"m1","messages":[{"role":"user","content":"%s"}]}'
    assert key_of(body % "\\ud83d\\ude00").exact == key_of(body % "😀").exact


@pytest.mark.parametrize(
    ("one", "other"),
    [(1, 1.0), (0, -0.0), (100, 1e2), (2**53, float(2**53)), ("é", "e\u0301")],
)
def test_values_of_one_meaning_have_one_key(one: Json, other: Json) -> None:
    assert key_of(question(x=one)).exact == key_of(question(x=other)).exact


APART: list[tuple[Json, Json]] = [
    (True, 1),
    (False, 0),
    (0, None),
    ("1", 1),
    ("null", None),
    ("true", True),
    ([], {}),
    ([], None),
    ("", None),
    ([1, 2], [2, 1]),
    ([[1], 2], [1, [2]]),
    (["ab"], ["a", "b"]),
    ({"a": {"b": 1}}, {"a": 1, "b": 1}),
    ({"a": 1}, [["a", 1]]),
    (2**53, 2**53 + 1),
    (2**64 - 1, 2**64 - 2),
    (-(2**63), -(2**63) + 1),
    (0.1, 0.1000001),
    (1e300, 1e301),
]


@pytest.mark.parametrize(("one", "other"), APART)
def test_values_of_two_meanings_have_two_keys(one: Json, other: Json) -> None:
    assert key_of(question(x=one)).exact != key_of(question(x=other)).exact


def test_a_null_member_is_not_an_absent_one() -> None:
    assert key_of(question(seed=None)).exact != key_of(question()).exact


def _history(*contents: str) -> list[Json]:
    return [{"role": "user", "content": content} for content in contents]


@given(st.lists(st.text("ab", max_size=2), min_size=1, max_size=4), st.data())
def test_conversations_have_one_key_only_if_every_turn_is_equal(
    turns: list[str], data: st.DataObject
) -> None:
    others = data.draw(st.lists(st.text("ab", max_size=2), min_size=1, max_size=4))
    one = key_of(question(messages=_history(*turns)))
    other = key_of(question(messages=_history(*others)))
    assert (one.exact == other.exact) == (turns == others)
    assert (one.history == other.history) == (turns[:-1] == others[:-1])


def test_a_question_is_not_the_history_of_another() -> None:
    short, long = (key_of(question(messages=_history(*"ab"[:size]))) for size in (1, 2))
    assert len({short.history, short.exact, long.history, long.exact}) == 4
    assert short.scope == long.scope
    assert short.settings == long.settings


texts_of_parts = st.text("a,|\x00", max_size=2)


@given(
    st.tuples(*[texts_of_parts] * 6), st.tuples(*[texts_of_parts] * 6), st.permutations(range(6))
)
def test_text_does_not_move_from_one_part_to_another(
    one: tuple[str, ...], other: tuple[str, ...], order: list[int]
) -> None:
    moved = tuple(one[place] for place in order)
    assert (_of_parts(one) == _of_parts(other)) == (one == other)
    assert (_of_parts(one) == _of_parts(moved)) == (one == moved)


def _of_parts(parts: tuple[str, ...]) -> bytes:
    namespace, operation, pool, target, epoch, variant = parts
    return key_of(
        question(),
        namespace=namespace,
        operation=operation,
        pool=pool,
        target=target,
        epoch=epoch,
        variant=[variant, None],
    ).exact


@pytest.mark.parametrize(
    "other",
    [{"variant": [None, "a"]}, {"variant": ["a"]}, {"variant": ["", None]}, {"tenant": b"t" * 32}],
)
def test_every_part_counts(other: dict[str, Any]) -> None:
    assert key_of(question(), **other).exact != key_of(question()).exact


def test_scope_and_settings_say_what_they_are_made_of() -> None:
    usual = key_of(question())
    assert key_of(question(), epoch="2").scope == usual.scope
    assert key_of(question(), tenant=b"t" * 32).settings == usual.settings
    assert key_of(question("other")).history == usual.history
    assert key_of(question(top_p=1)).settings != usual.settings


DATE = re.compile(r"\d{4}-\d\d-\d\d")
NAME = re.compile(r"Ann|Bob")
NUMBER = re.compile(r"\d+")


def _masked(text: str, *masks: re.Pattern[str], **members: Any) -> bytes:
    return key_of(question(text, **members), masks=masks).exact


def test_what_a_mask_takes_out_does_not_count() -> None:
    assert _masked("On 2026-01-02: 你好", DATE) == _masked("On 2025-11-30: 你好", DATE)
    assert _masked("On 2026-01-02: 你好", DATE) != _masked("On 2026-01-02: 您好", DATE)
    assert _masked("On 2026-01-02", DATE) != _masked("On ", DATE)
    assert _masked("On 2026-01-02", DATE) != _masked("On 2026-01-02")


def test_masks_reach_the_parts_of_every_message() -> None:
    def said(date: str) -> list[Json]:
        part: JsonObject = {"type": "text", "text": f"It is {date}.", "n": 1, "x": None}
        return [{"role": "system", "content": [part]}, HELLO]

    one, other = (_masked("", DATE, messages=said(date)) for date in ("2026-01-02", "2026-01-03"))
    assert one == other


def test_masks_do_not_touch_the_settings() -> None:
    assert _masked("Q", DATE, stop="2026-01-02") != _masked("Q", DATE, stop="2026-01-03")


def test_a_mask_does_not_see_what_an_earlier_one_left() -> None:
    masks = (re.compile("tea|茶"), NAME, NUMBER)
    assert _masked("tea 1", *masks) == _masked("茶 22", *masks)
    assert _masked("tea", *masks) != _masked("Ann", *masks)
    assert _masked("Ann", *masks) != _masked("7", *masks)


def test_text_that_looks_like_what_a_mask_leaves_is_not_keyed() -> None:
    with pytest.raises(UnkeyableBody):
        _masked("On \x1a\x1a", DATE)
    assert _masked("On \x1a\x1a")


def test_credentials_are_told_apart_to_the_byte() -> None:
    credentials: list[list[str | None]] = [
        [None, None],
        ["", None],
        [None, ""],
        ["a", None],
        [None, "a"],
        ["ab", "c"],
        ["a", "bc"],
        ["null", None],
        ["é", None],
        ["e\u0301", None],
        ["\udcff", None],
        ["\\udcff", None],
        ["a"],
    ]
    digests = {tenant_digest(b"secret", each) for each in credentials}
    assert len(digests) == len(credentials)
    assert {len(digest) for digest in digests} == {32}


def test_without_the_secret_nobody_can_make_a_digest() -> None:
    assert tenant_digest(b"one", ["key"]) != tenant_digest(b"two", ["key"])
    assert tenant_digest(b"one", ["key"]) == tenant_digest(b"one", ["key"])


def test_names_that_nfc_makes_equal_are_ambiguous() -> None:
    with pytest.raises(UnkeyableBody):
        canonical({"é": 1, "e\u0301": 2})


def test_an_operation_without_conversation_has_only_a_last_message() -> None:
    asked = Question("m1", False, {}, (), ["a", "b"])
    other = Question("m1", False, {}, (), ["ab"])
    assert key_of(question(), question=asked).exact != key_of(question(), question=other).exact
