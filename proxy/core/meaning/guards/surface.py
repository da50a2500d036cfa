"""What a reader of lower-case words does not see: case, blanks, lines and the last sign.

In prose they say little, so only what is known to change a word counts. Inside and behind code,
quotation marks and colons they are what is asked about, and count as they stand.
"""

import re
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from string import ascii_lowercase
from typing import NamedTuple

from proxy.core.meaning.lexicon import groups, words
from proxy.core.meaning.text import Kind, Objection, Pair, Text, Token

NAME = "surface"


def compare(pair: Pair) -> Objection | None:
    """Object if the texts differ in case, blanks, lines or signs that carry the meaning."""
    if pair.stored.plain == pair.asked.plain:
        return None
    found = _case(pair)
    if found is None and (_TRACES.search(pair.stored.plain) or _TRACES.search(pair.asked.plain)):
        found = _lines(pair) or _quotes(pair) or _chunks(pair) or _factorials(pair)
    if found is not None or not _says_the_same(pair):
        return found
    return _blanks(pair) or _all_case(pair) or _end(pair)


_TRACES = re.compile("[\n!\"'\u201c\u2018\u300c`$\\\\{}\\[\\]^_=|~/%]")
"""Without any of these there are no lines, quotes, code or factorials to compare."""


def _objection(stored: str, asked: str) -> Objection:
    return Objection(NAME, stored, asked)


# Lines: what stands in several lines with traces of code is compared as it stands.

_FENCE = re.compile(r"```[^\n`]*\n([^`]{0,20000})```")
_CODE_LINE = re.compile(
    r"^[ \t]+\S"
    r"|[{};\\]\s*$"
    r"|^[\w.-]{1,80}:(?:\s|$)"
    r"|^(?:def|class|for|while|if|else|elif|try|return|import|from|with|function|var|let|const|public|int)\b"
    r".{0,300}[:{(;=]"
    r"|^[\w.\[\]]{1,80}(?:\(.{0,300}\)|\s*[-+*/]?=\s?\S.{0,300})$"
    r"|^(?:[$@<]|#!)\S"
)


def _lines(pair: Pair) -> Objection | None:
    stored, asked = pair.stored.fact(_code), pair.asked.fact(_code)
    if stored == asked:
        return None
    for one, other in zip(stored, asked, strict=False):
        if one != other:
            return _objection(one.strip(), other.strip())
    longer = max(stored, asked, key=len)
    piece = longer[min(len(stored), len(asked))].strip()
    return _objection(piece, "") if longer is stored else _objection("", piece)


def _code(text: Text) -> tuple[str, ...]:
    """The lines of the code in a text of several lines."""
    if "\n" not in text.plain:
        return ()
    fenced = _FENCE.findall(text.plain)
    lines = [line.rstrip() for line in "\n".join(fenced or [text.plain]).split("\n")]
    if not fenced:
        places = (place for place, line in enumerate(lines) if _CODE_LINE.search(line))
        lines = lines[next(places, len(lines)) :]
    while lines and not lines[-1]:
        lines.pop()
    return tuple(lines)


# Quotes: the words of two quotes are equal, what else is in them is compared as it stands.

_QUOTED = re.compile(
    r"\"([^\"\n]{1,400})\""
    r"|\u201c([^\u201c\u201d\n]{1,400})\u201d"
    r"|(?<!\w)'(?!\s)([^'\n]{1,400})'(?!\w)"
    r"|(?<!\w)\u2018([^\u2018\u2019\n]{1,400})\u2019(?!\w)"
    r"|\u300c([^\u300c\u300d\n]{1,400})\u300d"
    r"|`(?P<code>[^`\n]{1,400})`"
)
_NO_WORD = re.compile(r"[\W_]+")
_WORD = re.compile(r"[^\W_]+")


class _Quote(NamedTuple):
    written: str
    is_code: bool
    behind: str
    """The sign behind the closing mark."""


def _quotes(pair: Pair) -> Objection | None:
    stored, asked = pair.stored.fact(_quoted), pair.asked.fact(_quoted)
    if not stored or len(stored) != len(asked):
        return None
    for one, other in zip(stored, asked, strict=True):
        if one.written == other.written or not _same_words(one.written, other.written):
            continue
        if one.is_code or other.is_code or not _same_signs(one, other):
            return _objection(one.written, other.written)
        is_word = " " not in one.written and one.written.lower() == other.written.lower()
        if is_word and not _is_casual(pair):
            return _objection(one.written, other.written)
    return None


