"""What is measured about entries that last is what happens, and the page tells of it."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.bench.echo import asked_in, said
from tests.bench.generator import Generator
from tests.bench.kept import with_section
from tests.bench.lasting import DISK, REDIS, Delay, Sharing, Soak, WarmStart
from tests.bench.lasting_page import HEADING, lasting_figures, lasting_section
from tests.bench.processes import ROOT, python
from tests.bench.sharing import Extent, measure_sharing
from tests.bench.soak import Sample, growth
from tests.bench.soak_load import Mix
from tests.fakes.models import prepared_models

FIGURES = tuple(
    f"{work}_{figure}"
    for work in ("hit_json", "hit_sse", "miss_json", "miss_sse")
    for figure in ("p50_1", "total_p50_1", "rps_32")
)
SHARING = Sharing(
    absolute={name: dict.fromkeys(FIGURES, 100.0) for name in ("nothing", DISK, REDIS)},
    ratios={name: dict.fromkeys(FIGURES, 1.0) for name in (DISK, REDIS)},
    delays={name: Delay(200.0, 500, 20.0, 400.0, 500.0) for name in (DISK, REDIS)},
)
WARM = {name: WarmStart(1000, 1.0, 2.0, 2.0, 2.0, 2.0, 200.0, 10, 10) for name in (DISK, REDIS)}
SOAK = Soak(
    *(30.0, 1000, 150.0, {"exact": 900, "miss": 100}, 9, 9, 0, 1, {}),
    *(300.0, 303.0, 304.0, 0.01, 5000.0, 64.0, 0.0, 100.0),
)


def test_what_disk_and_redis_cost_is_measured(tmp_path: Path) -> None:
    steps: list[str] = []
    extent = Extent(rounds=1, seconds=0.05, delay_seconds=0.5)
    with Generator() as generator:
        found = measure_sharing(tmp_path, generator, extent, steps.append)
    assert len(steps) == extent.steps
    for name in (DISK, REDIS):
        assert found.ratios[name].keys() == found.absolute[name].keys()
        assert found.delays[name].looked_for > 0
        assert 0 < found.delays[name].p50_ms <= found.delays[name].slowest_ms


@pytest.mark.parametrize(
    "command",
    [("warm_start", "--entries", "400", "--times", "1"), ("soak", "--minutes", "0.1")],
    ids=lambda command: command[0],
)
def test_the_long_ones_run_in_small(
    command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REPRISE_MODELS", str(prepared_models()))
    name, *options = command
    ended = subprocess.run(  # noqa: S603 - our own argument list
        python("-m", f"tests.bench.{name}", *options), cwd=ROOT, capture_output=True, check=False
    )
    assert ended.returncode == 0, ended.stderr.decode()
    found: dict[str, Any] = json.loads(ended.stdout)
    if name == "soak":
        assert found["failures"] == 0
        assert found["requests"] > 100
        assert {"exact", "miss"} <= found["outcomes"].keys()
    else:
        assert found.keys() == {REDIS, DISK}
        assert all(one["entries"] == 400 for one in found.values())


def test_an_answer_that_is_cut_or_another_callers_is_noticed() -> None:
    assert asked_in(said("key-a", "Where is it?"), "key-a") == "Where is it?"
    assert asked_in(said("key-a", "Where is it?"), "key-b") is None
    assert asked_in(said("key-a", "Where is it?")[:-1], "key-a") is None


def test_what_means_the_same_is_known_to_the_load() -> None:
    mix = Mix(seed=1)
    assert mix.meaning("How do I assemble an accordion?") == mix.meaning(
        "How can I assemble an accordion?"
    )
    assert mix.meaning("How do I assemble an accordion?") != mix.meaning("Ticket 1")
    kinds = {mix.next().kind for _ in range(2000)}
    assert {"long", "plain", "reworded", "new", "leaving", "failing"} <= kinds


def test_growth_is_that_after_a_third_of_the_time() -> None:
    samples = [Sample(second, 100 if second < 600 else 200) for second in range(0, 1200, 5)]
    samples += [Sample(second, 210) for second in range(1200, 1801, 5)]
    settled, last, grown = growth(samples)
    assert (settled, last) == (200, 210)
    assert grown == pytest.approx(0.05)


def test_the_section_tells_every_figure_and_takes_the_place_of_an_earlier_one() -> None:
    section = lasting_section(SHARING, WARM, SOAK)
    for target, value in lasting_figures(SHARING, WARM, SOAK):
        assert value is not None
        assert f"`{target.name}`" in section
    assert lasting_section(None, {}, None) == ""
    page = with_section("# Title\n\n## First\n\ntext\n\n## How to repeat\n\nend\n", section)
    assert page.index("## First") < page.index(HEADING) < page.index("## How to repeat")
    assert with_section(page, section) == page
