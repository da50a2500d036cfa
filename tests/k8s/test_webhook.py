"""The webhook as the API server and its operator meet it, over real TLS."""

import asyncio
import base64
import ssl
from typing import Any

import jsonpatch
import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from proxy.k8s import webhook
from proxy.k8s.settings import Settings
from tests.k8s.certificates import Issued, issued
from tests.k8s.pods import PODS, UPSTREAM, base_urls, pod
from tests.k8s.reviews import of_1_20, of_1_31, of_1_36
from tests.k8s.running import DEADLINE, DyingSource, Running, untrusting

SHAPES = [of_1_20(), of_1_31(), of_1_36()]


@pytest.fixture(scope="module")
def own() -> Issued:
    return issued()


def reviewing(value: Any) -> bytes:
    review = of_1_20("v1")
    review["request"]["object"] = value
    return orjson.dumps(review)


async def test_a_review_is_answered_with_a_patch(own: Issued) -> None:
    async with Running(own) as running:
        await running.certified()
        for review in SHAPES:
            status, told = await running.post(orjson.dumps(review))
            assert (status, told["response"]["uid"]) == (200, review["request"]["uid"])
            patch = orjson.loads(base64.b64decode(told["response"]["patch"]))
            after = jsonpatch.apply_patch(review["request"]["object"], patch)
            assert base_urls(after)["app"] == "http://127.0.0.1:11480/v1"
        assert await running.counted("injected", "native") == len(SHAPES)
        _, text = await running.admin("/metrics")
        assert "reprise_injector_admission_duration_seconds_count 3.0" in text
        (ends,) = (
            line.rpartition(" ")[2]
            for line in text.splitlines()
            if line.startswith("reprise_injector_certificate_not_after_timestamp_seconds ")
        )
        assert float(ends) == own.not_after


async def test_it_is_ready_once_it_has_a_certificate_and_until_it_ends(own: Issued) -> None:
    async with Running(own) as running:
        assert await running.admin("/livez") == (200, "ok\n")
        assert await running.admin("/readyz") == (503, "no certificate\n")
        await running.certified()
        assert await running.admin("/readyz") == (200, "ok\n")


async def test_what_is_under_way_ends_whole(own: Issued) -> None:
    body = reviewing(pod())
    async with Running(own) as running, asyncio.timeout(DEADLINE):
        await running.certified()
        async with running.raw() as (reader, writer):
            head = f"POST /mutate HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n"
            writer.write(head.encode() + body[:50])
            await writer.drain()
            assert (await running.admin("/readyz"))[0] == 200
            stopping = asyncio.gather(running.webhook.stop())
            assert not stopping.done()
            writer.write(body[50:])
            answer = await reader.read()
            assert answer.startswith(b"HTTP/1.1 200 ")
            assert b'"patchType":"JSONPatch"' in answer
            await stopping


async def test_a_client_that_does_not_trust_it_leaves_nothing_in_the_log(own: Issued) -> None:
    async with Running(own) as running:
        await running.certified()
        with pytest.raises(ssl.SSLCertVerificationError):
            await asyncio.open_connection(
                "127.0.0.1", running.port, ssl=untrusting(), server_hostname="x"
            )
        status, _ = await running.post(reviewing(pod()))
        assert status == 200
        assert {level for level, _, _ in running.log.lines} <= {"info", "debug"}


async def test_the_log_says_what_was_done_and_nothing_of_the_environment(own: Issued) -> None:
    secret = {"name": "app", "env": [{"name": "KEY", "value": "sk-secret"}]}
    async with Running(own) as running:
        await running.certified()
        await running.post(reviewing(pod(secret, labels={"reprise.dev/inject": "false"})))
        await running.post(reviewing(pod(secret)))
        one, two = (line for line in running.log.lines if line[1] == "admission")
    assert (one[2]["result"], one[2]["reason"]) == ("skipped", "opted-out")
    assert (two[2]["namespace"], two[2]["pod"], two[2]["dry_run"]) == ("apps", "app-", False)
    assert "sk-secret" not in str(running.log.lines)


async def test_a_mistake_of_ours_stops_no_pod(own: Issued) -> None:
    broken = Settings(upstream=UPSTREAM, requests={}, limits={"cpu": "1"})
    async with Running(own, broken) as running:
        await running.certified()
        status, told = await running.post(reviewing(pod()))
        assert status == 200
        assert told["response"]["uid"] == SHAPES[0]["request"]["uid"]
        assert told["response"]["allowed"] is True
        assert "an error inside the injector" in told["response"]["warnings"][0]
        assert "patch" not in told["response"]
        assert await running.counted("failed", "internal") == 1
        assert [fields["error"] for level, _, fields in running.log.lines if level == "error"] == [
            "KeyError"
        ]