def _quoted(text: Text) -> tuple[_Quote, ...]:
    found = _QUOTED.finditer(text.plain)
    return tuple(
        _Quote(
            match[match.lastindex or 0].strip(),
            match["code"] is not None,
            text.plain[match.end() : match.end() + 1],
        )
        for match in found
    )


def _same_words(one: str, other: str) -> bool:
    return _NO_WORD.sub("", one).lower() == _NO_WORD.sub("", other).lower()


def _same_signs(one: _Quote, other: _Quote) -> bool:
    """Whether no sign but the sentence's own tells them apart; some write it within the quote."""
    ours, theirs = _signs(one), _signs(other)
    return ours == theirs or (
        one.behind + other.behind == "?" and ours.strip("?") == theirs.strip("?")
    )


def _signs(quote: _Quote) -> str:
    written = quote.written.replace("\u2019", "'").rstrip(".,\u3002")
    return _WORD.sub("w", written)


# Chunks: pieces of code in running text, whose case counts.

_CHUNK = re.compile(r"[$\\{}\[\]^_=|~]|^\(?[/.]{1,3}[A-Za-z]|%[A-Za-z]\b")


_CODE = re.compile(r"[$\\{}\[\]^_=|~/%]")


def _chunks(pair: Pair) -> Objection | None:
    stored, asked = pair.stored.fact(_code_chunks), pair.asked.fact(_code_chunks)
    for key in stored.keys() & asked.keys():
        if stored[key] != asked[key]:
            return _objection(stored[key], asked[key])
    return None


def _code_chunks(text: Text) -> dict[str, str]:
    if _CODE.search(text.plain) is None:
        return {}
    found = (chunk.strip(".,;:?!") for chunk in text.plain.split() if _CHUNK.search(chunk))
    return {chunk.lower(): chunk for chunk in found}


# Case: words that are another word with another case.

_PRONOUNS = frozenset({"it", "us", "who"})
"""Words so frequent that they are themselves even in a text without capitals."""
_TELLS_NOTHING = frozenset("aciur")
"""Letters that are words, or languages."""
_MONTHS = frozenset({"march", "may", "august"})
_BEFORE_MONTHS = frozenset(
    ["in", "of", "since", "until", "till", "by", "next", "last", "early", "late", "during", "this"]
)
_STANDS_ALONE = frozenset(" \t\n()?,:;")
_STARTS = frozenset('.?!:\n"\u201c\u2018(')
_TITLE_WORDS = 3
_CAPITAL = re.compile(r"[A-HJ-Z]|I\w|\wI", re.ASCII)


@cache
def _forms() -> dict[str, tuple[frozenset[str], ...]]:
    """Lower-case word to the groups of forms that are told apart."""
    found: dict[str, tuple[frozenset[str], ...]] = {}
    for group in groups(__package__, "surface_case.txt"):
        key = group[0].lower()
        found[key] = (*found.get(key, ()), frozenset(group))
    return found


@cache
def _lettered() -> frozenset[str]:
    return words(__package__, "surface_lettered.txt")


@cache
def _telling_words() -> frozenset[str]:
    return frozenset(_forms()).union(set(ascii_lowercase) - _TELLS_NOTHING)


def _case(pair: Pair) -> Objection | None:
    stored, asked = pair.stored.fact(_telling), pair.asked.fact(_telling)
    if not stored or not asked:
        return None
    for norm in stored.keys() & asked.keys():
        for one, other in zip(stored[norm], asked[norm], strict=False):
            if one != other and _are_apart(norm, one, other, pair):
                return _objection(one, other)
    return None


def _are_apart(norm: str, one: str, other: str, pair: Pair) -> bool:
    if len(norm) > 1 and not any(one in forms and other in forms for forms in _forms()[norm]):
        return False
    if norm in _PRONOUNS:
        return True
    if _is_casual(pair):
        return False
    if {one, other} != {norm, norm.capitalize()}:
        return True
    # A name is often written small where all is, and a word large where all is.
    is_letter = len(norm) == 1
    return not any(
        _is_title(text) or (_is_small(text) and not is_letter) for text in (pair.stored, pair.asked)
    )


def _telling(text: Text) -> dict[str, list[str]]:
    """The words whose case says what they are, as they are written, in order."""
    if _telling_words().isdisjoint(text.norms) or text.plain == text.plain.upper():
        return {}
    found: dict[str, list[str]] = {}
    known, last = _telling_words(), None
    for token in text.tokens:
        if token.norm in known:
            written = _written(text, token, last)
            if written:
                found.setdefault(token.norm, []).append(written)
        last = token
    return found


