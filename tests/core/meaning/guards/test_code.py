import pytest

from proxy.core.meaning.guards import code
from proxy.core.meaning.text import Objection, Pair, Text

EQUAL = [
    ("`n == m`", "`n==m`"),
    ("n == m in js", "what does n==m do"),
    ("`deque.pop()`", "deque.pop()"),
    ("use get_name", "what is get_name()"),
    ("i++", "`i++`"),
    ("C++ code", "C++ program"),
    ("(hello)", "hello"),
    ("Q & A", "Q and A"),
    ("5 - 3", "5 -3"),
    ("well-known thing", "well known thing"),
    ("21 × 13", "21 * 13"),
    ("--force flag", "the --force flag"),
    ("useState hook", "the usestate hook"),
    ("What is it (NLP)?", "what is it?"),
    ("a < b", "a<b"),
    ("rows -- and cols", "rows and cols"),
    ("50%", "50 %"),
    ("print(x)", "print (x)"),
    ("snake_case_name", "what is snake_case_name"),
    ("n^2", "n ^ 2"),
    ("value -> result", "value->result"),
    ("the -v flag", "flag -v"),
    ("0xFF", "0xff"),
    ("Where is it?!!", "Where is it?"),
    ("怎么做~~", "怎么做"),
]

DIFFERENT = [
    ("`n == m`", "`n === m`", "n == m", "n === m"),
    ("size > 9", "size < 9", ">", "<"),
    ("i++", "++i", "i++", "++i"),
    ("^q.*z$", "^q.+z$", ".*", ".+"),
    ("a && b", "a || b", "&&", "||"),
    ("grep -r", "grep -R", "-r", "-R"),
    ("grep -r x", "grep x", "-r", ""),
    ("rm --force", "rm --verbose", "--force", "--verbose"),
    ("get_name", "set_name", "get_name", "set_name"),
    ("useState", "useEffect", "useState", "useEffect"),
    ("deque.pop()", "deque.push()", "deque.pop()", "deque.push()"),
    ("x += 1", "x -= 1", "+=", "-="),
    ("0x80070005", "0x80070057", "0x80070005", "0x80070057"),
    ("`git push`", "`git pull`", "git push", "git pull"),
    ("a <= b", "a >= b", "<=", ">="),
    ("21 * 13", "21 + 13", "*", "+"),
    ("MAX_SIZE", "MIN_SIZE", "MAX_SIZE", "MIN_SIZE"),
    ("```a```", "```b```", "a", "b"),
    ("2+2", "2*2", "+", "*"),
    ("a -> b", "a => b", "->", "=>"),
    ("a != b", "a == b", "!=", "=="),
    ("21 × 13", "21 ÷ 13", "×", "÷"),
]


def compare(stored: str, asked: str) -> Objection | None:
    return code.compare(Pair(Text(stored), Text(asked)))


@pytest.mark.parametrize(("stored", "asked"), EQUAL)
def test_what_is_the_same_is_no_objection(stored: str, asked: str) -> None:
    assert compare(stored, asked) is None
    assert compare(asked, stored) is None


@pytest.mark.parametrize(("stored", "asked", "mine", "yours"), DIFFERENT)
def test_an_objection_names_the_two_pieces(stored: str, asked: str, mine: str, yours: str) -> None:
    assert compare(stored, asked) == Objection(code.NAME, mine, yours)


@pytest.mark.parametrize(("stored", "asked"), [pair[:2] for pair in DIFFERENT])
def test_an_objection_stands_whichever_was_asked_first(stored: str, asked: str) -> None:
    assert compare(asked, stored) is not None


@pytest.mark.parametrize("text", [text for pair in DIFFERENT for text in pair[:2]])
def test_no_text_differs_from_itself(text: str) -> None:
    assert compare(text, text) is None
