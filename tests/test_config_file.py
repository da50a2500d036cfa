"""Reading YAML: values, places, the environment, and what is refused."""

import contextlib
import os
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from proxy.config_file import (
    MAX_BYTES,
    ConfigError,
    Document,
    Problem,
    dotted,
    parse,
    read_bytes,
    resolve,
)
from proxy.config_values import FromEnv


def read(text: str, **env: str) -> Document:
    return parse(text.encode(), "f.yaml", env)


def refused(text: str | bytes, **env: str) -> Problem:
    raw = text if isinstance(text, bytes) else text.encode()
    with pytest.raises(ConfigError) as caught:
        parse(raw, "f.yaml", env)
    (problem,) = caught.value.problems
    return problem


def found(text: str, **env: str) -> list[str]:
    return [str(problem) for problem in read(text, **env).problems]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("~", None),
        ("Null", None),
        ("true", True),
        ("FALSE", False),
        ("yes", "yes"),
        ("no", "no"),
        ("on", "on"),
        ("12", 12),
        ("-3", -3),
        ("010", 10),
        ("0x1F", 31),
        ("0o17", 15),
        ("1.5", 1.5),
        (".5", 0.5),
        ("1e3", 1000.0),
        ("1:30", "1:30"),
        ("1_000", "1_000"),
        ("2026-11-30", "2026-11-30"),
        (".nan", ".nan"),
        ("9" * 31, 1e31),
    ],
)
def test_plain_scalars_have_the_types_of_yaml_1_2(text: str, value: object) -> None:
    assert resolve(text) == value
    assert type(resolve(text)) is type(value)


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n", "\ufeff"])
def test_empty_file_has_no_values(text: str) -> None:
    assert read(text).root is None


SCALARS = st.none() | st.booleans() | st.integers(-(10**9), 10**9)
TEXTS = st.text("ab $ü{}: -#'\"\n", max_size=8)
TREES = st.recursive(
    SCALARS | TEXTS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", min_size=1), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(TREES.filter(lambda value: value is not None))
def test_reads_what_a_yaml_library_writes(value: object) -> None:
    text = yaml.safe_dump(value, allow_unicode=True).replace("$", "$$")
    document = read(text)
    assert document.root == value
    assert document.problems == []


def test_every_key_and_value_has_its_place() -> None:
    document = read("a: 1\nb:\n  - c: 'x'\n  - {d: [e]}\n")
    assert document.root == {"a": 1, "b": [{"c": "x"}, {"d": ["e"]}]}
    assert document.keys[("b", 0, "c")] == (3, 5)
    assert document.values[("b", 0, "c")] == (3, 8)
    assert document.values[("b", 1, "d", 0)] == (4, 10)
    assert document.values[()] == (1, 1)


def test_problem_takes_the_nearest_place() -> None:
    document = read("a:\n  b: 1\n")
    document.add(("a", "missing"), "is missing", "add it")
    document.add(("a", "b"), "unknown key", at_key=True)
    document.add(("c",), "is missing")
    assert [str(problem) for problem in document.problems] == [
        "f.yaml:2:3: a.missing: is missing; add it",
        "f.yaml:2:3: a.b: unknown key",
        "f.yaml:1:1: c: is missing",
    ]


def test_problem_without_a_place_is_readable() -> None:
    document = Document("command line")
    document.add(("upstream",), "is not a URL")
    assert str(ConfigError(tuple(document.problems))) == "command line: upstream: is not a URL"


def test_paths_are_dotted() -> None:
    assert dotted(("routes", 0, "ttl", "exact")) == "routes[0].ttl.exact"
    assert dotted(()) == ""


def test_key_that_stands_twice_is_a_problem_and_the_first_counts() -> None:
    document = read("a: 1\nb: 2\na: {c: 5}\n")
    assert document.root == {"a": 1, "b": 2}
    assert [str(p) for p in document.problems] == ["f.yaml:3:1: a: stands here twice; keep one"]
    assert document.values[("a",)] == (1, 4)


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("a: &x 1\nb: *x\n", (1, 4), "anchors"),
        ("a: &x [1]\n", (1, 4), "anchors"),
        ("a: *x\n", (1, 4), "anchors"),
        ("*x : 1\n", (1, 1), "a key must be a word"),
        ("a: !!python/object:os.system x\n", (1, 4), "tags"),
        ("a: !x {}\n", (1, 4), "tags"),
        ("a: 1\n---\nb: 1\n", (2, 1), "second document"),
        ("? [a]\n: 1\n", (1, 3), "a key must be a word"),
        ("[" * 100, (1, 18), "nested too deeply"),
        ("[" * 100_000, (1, 1001), "nesting depth"),
        ("- " * 2000 + "a", (1, 35), "nested too deeply"),
        ("[" + "a," * 60_000 + "]", (1, 100_000), "too many values"),
        ("a: [1\nb: 2\n", (2, 2), "not YAML"),
        ("a: 'x\n", (2, 1), "that begins in line 1"),
        ("a:\n\tb: 1\n", (2, 1), "not YAML"),
        ("a: b: c", (1, 5), "not YAML"),
        ("a: 1\nb: \x07\n", (2, 4), "control characters"),
        ("a: 1\r\x85b: 'x\r", (4, 1), "not YAML"),
        (b"a: 1\nb: \xff\n", (2, 4), "UTF-8"),
        (b"\xff\xfea\x00", (1, 1), "UTF-8"),
        (b"a: \x00", (1, 4), "control characters"),
    ],
)
def test_unreadable_file_is_refused_at_the_place(
    text: str | bytes, place: tuple[int, int], message: str
) -> None:
    problem = refused(text)
    assert message in problem.message
    assert (problem.line, problem.column) == place


