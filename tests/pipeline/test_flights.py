"""Which questions share a call."""

from typing import Any

import pytest

from proxy.pipeline.collapse import Flight
from proxy.pipeline.flights import Flights
from tests.pipeline.plans import plan


def flight() -> Flight:
    return Flight(keep_bytes=10, on_alone=lambda flight: None)


def test_the_same_question_finds_the_call_until_it_is_over() -> None:
    flights, one = Flights(), flight()
    flights.add(plan(), one)
    assert flights.find(plan()) is one
    assert len(flights) == 1
    flights.remove(plan(), one)
    assert flights.find(plan()) is None
    assert len(flights) == 0


@pytest.mark.parametrize(
    ("fields", "members"),
    [
        ([], {"temperature": 1}),
        ([], {"stream": True}),
        ([("Authorization", "Bearer b")], {}),
        ([("Accept-Encoding", "gzip")], {}),
        ([("x-cache-namespace", "n")], {}),
        ([("OpenAI-Project", "p")], {}),
    ],
)
def test_another_question_does_not(fields: list[tuple[str, str]], members: dict[str, Any]) -> None:
    flights = Flights()
    flights.add(plan(), flight())
    assert flights.find(plan("Q", *fields, **members)) is None


def test_streams_with_other_options_are_apart() -> None:
    flights = Flights()
    flights.add(plan(stream=True), flight())
    usage = {"include_usage": True}
    assert flights.find(plan(stream=True, stream_options=usage)) is None


async def test_a_call_that_cannot_be_read_from_its_beginning_is_not_found() -> None:
    flights, one = Flights(), flight()
    flights.add(plan(), one)
    await one.append(b"more than ten bytes")
    assert flights.find(plan()) is None


def test_a_stream_is_found_by_a_question_for_json_only() -> None:
    flights, stream = Flights(), flight()
    flights.add(plan(stream=True), stream)
    assert flights.find_stream(plan()) is stream
    assert flights.find_stream(plan(stream=True)) is None
    assert flights.find_stream(plan("Q", ("Authorization", "Bearer b"))) is None
    flights.remove(plan(stream=True), stream)
    assert flights.find_stream(plan()) is None


def test_a_call_for_json_is_not_found_as_a_stream() -> None:
    flights = Flights()
    flights.add(plan(), flight())
    assert flights.find_stream(plan()) is None


def test_a_newer_call_takes_the_place_and_is_not_removed_by_the_older() -> None:
    flights, older, newer = Flights(), flight(), flight()
    for one in (older, newer):
        flights.add(plan(stream=True), one)
    flights.remove(plan(stream=True), older)
    assert flights.find(plan(stream=True)) is newer
    assert flights.find_stream(plan()) is newer
