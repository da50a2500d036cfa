"""What `reprise warm` tells a human being, on stderr."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from proxy.cli.warm_groups import Question, Survey
from proxy.cli.warm_input import Log
from proxy.cli.warm_run import Tally
from proxy.cli.warm_state import State

SHOWN = 10
"""Questions that a dry run shows."""


def tell_left_alone(survey: Survey) -> None:
    """The requests that need no warming, with why."""
    reasons = ", ".join(f"{reason}: {count:,}" for reason, count in survey.left_alone.most_common())
    Console(stderr=True).print(
        f"{survey.left_alone.total():,} of {survey.requests:,} requests are none that the cache "
        f"looks up ({reasons})."
    )


def tell_chosen(
    log: Log, chosen: Sequence[Question], *, done: int, tokens: int, share: float, of: int
) -> None:
    """What would be asked: a `share` of `of` requests. `done` are those that need not be again."""
    table = Table("times", "wordings", "question")
    for question in chosen[:SHOWN]:
        text = question.text or str(next(iter(log.entry(question.place).body.values()), ""))
        table.add_row(f"{question.count:,}", f"{question.wordings:,}", _short(text))
    console = Console(stderr=True)
    console.print(table)
    console.print(
        f"{len(chosen):,} questions would be asked, {done:,} of them are done; they are "
        f"{share:.1%} of {of:,} requests and take some {tokens:,} tokens."
    )


def tell_end(tally: Tally, remaining: int, state: State) -> None:
    """What has come of a run, and how it goes on."""
    console = Console(stderr=True)
    console.print(
        f"{tally.asked:,} asked, {tally.stored:,} of them stored; {tally.hits:,} were stored "
        f"before; {tally.failed:,} failed; {tally.tokens:,} tokens."
    )
    if tally.ended_by:
        console.print(f"Ended by: {tally.ended_by}.", style="yellow", soft_wrap=True)
    if remaining:
        console.print(
            f"{remaining:,} remain: the same command goes on from there ({state.path}).",
            soft_wrap=True,
        )


def _short(text: str) -> str:
    line = " ".join(text.split())
    line = "".join(character if character.isprintable() else "?" for character in line)
    return line if len(line) <= 60 else f"{line[:59]}…"