def test_yaml_bomb_is_refused_before_it_unfolds() -> None:
    names = zip("abcdefgh", "bcdefghi", strict=True)
    lines = ['a: &a ["lol","lol","lol"]']
    lines += [f"{b}: &{b} [*{a},*{a},*{a},*{a}]" for a, b in names]
    assert refused("\n".join(lines)).line == 1


@given(st.binary(max_size=200))
def test_no_bytes_crash_the_reader(raw: bytes) -> None:
    with contextlib.suppress(ConfigError):
        parse(raw, "f.yaml", {})


@given(st.text("{}[]:,-&*!|>'\"%@`#? \n\tab$", max_size=60))
def test_no_text_crashes_the_reader(text: str) -> None:
    with contextlib.suppress(ConfigError):
        read(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("${NAME}", "value"),
        ("'${NAME}'", "value"),
        ("${MISSING:-default}", "default"),
        ("${EMPTY:-default}", "default"),
        ("${EMPTY}", ""),
        ("${MISSING:-}", ""),
        ("http://${NAME}:${PORT}/", "http://value:8080/"),
        ("${PORT}", "8080"),
        ("'$${NAME}'", "${NAME}"),
        ("a$$b", "a$b"),
        ("'^a$'", "^a$"),
        ("$NAME", "$NAME"),
        ("${TRICK}", "a: [b, ${NAME}, *x]"),
    ],
)
def test_environment_fills_scalars(text: str, value: str) -> None:
    env = {"NAME": "value", "EMPTY": "", "PORT": "8080", "TRICK": "a: [b, ${NAME}, *x]"}
    document = read(f"key: {text}\n", **env)
    assert document.root == {"key": value}
    assert document.problems == []


def test_text_from_the_environment_is_marked() -> None:
    root = read("a: ${X}\nb: x$$\nc: x\n", X="1").root
    assert isinstance(root, dict)
    assert [type(value) for value in root.values()] == [FromEnv, str, str]


def test_keys_are_not_filled() -> None:
    assert read("${X}: 1\n", X="a").root == {"${X}": 1}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "a:\n  - b: ${NOPE}\n",
            'f.yaml:2:8: a[0].b: "NOPE" is not in the environment; write ${NOPE:-default}',
        ),
        (
            "a: ${1X}",
            "f.yaml:1:4: a: ${ does not begin a variable; write ${NAME}, or $${ for the text",
        ),
        (
            "a: '${X:-${Y}}'",
            "f.yaml:1:4: a: ${ does not begin a variable; write ${NAME}, or $${ for the text",
        ),
    ],
)
def test_unusable_variable_is_a_problem_at_its_place(text: str, problem: str) -> None:
    assert problem in found(text)


def test_every_missing_variable_is_reported() -> None:
    assert len(found("a: ${A}\nb: ${B}${C}\n")) == 3


def test_unquoted_variable_between_braces_has_a_remedy() -> None:
    assert "quotes" in refused("admin: {token: ${TOKEN}, x: 1}\n", TOKEN="x").remedy


def test_file_is_read(tmp_path: Path) -> None:
    file = tmp_path / "f.yaml"
    file.write_bytes(b"x" * MAX_BYTES)
    assert len(read_bytes(file)) == MAX_BYTES


def test_unreadable_path_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "f.yaml"
    for path, message in ((file, "No such file"), (tmp_path, "Is a directory")):
        with pytest.raises(ConfigError, match=message):
            read_bytes(path)


def test_large_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "f.yaml"
    file.touch()
    os.truncate(file, 1 << 40)
    with pytest.raises(ConfigError, match="larger than 1 MiB"):
        read_bytes(file)
