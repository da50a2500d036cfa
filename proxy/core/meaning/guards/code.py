"""Code: inline code, identifiers, flags, hexadecimal numbers, operators and formulae."""

import re
from typing import NamedTuple

from proxy.core.meaning.pieces import Piece, leftovers, object_to, squeeze, squeezed
from proxy.core.meaning.text import Objection, Pair, Text

NAME = "code"


class Code(NamedTuple):
    """The code in a text."""

    literals: tuple[Piece, ...]
    """Code in backticks and identifiers: present in the other text if they stand there at all."""
    flags: tuple[Piece, ...]
    """Command-line flags, whose case counts."""
    operators: tuple[Piece, ...]


_NOTHING = Code((), (), ())


def compare(pair: Pair) -> Objection | None:
    """Object if the texts hold other code."""
    stored, asked = pair.stored.fact(_read), pair.asked.fact(_read)
    if stored is _NOTHING and asked is _NOTHING:
        return None
    objection = object_to(
        NAME, _absent(stored.literals, pair.asked), _absent(asked.literals, pair.stored)
    )
    objection = objection or object_to(NAME, *leftovers(stored.flags, asked.flags))
    if objection is not None:
        return objection
    stored_rest, asked_rest = leftovers(stored.operators, asked.operators)
    if not (stored_rest and asked_rest):
        # A lone + or = is as often no operator at all.
        stored_rest = [piece for piece in stored_rest if len(str(piece.key)) > 1]
        asked_rest = [piece for piece in asked_rest if len(str(piece.key)) > 1]
    return object_to(NAME, stored_rest, asked_rest)


def _absent(pieces: tuple[Piece, ...], other: Text) -> list[Piece]:
    return [piece for piece in pieces if str(piece.key) not in other.fact(squeezed)]


_TRACES = re.compile(r"[`_(=<>+*^&|~\\{}\[\]%!/\u00d7\u00f7-]|[a-z]{2}[A-Z]|0[xX]")
_CODE = re.compile(
    r"(?P<block>```[^`]{1,2000}```)"
    r"|(?P<span>(?<!`)`[^`\n]{1,400}`(?!`))"
    r"|(?P<hex>\b0[xX][0-9a-fA-F]+\b)"
    r"|(?P<snake>\b_*[A-Za-z][A-Za-z0-9]*(?:_+[A-Za-z0-9]+)+_*(?:\(\))?)"
    r"|(?P<call>\b[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*\(\))"
    r"|(?P<dotted>\b[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+(?=\())"
    r"|(?P<camel>\b[a-z]{2,}(?:[A-Z][a-z0-9]+)+\b)",
    re.ASCII,
)
_FLAG = re.compile(r"(?<![\w\-.)])--?(?:[A-Za-z]|[a-z][a-z0-9-]+)(?![\w-])", re.ASCII)
_OPERATOR = re.compile(
    r"(?P<step>\w(?:\+\+|--)(?![\w-])|\+\+\w)"
    r"|-[=>]|(?![!~]+(?:\s|$))[=<>!+*^&|~%\\]{2,3}(?!\w*>)"
    r"|(?<=[\w)\]] )[-+*/<>=^%&|\u00d7\u00f7](?= [\w($])"
    r"|(?<=[\w)\].])[<>=^*\u00d7\u00f7|~](?=[\w($.\-])"
    r"|(?<=\d)[+](?=\d)"
    r"|[.\])][*+]",
    re.ASCII,
)
_SAME = {"\u00d7": "*", "\u00f7": "/"}


def _read(text: Text) -> Code:
    plain = text.plain
    if _TRACES.search(plain) is None:
        return _NOTHING
    literals = tuple(_literal(match) for match in _CODE.finditer(plain))
    flags = tuple(Piece(match[0], match[0]) for match in _FLAG.finditer(plain))
    operators = tuple(_operator(match) for match in _OPERATOR.finditer(plain))
    if not literals and not flags and not operators:
        return _NOTHING
    return Code(literals, flags, operators)


def _literal(match: re.Match[str]) -> Piece:
    content = match[0].strip("`")
    return Piece(squeeze(content.lower()).removesuffix("()"), content)


def _operator(match: re.Match[str]) -> Piece:
    sign = match[0]
    if match["step"] is None:
        return Piece(_SAME.get(sign, sign), sign)
    # ++x gives another value than x++.
    return Piece(f"{sign[1:]} after" if sign[0] not in "+-" else f"{sign[:2]} before", sign)
