"""Where things are: files and their extensions, paths, URLs, e-mail addresses."""

import re

from proxy.core.meaning.pieces import Piece, leftovers, object_to
from proxy.core.meaning.text import Objection, Pair, Text

NAME = "paths"


def compare(pair: Pair) -> Objection | None:
    """Object if one text names a place that does not stand in the other."""
    stored, asked = pair.stored.fact(_read), pair.asked.fact(_read)
    if not stored and not asked:
        return None
    stored_rest, asked_rest = leftovers(stored, asked)
    return object_to(NAME, _absent(stored_rest, pair.asked), _absent(asked_rest, pair.stored))


def _absent(pieces: list[Piece], other: Text) -> list[Piece]:
    return [piece for piece in pieces if not _stands(str(piece.key), other.folded)]


def _stands(key: str, folded: str) -> bool:
    place = folded.find(key)
    while place >= 0:
        before = folded[place - 1 : place]
        after = folded[place + len(key) : place + len(key) + 1]
        if not _joins(before) and not _joins(after):
            return True
        place = folded.find(key, place + 1)
    return False


def _joins(sign: str) -> bool:
    return sign.isascii() and (sign.isalnum() or sign in ("_", "-")) if sign else False


_TRACES = re.compile(r"[/\\@]|\.\w", re.ASCII)
_PLACE = re.compile(
    r"https?://[^\s\"'<>()\u3000-\uffef]+"
    r"|\b[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}"
    r"|(?<![\w@.-])(?:[\w-]{1,63}\.){1,4}(?:com|org|net|io|dev|edu|gov|ai|cn|uk|de|co|app|info|tv)\b"
    r"(?:/[^\s\"'<>()\u3000-\uffef]*)?"
    r"|\b[A-Za-z]:\\[^\s\"'<>|]*"
    r"|(?<![\w/.])[~.]{0,2}/[\w.@-]+(?:/[\w.@*-]+)*"
    r"|(?<![\w.-])[\w-]{1,80}\.(?:py|js|ts|tsx|jsx|java|c|cc|cpp|h|hpp|cs|go|rs|rb|php|pl|sh|bat|ps1|sql|html"
    r"|css|scss|json|yaml|yml|toml|xml|ini|cfg|conf|env|lock|log|md|txt|csv|tsv|xls|xlsx|doc|docx|ppt|pptx|pdf"
    r"|png|jpg|jpeg|gif|svg|webp|bmp|tiff|mp3|mp4|avi|mov|mkv|wav|flac|zip|tar|gz|rar|7z|iso|exe|dll|msi|dmg"
    r"|apk|ipa|jar|war|so|bin|dat|db|pem|key|crt|ipynb|vue|kt|swift|r|m)\b(?!\()"
    r"|(?<![\w.)])\.(?P<extension>[a-z][a-z0-9]{1,7})\b(?![.(])",
    re.ASCII,
)


def _read(text: Text) -> tuple[Piece, ...]:
    plain = text.plain
    if _TRACES.search(plain) is None:
        return ()
    found = []
    for match in _PLACE.finditer(plain):
        surface = match[0].rstrip(".,;:!?")
        key = match["extension"] or surface.lower()
        for prefix in ("https://", "http://", "www."):
            key = key.removeprefix(prefix)
        found.append(Piece(key.rstrip("/").lower(), surface))
    return tuple(found)