def _written(text: Text, token: Token, last: Token | None) -> str:
    """How a word is written; empty where its case says nothing."""
    plain = text.plain
    written = plain[token.start : token.end]
    if len(written) == 1:
        around = plain[token.start - 1 : token.start] + plain[token.end : token.end + 1]
        is_alone = written.isascii() and _STANDS_ALONE.issuperset(around)
        if last is None or not is_alone or last.norm in _lettered():
            return ""
        return "" if last.kind is Kind.NUMBER and token.norm not in "mg" else written
    if token.norm == "us" and last is not None and last.norm == "the":
        return "US"
    if token.norm in _MONTHS and last is not None and last.norm in _BEFORE_MONTHS:
        return token.norm.capitalize()
    is_first = last is None or plain[token.start - 1] in _STARTS or last.norm in _STARTS
    return "" if is_first and written in (token.norm, token.norm.capitalize()) else written


def _is_title(text: Text) -> bool:
    initials = [text.plain[token.start] for token in text.tokens[1:] if token.end - token.start > 3]
    large = sum(letter.isupper() for letter in initials)
    return large >= _TITLE_WORDS and 2 * large > len(initials)


def _is_casual(pair: Pair) -> bool:
    """Whether one text is written without capitals, and the other as one writes sentences."""
    stored, asked = pair.stored, pair.asked
    return (_is_small(stored) and asked.plain[:1].isupper()) or (
        _is_small(asked) and stored.plain[:1].isupper()
    )


def _is_small(text: Text) -> bool:
    """Whether there are no capitals but in I."""
    plain = text.plain
    return plain == text.folded or not _CAPITAL.search(plain)


# Texts with the same words: what is left to differ.

_CLOSING = frozenset(".?!;,~\u3002\u2026")
_SPEAKS_OF_CASE = re.compile(
    r"\b(?:capital letters?|capitali[sz]\w*|capitals"
    r"|(?:upper|lower|camel|snake|same|title)[ -]?case|case[- ]sensitiv\w*)\b"
    r"|\u5927\u5199|\u5c0f\u5199|\u5927\u5c0f\u5199"
)
_SQL = re.compile(r"\b(?:SELECT|INSERT|UPDATE|DELETE)\b.{1,200}\b(?:FROM|INTO|SET|VALUES)\b")
_MIXED = re.compile(r"\b(?=[A-Za-z]{0,40}\d)(?=\d{0,40}[A-Za-z])\w{7,}\b", re.ASCII)
_PRODUCT = re.compile(r"[A-Za-z]+\d{1,2}")


def _says_the_same(pair: Pair) -> bool:
    """Whether the texts differ in no words and no signs but the last."""
    if pair.stored.norms != pair.asked.norms:
        return False
    return pair.stored.fact(_bare) == pair.asked.fact(_bare)


def _bare(text: Text) -> tuple[str, ...]:
    """The tokens without the signs at the end."""
    return tuple(token.norm for token in text.tokens[: _length(text)])


def _length(text: Text) -> int:
    length = len(text.tokens)
    while length and text.tokens[length - 1].norm in _CLOSING:
        length -= 1
    return length


def _all_case(pair: Pair) -> Objection | None:
    stored, asked = pair.stored, pair.asked
    if _SPEAKS_OF_CASE.search(stored.folded) or _SQL.search(stored.plain + "\n" + asked.plain):
        for one, other in zip(stored.tokens[1:], asked.tokens[1:], strict=False):
            ours, theirs = stored.plain[one.start : one.end], asked.plain[other.start : other.end]
            if ours != theirs and ours.lower() == theirs.lower():
                return _objection(ours, theirs)
    for ours, theirs in zip(_mixed(stored), _mixed(asked), strict=False):
        if (
            ours != theirs
            and ours.lower() == theirs.lower()
            and theirs.upper() not in (ours, theirs)
        ):
            return _objection(ours, theirs)
    return None


def _mixed(text: Text) -> list[str]:
    """Words of letters and digits, as passwords are; not a name with its version."""
    return [word for word in _MIXED.findall(text.plain) if not _PRODUCT.fullmatch(word)]


