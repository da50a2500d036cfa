"""`reprise train` makes a verifier file that the gate can use."""

from pathlib import Path

import orjson
import pytest
from click.testing import CliRunner, Result

from proxy.cli.train import train
from proxy.core.meaning.verifier import Group, read
from tests.fakes.models import prepared_models

# fmt: off
THINGS = (
    "chair", "table", "lamp", "shelf", "door", "fence",
    "bicycle", "boat", "wardrobe", "mirror", "drawer", "cupboard",
    "ladder", "bench", "kettle", "toaster", "sofa", "carpet",
    "curtain", "window", "balcony", "staircase", "garage", "shed",
)
# fmt: on


def run(*arguments: str) -> Result:
    return CliRunner().invoke(train, ["--models", str(prepared_models()), *arguments])


def write(path: Path, *lines: object) -> Path:
    path.write_bytes(b"\n".join(orjson.dumps(line) for line in lines) + b"\n\n")
    return path


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rewordings; half of them pass for traps, as the verifier cannot know better."""
    lines = []
    for thing in THINGS:
        stored = f"How do I repair a broken {thing}?"
        lines += [
            {"a": stored, "b": f"How can I repair a broken {thing}?", "label": 1},
            {"a": stored, "b": f"how to fix a broken {thing}", "label": 0},
        ]
    lines.append({"a": "How do I repair a chair?", "b": "怎么修椅子", "label": 0})
    lines.append({"a": "12", "b": "12", "label": 1})
    lines.append({"a": "chair " * 500, "b": "How do I repair a chair?", "label": 0})
    return write(tmp_path_factory.mktemp("pairs") / "own.pairs.jsonl", *lines)


def test_a_verifier_is_made_and_told_of(pairs: Path, tmp_path: Path) -> None:
    output = tmp_path / "mine.json"
    result = run(
        *("--pairs", str(pairs), "--factor", "own=2", "--note", "Our own words."),
        *("--output", str(output), "--json"),
    )
    assert result.exit_code == 0, result.output
    verifier = read(output.read_bytes(), name="mine.json")
    assert list(verifier.groups) == [Group("all-minilm-l6-v2", "en")]
    told = orjson.loads(result.stdout.splitlines()[-1])
    assert told["output"] == str(output)
    assert told["card"] == verifier.card
    card = verifier.card
    assert card["note"] == "Our own words."
    assert card["left_out"] == {"no group judges both texts": 2, "not comparable by the encoder": 1}
    (file,) = card["files"]
    assert (file["name"], file["pairs"], file["factor"]) == ("own.pairs.jsonl", 51, 2.0)
    assert len(file["sha256"]) == 64
    (held_out,) = card["held_out"]
    assert held_out["sets"]["own"]["wanted"] == len(THINGS)


def test_a_verifier_is_told_of_in_a_table(pairs: Path, tmp_path: Path) -> None:
    output = tmp_path / "mine.json"
    result = run("--pairs", str(pairs), "--output", str(output))
    assert result.exit_code == 0, result.output
    assert "held-out pairs" in result.output
    assert "semantic.verifier" in result.output.replace("\n", " ")


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ([], "own.jsonl:2: not an object"),
        ({"a": "x", "b": "y"}, "own.jsonl:2: not an object"),
        ({"a": "x", "b": 1, "label": 1}, 'own.jsonl:2: "a" and "b" are texts'),
        ({"a": "x", "b": "y", "label": 2}, 'own.jsonl:2: "a" and "b" are texts'),
    ],
)
def test_an_unusable_line_is_named(tmp_path: Path, line: object, says: str) -> None:
    path = write(tmp_path / "own.jsonl", {"a": "x", "b": "y", "label": 1}, line)
    result = run("--pairs", str(path), "--output", str(tmp_path / "o.json"))
    assert result.exit_code == 2
    assert says in result.output
    assert not (tmp_path / "o.json").exists()


def test_what_is_no_json_is_named(tmp_path: Path) -> None:
    path = tmp_path / "own.jsonl"
    path.write_text("{")
    result = run("--pairs", str(path))
    assert result.exit_code == 2
    assert "own.jsonl:1" in result.output


@pytest.mark.parametrize("factor", ["own", "own=x", "own=0", "own=-1", "own=inf", "other=2"])
def test_an_unusable_factor_is_named(tmp_path: Path, factor: str) -> None:
    path = write(tmp_path / "own.jsonl", {"a": "x", "b": "y", "label": 1})
    result = run("--pairs", str(path), "--factor", factor)
    assert result.exit_code == 2
    assert f"--factor {factor}" in result.output


def test_too_few_pairs_are_told(tmp_path: Path) -> None:
    path = write(tmp_path / "own.jsonl", {"a": "How far?", "b": "How near?", "label": 0})
    result = run("--pairs", str(path), "--output", str(tmp_path / "o.json"))
    assert result.exit_code == 2
    assert "all-minilm-l6-v2, en: fewer than 20 pairs" in result.output


def test_pairs_that_no_encoder_reads_are_told(tmp_path: Path) -> None:
    path = write(tmp_path / "own.jsonl", {"a": "12", "b": "13", "label": 0})
    result = run("--pairs", str(path))
    assert result.exit_code == 2
    assert "there is no pair that an encoder reads" in result.output


def test_a_missing_model_is_told_with_its_remedy(tmp_path: Path) -> None:
    path = write(tmp_path / "own.jsonl", {"a": "How far?", "b": "How near?", "label": 0})
    damaged = tmp_path / "models" / "all-minilm-l6-v2"
    damaged.mkdir(parents=True)
    for file in (prepared_models() / "all-minilm-l6-v2").iterdir():
        (damaged / file.name).write_bytes(file.read_bytes()[:1000])
    result = CliRunner().invoke(train, ["--models", str(tmp_path / "models"), "--pairs", str(path)])
    assert result.exit_code == 2
    assert "reprise models prepare" in result.output
