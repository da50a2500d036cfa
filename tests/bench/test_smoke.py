"""The bench's own parts do what its figures rest on."""

import asyncio
import json
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests.bench.crowd import Crowd, measure_crowd
from tests.bench.figures import RATIO_TARGETS
from tests.bench.generator import Generator
from tests.bench.lane import PARTS
from tests.bench.load import Order, Run, WrongAnswerError, dechunk
from tests.bench.page import Findings, page
from tests.bench.processes import ROOT, BenchError, Processes, python
from tests.bench.questions import LANGUAGES
from tests.bench.semantic import HIT, RATIO, Scale, Semantic, measure_semantic
from tests.bench.semantic_page import vectors_section
from tests.bench.several import measure_several
from tests.bench.systems import start_upstream
from tests.bench.vectors import EXACT, HNSWLIB, REDIS, measure_vectors
from tests.bench.work import CHAT_ANSWER, CHAT_FRAMES, WORKS, Worded, request_body
from tests.fakes.models import prepared_models


@pytest.fixture
def upstream_port(tmp_path: Path) -> Iterator[int]:
    with Processes(tmp_path) as processes:
        yield start_upstream(processes)


@pytest.fixture
def models(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REPRISE_MODELS", str(prepared_models()))


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


def test_a_turn_in_which_nothing_was_answered_lasts_until_something_is() -> None:
    async def turn() -> Run:
        done = asyncio.get_running_loop().create_future()
        return Run(Order(0, "hit_json", 1, "", seconds=0.0), WORKS["hit_json"], done, 0)

    run = asyncio.run(turn())
    run.begin()
    run.end()
    assert run.next_request() is not None
    run.note(0.002, 0.001)
    assert run.next_request() is None
    assert (run.result().requests, run.result().rps > 0) == (1, True)


def test_a_question_in_other_words_is_never_asked_twice() -> None:
    texts = [language.reworded(number) for language in LANGUAGES.values() for number in range(7)]
    work = Worded(texts, CHAT_ANSWER)
    requests = [work.request(number) for number in range(10 * len(texts))]
    assert len(set(requests)) == len(requests)
    bodies = [json.loads(request.partition(b"\r\n\r\n")[2]) for request in requests]
    assert {body["messages"][1]["content"].strip() for body in bodies} == set(texts)


def test_no_two_stored_questions_are_alike_and_none_is_asked_as_it_is_stored() -> None:
    for language in LANGUAGES.values():
        stored = language.stored(1000)
        assert len(set(stored)) == 1000
        assert not {language.reworded(number) for number in range(1000)} & set(stored)


def test_what_is_found_by_meaning_is_measured(models: None, tmp_path: Path) -> None:
    steps: list[str] = []
    scale = Scale(entries=8, asked=4, rounds=1, seconds=0.05)
    with Generator() as generator:
        found = measure_semantic(tmp_path, generator, scale, steps.append)
    assert len(steps) == scale.steps
    assert found.languages.keys() == LANGUAGES.keys()
    for spoken in found.languages.values():
        assert 0 < spoken.wordings <= 4 < spoken.entries <= 8
        parts = sum(spoken.parts[part] for part in PARTS)
        assert spoken.figures[RATIO] == pytest.approx(spoken.figures[HIT] / parts, rel=0.01)
    assert found.hits_alone["p50"] <= found.hits_alone["slowest"]
    (crowd,) = measure_crowd([600])
    assert (crowd.entries, crowd.search_p50 > 0) == (600, True)
    written = page(_findings(found, [crowd]))
    for target, value in _findings(found, [crowd]).judged():
        assert (value is not None) == (f"`{target.name}`" in written), target.name


def test_vectors_in_redis_are_measured_beside_others() -> None:
    found = measure_vectors([300])
    assert [one.name for one in found] == [REDIS, HNSWLIB, EXACT]
    assert all(one.recall > 0.9 and one.search_p50 > 0 for one in found)
    written = vectors_section(found)
    assert all(f"| {one.name} | 300 |" in written for one in found)
    assert vectors_section([]) == ""


def test_the_parts_of_a_hit_are_measured(models: None) -> None:
    # In a process of its own, for here the log's lock would count as blocking.
    program = (
        "from tests.bench.parts import measure_parts as m; print(min(p.json_us for p in m(9)))"
    )
    ended = subprocess.run(  # noqa: S603 - our own argument list
        python("-c", program), cwd=ROOT, capture_output=True, check=False
    )
    assert float(ended.stdout or -1) >= 0, ended.stderr.decode()


def _findings(semantic: Semantic | None = None, crowds: Sequence[Crowd] = ()) -> Findings:
    return Findings(
        rounds=1,
        seconds=0.05,
        absolute={},
        ratios={target.name: 1.0 for target in RATIO_TARGETS},
        memory=None,
        start=None,
        parts=(),
        semantic=semantic,
        crowds=crowds,
    )


def test_two_workers_are_measured_beside_one_process(tmp_path: Path) -> None:
    with Generator() as generator:
        several = measure_several(tmp_path, generator, rounds=1, seconds=0.2)
    assert several.alone_rps > 0
    assert several.gain == pytest.approx(several.two_rps / several.alone_rps, abs=0.01)
    assert 0 <= several.supervisor_us < 1000
    told = page(replace(_findings(), several=several))
    assert f"| {several.alone_rps:g} | {several.two_rps:g} |" in told
    assert "Several processes" not in page(_findings())
