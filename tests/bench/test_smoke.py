"""The bench's own parts do what its figures rest on."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bench.generator import Generator
from tests.bench.load import Order, Run, WrongAnswerError, dechunk
from tests.bench.processes import BenchError, Processes
from tests.bench.systems import start_upstream
from tests.bench.work import CHAT_ANSWER, CHAT_FRAMES, WORKS, request_body


@pytest.fixture
def upstream_port(tmp_path: Path) -> Iterator[int]:
    with Processes(tmp_path) as processes:
        yield start_upstream(processes)


def test_the_work_has_the_sizes_that_the_page_tells() -> None:
    assert len(request_body(stream=False)) == len(request_body(stream=True)) == 1024
    assert len(CHAT_ANSWER) == 600
    assert len(CHAT_FRAMES) == 50
    assert 10_500 < len(b"".join(CHAT_FRAMES)) < 11_500


def test_requests_of_a_miss_differ_and_have_one_length() -> None:
    first, second = (WORKS["miss_json"].request(number) for number in (1, 2))
    assert first != second
    assert len(first) == len(second)


def test_dechunking_joins_the_pieces() -> None:
    assert dechunk(b"3\r\nabc\r\nA\r\n0123456789\r\n0\r\n\r\n") == b"abc0123456789"


def test_right_answers_are_counted_and_a_wrong_one_fails_the_run(upstream_port: int) -> None:
    with Generator() as generator:
        for work in WORKS:
            measured = generator.measure(Order(upstream_port, work, 2, "", count=20))
            assert measured.requests == 20
            assert 0 < measured.first_byte_p50 <= measured.p50 <= measured.p99
        for connections, count in ((1, 1), (2, 2), (2, 20)):
            with pytest.raises(BenchError, match="unexpected head"):
                generator.measure(
                    Order(upstream_port, "hit_json", connections, "; hit", count=count)
                )


def test_a_wrong_body_fails_the_run_in_both_framings() -> None:
    async def run_check(work: str, answer: bytes, *, is_chunked: bool) -> None:
        done = asyncio.get_running_loop().create_future()
        run = Run(Order(0, work, 1, "", count=1), WORKS[work], done, 0)
        head = b"HTTP/1.1 200 OK\r\n\r\n"
        run.check(head + answer, len(head), is_chunked=is_chunked)
        assert done.done()
        with pytest.raises(WrongAnswerError, match="wrong"):
            await done

    wrong = CHAT_ANSWER.replace(b"parcel", b"packet")
    assert len(wrong) == len(CHAT_ANSWER)
    asyncio.run(run_check("hit_json", wrong, is_chunked=False))
    cut = b"".join(CHAT_FRAMES[:-1])
    framed = b"%x\r\n%b\r\n0\r\n\r\n" % (len(cut), cut)
    asyncio.run(run_check("hit_sse", framed, is_chunked=True))
