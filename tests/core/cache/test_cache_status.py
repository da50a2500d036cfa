"""Cache-Status (RFC 9211) and Age (RFC 9111 5.1)."""

import re
from dataclasses import replace

import pytest

from proxy.core.cache.cache_status import cache_status
from proxy.core.cache.outcome import MissReason
from proxy.core.classify import BypassReason
from proxy.core.exchange import Exchange, Fwd, Level

BLANK = Exchange(started=0.0, method="POST", path="/")


@pytest.mark.parametrize(
    ("exchange", "lines"),
    [
        (
            replace(BLANK, level=Level.EXACT, ttl=3540, age=60),
            ["reprise; hit; ttl=3540; detail=exact", "60"],
        ),
        (
            replace(BLANK, level=Level.EXACT, ttl=-5, age=105, fwd=Fwd.STALE, fwd_status=503),
            ["reprise; hit; ttl=-5; detail=exact", "105"],
        ),
        (replace(BLANK, fwd=Fwd.MISS, fwd_status=200), ["reprise; fwd=miss; fwd-status=200"]),
        (
            replace(BLANK, fwd=Fwd.MISS, fwd_status=200, stored=True),
            ["reprise; fwd=miss; fwd-status=200; stored"],
        ),
        (
            replace(BLANK, fwd=Fwd.MISS, fwd_status=200, stored=False, collapsed=True),
            ["reprise; fwd=miss; fwd-status=200; collapsed"],
        ),
        (
            replace(BLANK, fwd=Fwd.STALE, fwd_status=404, detail=MissReason.STALE, stored=True),
            ["reprise; fwd=stale; fwd-status=404; stored; detail=stale"],
        ),
        (
            replace(BLANK, fwd=Fwd.BYPASS, fwd_status=200, detail=BypassReason.RULE_KEYWORD),
            ["reprise; fwd=bypass; fwd-status=200; detail=rule-keyword"],
        ),
    ],
)
def test_the_response_tells_what_the_cache_did(exchange: Exchange, lines: list[str]) -> None:
    names = ["Cache-Status", "Age"]
    expected = [f"{name}: {value}\r\n" for name, value in zip(names, lines, strict=False)]
    assert cache_status(exchange).decode() == "".join(expected)


@pytest.mark.parametrize("detail", [*BypassReason, *MissReason])
@pytest.mark.parametrize("fwd", Fwd)
def test_every_word_of_it_is_a_token(fwd: Fwd, detail: str) -> None:
    line = cache_status(replace(BLANK, fwd=fwd, detail=detail, fwd_status=200)).decode()
    _, *parameters = line.removesuffix("\r\n").split("; ")
    assert all(re.fullmatch(r"[a-z-]+(=[a-z0-9-]+)?", parameter) for parameter in parameters)
