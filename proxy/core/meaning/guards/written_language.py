"""The language that a question is written in: its answer comes in that language."""

from proxy.core.meaning.language import Language, language_of
from proxy.core.meaning.text import Objection, Pair

NAME = "written_language"


def compare(pair: Pair) -> Objection | None:
    """Object if the texts are written in different languages."""
    stored, asked = language_of(pair.stored), language_of(pair.asked)
    if stored is asked or Language.UNKNOWN in (stored, asked):
        return None
    return Objection(NAME, stored.value, asked.value)
