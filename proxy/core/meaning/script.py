"""In which script a text is written."""

import re
from collections import Counter
from enum import StrEnum


class Script(StrEnum):
    """A script, or a group of such as one encoder serves together."""

    LATIN = "latin"
    HAN = "han"
    KANA = "kana"
    """Japanese: texts with any kana, whatever else is in them."""
    HANGUL = "hangul"
    CYRILLIC = "cyrillic"
    GREEK = "greek"
    ARABIC = "arabic"
    HEBREW = "hebrew"
    INDIC = "indic"
    """Devanagari and its relatives, from Bengali to Malayalam and Sinhala."""
    THAI = "thai"
    """Thai and Lao."""
    OTHER = "other"
    """Letters of any other script."""
    NONE = "none"
    """No letters at all: digits, signs, emoji."""


_FOREIGN_SHARE = 0.02
"""A text in Latin letters may have so many others before it belongs to them."""

_RANGES = {
    Script.HAN: "\u2e80-\u2fdf\u3005\u3007\u3021-\u3029\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff",
    Script.KANA: "\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9d",
    Script.HANGUL: "\u1100-\u11ff\u3131-\u318e\ua960-\ua97c\uac00-\ud7fb\uffa1-\uffdc",
    Script.CYRILLIC: "\u0400-\u0482\u048a-\u052f\u1c80-\u1c8a\u2de0-\u2dff\ua640-\ua69f",
    Script.GREEK: "\u0370-\u0373\u0376-\u037d\u037f\u0386\u0388-\u03ff\u1f00-\u1fff",
    Script.ARABIC: "\u0620-\u065f\u066e-\u06d3\u06d5-\u06dc\u06fa-\u06ff\u0750-\u077f\u08a0-\u08ff"
    "\ufb50-\ufdff\ufe70-\ufefc",
    Script.HEBREW: "\u05d0-\u05ea\u05ef-\u05f2\ufb1d-\ufb4f",
    Script.INDIC: "\u0900-\u0963\u0971-\u0dff",
    Script.THAI: "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ecd\u0edc-\u0edf",
    Script.LATIN: "A-Za-z\u00aa\u00ba\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02af\u1d00-\u1dbf"
    "\u1e00-\u1eff\u2c60-\u2c7f\ua722-\ua7ff\ufb00-\ufb06\uff21-\uff3a\uff41-\uff5a",
}
_ASCII_LETTER = re.compile("[A-Za-z]")
_RUN = re.compile(
    "|".join(f"(?P<{script}>[{ranges}]+)" for script, ranges in _RANGES.items())
    + rf"|(?P<{Script.OTHER}>[^\W\d_])"
)


def script_of(text: str) -> Script:
    """The script that decides which encoder reads a text.

    1. any kana: Japanese
    2. Latin letters, with a trivial share of others at most: Latin
    3. else the most frequent of the others, for a few Chinese characters say as much as many
       Latin letters
    """
    if text.isascii():
        return Script.LATIN if _ASCII_LETTER.search(text) else Script.NONE
    letters: Counter[str] = Counter()
    for run in _RUN.finditer(text):
        letters[str(run.lastgroup)] += run.end() - run.start()
    if not letters:
        return Script.NONE
    if letters[Script.KANA]:
        return Script.KANA
    foreign = letters.total() - letters[Script.LATIN]
    if foreign <= _FOREIGN_SHARE * letters.total():
        return Script.LATIN
    del letters[Script.LATIN]
    return Script(letters.most_common(1)[0][0])
