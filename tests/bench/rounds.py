"""The alternating rounds."""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from tests.bench.generator import Generator
from tests.bench.load import Measured, Order
from tests.bench.systems import System

_PRIMING_REQUESTS = 50


@dataclass(frozen=True, slots=True)
class Scenario:
    """A piece of work at a number of connections."""

    work: str
    connections: int


SCENARIOS = tuple(
    Scenario(work, connections)
    for connections in (1, 32)
    for work in ("hit_json", "hit_sse", "miss_json", "miss_sse", "pass")
)


@dataclass(frozen=True, slots=True)
class Sample:
    """One turn of one system."""

    round_number: int
    scenario: Scenario
    system: str
    measured: Measured


def prime(generator: Generator, systems: Sequence[System], scenarios: Sequence[Scenario]) -> None:
    """Let caches learn the answers, and every code path run a few times."""
    for work in dict.fromkeys(scenario.work for scenario in scenarios):
        for system in systems:
            if work in system.proofs:
                generator.measure(Order(system.port, work, 1, "", count=_PRIMING_REQUESTS))


def run_rounds(
    generator: Generator,
    systems: Sequence[System],
    scenarios: Sequence[Scenario],
    *,
    rounds: int,
    seconds: float,
    pin: Callable[[int], None],
    advance: Callable[[str], None],
) -> Iterator[Sample]:
    """Give every system its turn in every scenario, in an order that rotates with the round.

    `pin` is told the number of connections of the turns that follow.
    """
    for number in range(rounds):
        for scenario in scenarios:
            takers = [system for system in systems if scenario.work in system.proofs]
            pin(scenario.connections)
            shift = number % len(takers)
            for system in (*takers[shift:], *takers[:shift]):
                advance(f"round {number + 1}: {scenario.work}, {scenario.connections} connections")
                order = Order(
                    port=system.port,
                    work=scenario.work,
                    connections=scenario.connections,
                    proof=system.proofs[scenario.work],
                    warm_seconds=seconds / 5,
                    seconds=seconds,
                )
                yield Sample(number, scenario, system.name, generator.measure(order))
        for system in systems:
            if system.log is not None:
                os.truncate(system.log, 0)


def turns(systems: Sequence[System], scenarios: Sequence[Scenario], rounds: int) -> int:
    """How many turns that makes."""
    takers = sum(scenario.work in system.proofs for scenario in scenarios for system in systems)
    return takers * rounds