_FREE_SIGNS = frozenset(".,;:?!'\"\u201c\u201d\u2018\u2019%\u3001\u3002")
"""Signs of prose: a blank beside them is no matter."""
_BRACKETS = frozenset("()")
_SHELL = re.compile(r"\$[A-Za-z_{(]|`|\w\(\)")
_COUNTS_BLANKS = re.compile(
    r"\b(?:spaces?|blanks?|whitespace|indent\w*|characters?|how many words|count the words)\b"
    r"|\u7a7a\u683c|\u5b57\u7b26|\u5b57\u6570"
)


def _blanks(pair: Pair) -> Objection | None:
    ours, theirs = _between(pair.stored), _between(pair.asked)
    if ours == theirs:
        return None
    stored, asked = pair.stored.plain, pair.asked.plain
    if _COUNTS_BLANKS.search(pair.stored.folded):
        return _objection(stored, asked)
    one, other = _behind_colon(stored), _behind_colon(asked)
    if _split_lines(one) != _split_lines(other):
        return _objection(one, other)
    return _apart(pair)


def _between(text: Text) -> list[str]:
    """The blanks between the tokens but for those of the last sign."""
    tokens = text.tokens[: _length(text)]
    return [text.plain[one.end : other.start] for one, other in pairwise(tokens)]


def _behind_colon(plain: str) -> str:
    return plain.partition(":")[2].strip()


def _split_lines(payload: str) -> list[list[str]]:
    """Words line by line; a single line says nothing."""
    lines = [line.split() for line in payload.split("\n") if line.strip()]
    return lines if len(lines) > 1 else []


def _apart(pair: Pair) -> Objection | None:
    """A blank on one side of a sign of code that the other text has not."""
    stored, asked = _sides(pair.stored), _sides(pair.asked)
    is_shell = _SHELL.search(pair.stored.plain) or _SHELL.search(pair.asked.plain)
    for place, (one, other) in enumerate(zip(stored, asked, strict=False)):
        if one == other or not _is_code_sign(pair.stored.tokens, place, bool(is_shell)):
            continue
        if is_shell or one[0] != one[1] or other[0] != other[1]:
            return _objection(_around(pair.stored, place), _around(pair.asked, place))
    return None


def _is_code_sign(tokens: Sequence[Token], place: int, is_shell: bool) -> bool:
    token = tokens[place]
    if token.kind is not Kind.SIGN or token.norm in _FREE_SIGNS:
        return False
    beside = [*tokens[max(place - 1, 0) : place], *tokens[place + 1 : place + 2]]
    if not is_shell and any(those.kind in (Kind.NUMBER, Kind.HAN) for those in beside):
        # 5 - 3 is 5-3, and # 1 is #1; x -1 is not x-1.
        return token.norm in "=[]{}" or (token.norm == "-" and beside[0].kind is Kind.WORD)
    if not is_shell and (token.norm in _BRACKETS or token.norm in "-/&"):
        # A dash or a bracket of prose stands between whole words.
        return token.norm not in _BRACKETS and any(len(those.norm) < 3 for those in beside)
    return token.norm.isascii()


def _sides(text: Text) -> list[tuple[bool, bool]]:
    """Whether a blank stands before and behind each token."""
    plain = f" {text.plain} "
    return [(plain[token.start].isspace(), plain[token.end + 1].isspace()) for token in text.tokens]


def _around(text: Text, place: int) -> str:
    first, last = max(place - 1, 0), min(place + 1, len(text.tokens) - 1)
    return text.plain[text.tokens[first].start : text.tokens[last].end]


# The end: the last sign is content behind digits, blanks, colons and code, and tells a statement
# from a question.