async def test_what_goes_wrong_beside_reviews_is_in_the_log(own: Issued) -> None:
    async with Running(own, source=DyingSource()) as running, asyncio.timeout(DEADLINE):
        loop = asyncio.get_running_loop()
        loop.call_exception_handler({"message": "a client left", "exception": OSError()})
        loop.call_exception_handler({"message": "ours", "exception": ValueError("sk-secret")})
        loop.call_exception_handler({"message": "a word"})
        while "background task died" not in [line[1] for line in running.log.lines]:
            assert await running.admin("/readyz") == (503, "no certificate\n")
    told = [(level, event) for level, event, _ in running.log.lines]
    assert told[:3] == [
        ("debug", "connection failed"),
        ("error", "event loop error"),
        ("error", "event loop error"),
    ]
    assert "sk-secret" not in str(running.log.lines)


async def test_it_tells_that_it_is_ending(own: Issued) -> None:
    body = reviewing(pod())
    async with Running(own) as running, asyncio.timeout(DEADLINE):
        await running.certified()
        async with running.raw() as (reader, writer):
            head = f"POST /mutate HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n"
            writer.write(head.encode())
            while "admission" not in [line[1] for line in running.log.lines]:
                await running.post(body)
            stopping = asyncio.gather(running.webhook.stop())
            await asyncio.sleep(0)
            assert await running.admin("/readyz") == (503, "draining\n")
            writer.write(body)
            await reader.read()
            await stopping


async def test_a_body_that_is_too_large_is_not_read(
    own: Issued, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhook, "MAX_BODY_BYTES", 1000)
    async with Running(own) as running:
        await running.certified()
        status, told = await running.post(b" " * 1001)
        assert (status, told["response"]["uid"], told["response"]["allowed"]) == (200, "", True)
        assert await running.counted("failed", "too-large") == 1


async def test_a_body_that_does_not_come_is_not_waited_for(
    own: Issued, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhook, "READS_WITHIN", 0.01)
    async with Running(own) as running, asyncio.timeout(DEADLINE):
        await running.certified()
        async with running.raw() as (reader, writer):
            writer.write(b"POST /mutate HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{")
            answer = await reader.readuntil(b"}}")
            assert answer.startswith(b"HTTP/1.1 200 ")
        assert await running.counted("failed", "malformed") == 1


_BODIES = st.one_of(
    st.binary(max_size=200),
    PODS.map(reviewing),
    st.recursive(
        st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=4),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    ).map(reviewing),
)
_FEW = settings(max_examples=5, suppress_health_check=[HealthCheck.too_slow])


@_FEW
@given(st.lists(_BODIES, min_size=20, max_size=40))
async def test_whatever_comes_the_pod_is_let_in(own: Issued, bodies: list[bytes]) -> None:
    async with Running(own) as running:
        await running.certified()
        for body in bodies:
            status, told = await running.post(body)
            assert (status, told["response"]["allowed"]) == (200, True)
        assert await running.counted("failed", "internal") == 0


_LINES = st.sampled_from(
    [
        b"POST /mutate HTTP/1.1",
        b"GET /mutate HTTP/1.1",
        b"POST /mutate HTTP/1.0",
        b"\x16\x03\x01",
        b"Host: x",
        b"Content-Length: 5",
        b"Content-Length: -1",
        b"Transfer-Encoding: chunked",
        b"Content-Encoding: gzip",
        b"Expect: 100-continue",
        b"",
        b"zz",
        b"{}",
    ]
)


_LONG = b"A" * 10_000
"""As a line of a head it is refused, as a body it is one: there is an answer in any case."""


@_FEW
@given(st.lists(st.lists(_LINES | st.binary(max_size=20), max_size=8), min_size=10, max_size=20))
async def test_whatever_bytes_come_nothing_is_a_servers_error(
    own: Issued, talks: list[list[bytes]]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(webhook, "READS_WITHIN", 0.01)
        async with Running(own) as running, asyncio.timeout(DEADLINE):
            await running.certified()
            for lines in talks:
                async with running.raw() as (reader, writer):
                    writer.write(b"\r\n".join([*lines, b"", _LONG, b"", b""]))
                    answer = await reader.read(12)
                assert answer[:9] in (b"HTTP/1.1 ", b"HTTP/1.0 ", b"")
                assert answer[9:10] != b"5"
            assert await running.counted("failed", "internal") == 0
