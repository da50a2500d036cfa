"""Which requests are compared by meaning (design 5): by form, and by the operator's rules."""

import re

from proxy.core.meaning.uncompared import Uncompared
from proxy.core.policy import SemanticRules
from proxy.core.text import keywords
from proxy.core.wire.operation import Json, JsonObject, Question

MAX_CHARACTERS = 2000
"""No text of more has as few as 256 tokens, but of the longest words."""
_GAPS = re.compile("\x1a\x1b*\x1a")
"""What a mask leaves behind (core/cache/key.py:mask)."""


def plain_text(message: Json) -> str | None:
    """The text of a user message that is nothing but text: one string, or one text part."""
    if not isinstance(message, dict) or message.get("role") != "user" or len(message) != 2:
        return None
    content = message.get("content")
    if isinstance(content, list) and len(content) == 1:
        part = content[0]
        if not isinstance(part, dict) or part.get("type") != "text" or len(part) != 2:
            return None
        content = part.get("text")
    return content if isinstance(content, str) else None


def form_refusal(body: JsonObject, question: Question, rules: SemanticRules) -> Uncompared | None:
    """Why a request is not compared, as far as its form tells; None if it may be."""
    if not rules.enabled:
        return Uncompared.OFF
    if plain_text(question.last) is None:
        return Uncompared.FORM
    if not rules.tools and (body.get("tools") or body.get("functions")):
        return Uncompared.TOOLS
    if body.get("n") not in (None, 1):
        return Uncompared.CHOICES
    if body.get("logprobs"):
        return Uncompared.LOGPROBS
    if body.get("seed") is not None:
        return Uncompared.SEED
    temperature = body.get("temperature")
    if isinstance(temperature, int | float) and temperature > rules.max_temperature:
        return Uncompared.TEMPERATURE
    return None


def length_refusal(text: str) -> Uncompared | None:
    """Why a text is not compared by its length alone; reading a long one would take long."""
    if not text:
        return Uncompared.EMPTY
    return Uncompared.TOO_LONG if len(text) > MAX_CHARACTERS else None


def rule(text: str, rules: SemanticRules) -> Uncompared | None:
    """The rule by which a text is not compared: it asks about now, say."""
    if rules.keywords and keywords(rules.keywords).search(text):
        return Uncompared.RULE_KEYWORD
    if any(pattern.search(text) for pattern in rules.patterns):
        return Uncompared.RULE_PATTERN
    return None


def compared_text(masked: str) -> str:
    """The text that is embedded: without outer blanks, and with a blank where a mask matched."""
    return _GAPS.sub(" ", masked).strip()