_FACTORIAL = re.compile(r"\b\w{0,20}\d!+(?![!=]|\s+[A-Z])|\b[a-z]!+(?=\s*[?.]?$)", re.ASCII)
_PATTERN = re.compile(r"\b(?:regex|regexp|regular expression|glob|wildcard|punctuat\w*)\b")
_WORD_OF_WISH = re.compile(
    r"^(?:please|pls|kindly|tell|explain|give|list|write|describe|define|show|help|name|translate"
    r"|summari[sz]e|compare|convert|find|create|make|generate|recommend|suggest|provide|calculate"
    r"|compute|solve|draw|teach|let me know|i wonder|i am wondering|i'm wondering)\b"
    r"|^(?:\u8bf7|\u8acb|\u5e2e|\u5e6b|\u7ed9|\u7d66|\u5199|\u5beb|\u7ffb\u8bd1|\u89e3\u91ca|\u4ecb\u7ecd"
    r"|\u5217|\u544a\u8bc9|\u63a8\u8350|\u603b\u7ed3|\u8bf4|\u8bb2)"
)
_ASKING = re.compile(
    r"(?:^|\n|[,.:;!?]\s*|\b(?:and|so|but|hey|hi|hello|then|or|ok|okay|also|exactly|please|know|if)\s+)"
    r"(?:is|are|am|was|were|do|does|did|can|could|should|would|will|shall|may|might|must|has|have|had"
    r"|who|whom|whose|which|when|isn't|aren't|wasn't|don't|doesn't|didn't|can't|couldn't|shouldn't"
    r"|wouldn't|won't|any|right)\b"
    r"|\b(?:what|what's|whats|whom|where|where's|why|how|how's|who's|whether|anyone|anybody)\b"
    r"|[\u5417\u55ce\u5462\u4e48\u9ebc\u600e\u54ea\u8c01\u8ab0\u51e0\u5e7e\u4f55\u5565\u548b\u5427\u561b]"
    r"|\u591a[\u5c11\u5927\u4e45\u957f\u8fdc\u9ad8\u91cd\u5feb]|\u662f\u5426|\u8fd8\u662f|\u9084\u662f"
    r"|\u4ec0|(.)[\u4e0d\u6ca1]\1"
)
_STATING = re.compile(
    r"^(?:i|you|he|she|it|we|they|this|that|these|those|there)(?:'\w{1,2})?\s+\w"
    r"|^(?:it|he|she|that|there)'s\b"
    r"|^(?:ok|okay|done|sure|yes|no|right|really|fine|good|great|true|correct|agreed|ready)$"
    r"|^[\u6211\u4f60\u60a8\u4ed6\u5979\u5b83\u8fd9\u90a3].|.\u4e86$"
)


def _factorials(pair: Pair) -> Objection | None:
    if "!" not in pair.stored.plain and "!" not in pair.asked.plain:
        return None
    stored, asked = pair.stored.fact(_exclaimed), pair.asked.fact(_exclaimed)
    for one in stored - asked:
        if one.rstrip("!").lower() in pair.asked.folded:
            return _objection(one, "")
    for other in asked - stored:
        if other.rstrip("!").lower() in pair.stored.folded:
            return _objection("", other)
    return None


def _exclaimed(text: Text) -> frozenset[str]:
    return frozenset(_FACTORIAL.findall(text.plain))


def _end(pair: Pair) -> Objection | None:
    stored, asked = pair.stored.fact(_tail), pair.asked.fact(_tail)
    ours, theirs = stored.strip(), asked.strip()
    if ours == theirs:
        return None
    is_content = _is_lone(stored, asked, pair.stored) or _is_payload(ours, theirs, pair.stored)
    if is_content or _is_said_and_asked(ours, theirs, pair.stored):
        return _objection(ours, theirs)
    return None


def _tail(text: Text) -> str:
    length = _length(text)
    return text.plain[text.tokens[length - 1].end :] if length else text.plain


def _is_lone(stored: str, asked: str, text: Text) -> bool:
    """Whether a sign stands for itself behind a blank."""
    is_word = bool(text.tokens) and text.tokens[_length(text) - 1].kind is not Kind.HAN
    lone = [tail.strip() for tail in (stored, asked) if tail[:1].isspace() and is_word]
    return len(lone) == 2 or any(tail[0] in ";~," for tail in lone if tail)


def _is_payload(ours: str, theirs: str, text: Text) -> bool:
    """Whether the sign ends what a colon or the word for a pattern announces."""
    plain = text.folded[: text.tokens[_length(text) - 1].end] if _length(text) else ""
    is_question = _ASKING.search(plain.rpartition(":")[2].strip()) is not None
    if ":" in plain:
        is_prose = is_question and {ours, theirs} <= {"", "?"}
        return plain.endswith(":") or not is_prose
    if _PATTERN.search(plain) is None:
        return False
    return max(len(set(ours)), len(set(theirs))) > 1 or not is_question


def _is_said_and_asked(ours: str, theirs: str, text: Text) -> bool:
    """Whether the same words are a statement once and a question once."""
    if ("?" in ours) == ("?" in theirs):
        return False
    plain = text.folded[: text.tokens[_length(text) - 1].end].strip() if _length(text) else ""
    if _ASKING.search(plain) or _WORD_OF_WISH.search(plain):
        return False
    other = theirs if "?" in ours else ours
    is_closed = other in (".", "!", "\u3002")
    return is_closed or _STATING.search(plain) is not None
