"""One line and one set of metrics of a finished exchange."""

from dataclasses import fields, replace
from typing import Any

import orjson
import pytest

from proxy.core.exchange import Exchange, Fwd, Level
from proxy.telemetry.log import Event, StructLog
from proxy.telemetry.metrics import Metrics
from proxy.telemetry.report import Reporter

BLANK = Exchange(
    started=10.0,
    method="POST",
    path="/v1/chat/completions",
    request_id="req_1",
    status=200,
    ended=10.5,
    ended_at=1_760_000_000.5,
    bytes_sent=123,
    first_byte=10.125,
)
ASKED = replace(BLANK, operation="chat", model="m1", tenant="00ff00ff00ff")
HIT = replace(ASKED, level=Level.EXACT, age=60, ttl=40, saved_tokens=17)
MISS = replace(ASKED, fwd=Fwd.MISS, fwd_status=200, pool="main")

USUAL: Event = {
    "timestamp": 1_760_000_000.5,
    "request_id": "req_1",
    "method": "POST",
    "path": "/v1/chat/completions",
    "status": 200,
    "duration_ms": 500.0,
    "bytes": 123,
}
QUESTION: Event = {"operation": "chat", "model": "m1", "tenant": "00ff00ff00ff"}


class FakeLog:
    """Keeps what was told."""

    def __init__(self) -> None:
        self.told: list[tuple[str, str, Event]] = []

    def emit(self, level: str, event: str, fields: Event) -> None:
        """Keep it."""
        self.told.append((level, event, fields))


def told_of(exchange: Exchange) -> tuple[str, Event]:
    """The level and the fields of the one line."""
    log = FakeLog()
    Reporter(log, Metrics("1")).report(exchange)
    ((level, event, told),) = log.told
    assert event == "request"
    return level, told


FORWARDED: Event = {"fwd_status": 200, "upstream": "main", "first_byte_ms": 125.0}


@pytest.mark.parametrize(
    ("exchange", "expected"),
    [
        (HIT, QUESTION | {"cache": "exact", "age": 60, "saved_tokens": 17}),
        (MISS, QUESTION | FORWARDED | {"cache": "miss"}),
        (
            replace(MISS, detail="stale", fwd=Fwd.STALE, stored=True, collapsed=True, retried=True),
            QUESTION
            | FORWARDED
            | {"cache": "stale", "detail": "stale", "stored": True}
            | {"collapsed": True, "retried": True},
        ),
        (replace(MISS, stored=False), QUESTION | FORWARDED | {"cache": "miss", "stored": False}),
        (
            replace(BLANK, fwd=Fwd.BYPASS, detail="path", fwd_status=404, pool="main"),
            FORWARDED | {"cache": "bypass", "detail": "path", "fwd_status": 404},
        ),
        (
            replace(BLANK, status=413, error="request_too_large", first_byte=None),
            {"cache": "none", "status": 413, "error": "request_too_large"}
            | {"fwd_status": 0, "upstream": ""},
        ),
        (
            replace(MISS, client_gone=True, first_byte=None, fwd_status=0),
            QUESTION | {"cache": "miss", "client_gone": True, "fwd_status": 0, "upstream": "main"},
        ),
        (
            replace(HIT, level=Level.SEMANTIC, similarity=0.91237, meaning_seconds=0.0045),
            QUESTION
            | {"cache": "semantic", "age": 60, "saved_tokens": 17}
            | {"similarity": 0.9124, "meaning": "match", "meaning_ms": 4.5},
        ),
        (
            replace(HIT, level=Level.ALIAS, similarity=0.9),
            QUESTION | {"cache": "alias", "age": 60, "saved_tokens": 17, "similarity": 0.9},
        ),
        (
            replace(MISS, similarity=0.9, meaning="guard", guard="numbers", meaning_seconds=0.002),
            QUESTION
            | FORWARDED
            | {"cache": "miss", "similarity": 0.9, "meaning": "guard", "guard": "numbers"}
            | {"meaning_ms": 2.0},
        ),
        (
            replace(MISS, meaning="too-long", meaning_seconds=0.0),
            QUESTION | FORWARDED | {"cache": "miss", "meaning": "too-long", "meaning_ms": 0.0},
        ),
    ],
)
def test_a_line_tells_what_happened(exchange: Exchange, expected: Event) -> None:
    assert told_of(exchange) == ("info", USUAL | expected)


@pytest.mark.parametrize(
    ("error", "status", "level"),
    [
        ("internal_error", 500, "error"),
        ("upstream_broken", 502, "info"),
        ("", 500, "info"),
        ("", 503, "info"),
    ],
)
def test_only_a_mistake_of_ours_is_an_error(error: str, status: int, level: str) -> None:
    assert told_of(replace(MISS, error=error, status=status))[0] == level


def test_every_exchange_is_counted_once() -> None:
    metrics = Metrics("1")
    reporter = Reporter(FakeLog(), metrics)
    for exchange in (HIT, MISS, MISS, replace(BLANK, status=400)):
        reporter.report(exchange)
    text = metrics.exposition().decode()
    for labels, count in [
        ('operation="chat",cache="exact",status_class="2xx"', 1),
        ('operation="chat",cache="miss",status_class="2xx"', 2),
        ('operation="other",cache="none",status_class="4xx"', 1),
    ]:
        assert f"reprise_requests_total{{{_sorted(labels)}}} {count}.0" in text


def _sorted(labels: str) -> str:
    return ",".join(sorted(labels.split(",")))


def test_a_prompt_in_place_of_a_model_does_not_fill_the_log() -> None:
    prompt = "请总结以下内容" * 10_000
    _, told = told_of(replace(MISS, model=prompt))
    assert len(told["model"]) <= 128


def test_a_question_is_never_told() -> None:
    told = told_of(
        replace(MISS, question="我的密码是什么", missed=b"\xff" * 32, entry=b"\xfe" * 32)
    )
    assert told == told_of(MISS)


def test_an_exchange_has_no_place_for_prompts_and_credentials() -> None:
    names = {item.name for item in fields(Exchange)}
    assert not names & {"body", "headers", "fields", "prompt", "messages", "answer", "target"}
    assert not any("key" in name or "auth" in name or "cred" in name for name in names)


@pytest.mark.parametrize("form", ["json", "console"])
@pytest.mark.parametrize("text", ["\udcff", "模型", "a\nb", "\x1b[2J"])
def test_whatever_a_client_writes_is_reported(form: str, text: str) -> None:
    lines: list[bytes] = []
    log = StructLog(lines.append, form=form, level="info", wall=lambda: 0.0)
    changes: dict[str, Any] = dict.fromkeys(("model", "path", "request_id", "method"), text)
    Reporter(log, Metrics("1")).report(replace(MISS, **changes))
    assert len(lines) == 1
    assert lines[0].count(b"\n") == 0


def test_a_line_is_json_with_the_fields_of_the_documentation() -> None:
    lines: list[bytes] = []
    log = StructLog(lines.append, form="json", level="info", wall=lambda: 1.5)
    Reporter(log, Metrics("1")).report(HIT)
    told = orjson.loads(lines[0])
    assert (told["event"], told["level"], told["timestamp"]) == ("request", "info", 1_760_000_000.5)
    assert told["cache"] == "exact"
