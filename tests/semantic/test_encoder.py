"""The real encoders tell meanings apart, and refuse what they cannot read."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from proxy.core.meaning.uncompared import NotCompared, Uncompared
from proxy.semantic import manifest, runtime
from proxy.semantic.encoder import MAX_TOKENS, OnnxEncoder, width
from proxy.semantic.manifest import ModelError
from proxy.semantic.models import E5, MINILM
from tests.semantic import tiny

ENGLISH = [
    ("How can I change the password of my account?", "I want to set a new account password, how?"),
    ("Why is my parcel late?", "What is the reason that my package has not arrived on time?"),
    ("What is the capital of Norway?", "Which city is Norway's capital?"),
    ("How long do I boil an egg?", "For how many minutes should an egg be in boiling water?"),
]
CHINESE = [
    ("怎么修改账户密码？", "我想换一个账号的密码，如何操作？"),
    ("我的快递为什么还没到？", "包裹迟迟没有送达是什么原因？"),
    ("挪威的首都是哪里？", "哪座城市是挪威的首都？"),
    ("鸡蛋要煮多久？", "煮鸡蛋需要几分钟？"),
]


def refusal(encoder: OnnxEncoder, text: str) -> Uncompared:
    with pytest.raises(NotCompared) as caught:
        encoder.encode([text])
    return caught.value.reason


def nearest(encoder: OnnxEncoder, pairs: list[tuple[str, str]]) -> list[int]:
    """For each first of a pair the place of the second that is nearest to it."""
    stored = encoder.encode([first for first, _ in pairs])
    asked = encoder.encode([second for _, second in pairs])
    return [int(place) for place in (stored @ asked.T).argmax(axis=1)]


def test_rewordings_are_nearest_in_english(minilm: OnnxEncoder, e5: OnnxEncoder) -> None:
    assert nearest(minilm, ENGLISH) == [0, 1, 2, 3]
    assert nearest(e5, ENGLISH) == [0, 1, 2, 3]


def test_rewordings_are_nearest_in_chinese_and_across(e5: OnnxEncoder) -> None:
    assert nearest(e5, CHINESE) == [0, 1, 2, 3]
    across = [(english[0], chinese[0]) for english, chinese in zip(ENGLISH, CHINESE, strict=True)]
    assert nearest(e5, across) == [0, 1, 2, 3]


def test_vectors_are_normalised_floats(minilm: OnnxEncoder, e5: OnnxEncoder) -> None:
    for encoder in (minilm, e5):
        vectors = encoder.encode([text for pair in ENGLISH for text in pair])
        assert vectors.dtype == np.float32
        assert vectors.shape == (8, 384)
        assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)


def test_batch_equals_single_texts(minilm: OnnxEncoder, e5: OnnxEncoder) -> None:
    texts = ["Hi", *(text for pair in ENGLISH for text in pair), "a longer one " * 20]
    for encoder in (minilm, e5):
        together = encoder.encode(texts)
        alone = np.concatenate([encoder.encode([text]) for text in texts])
        assert (together * alone).sum(axis=1).min() > 0.9999


def test_same_text_gives_the_same_vector_to_the_bit(minilm: OnnxEncoder) -> None:
    assert np.array_equal(minilm.encode(["twice"]), minilm.encode(["twice"]))


def test_script_that_minilm_cannot_read_is_not_compared(minilm: OnnxEncoder) -> None:
    for text in ("怎么退款", "怎么付款", "🤠🥑🦜", "fine 🤠 day"):
        assert refusal(minilm, text) is Uncompared.UNKNOWN_TOKENS


def test_few_unknown_signs_among_many_words_are_allowed(minilm: OnnxEncoder) -> None:
    minilm.tokenize("Please tell me what the sign 🤠 stands for when a friend sends it to me")


def test_text_without_tokens_is_empty(minilm: OnnxEncoder, e5: OnnxEncoder) -> None:
    for text in ("", "   ", "\n\t", "\u200b"):
        assert refusal(minilm, text) is Uncompared.EMPTY
        assert refusal(e5, text) is Uncompared.EMPTY


def test_long_text_is_refused_and_never_cut(minilm: OnnxEncoder, e5: OnnxEncoder) -> None:
    for encoder in (minilm, e5):
        marks = len(encoder.tokenize("word").ids) - 1
        fits = "word " * (MAX_TOKENS - marks)
        assert len(encoder.tokenize(fits).ids) == MAX_TOKENS
        assert refusal(encoder, fits + "word") is Uncompared.TOO_LONG
        assert refusal(encoder, "x" * 1_000_000) is Uncompared.TOO_LONG
        last = encoder.encode([fits[:-5] + "zebra", fits])
        assert float(last[0] @ last[1]) < 0.99999


def test_prefix_of_the_model_is_prepended(e5: OnnxEncoder) -> None:
    assert e5.manifest.prefix == "query: "
    assert e5.tokenize("Where?").ids[1:4] == e5.tokenize("query: Where?").ids[4:7]


def test_half_a_surrogate_pair_does_no_harm(minilm: OnnxEncoder, e5: OnnxEncoder) -> None:
    for encoder in (minilm, e5):
        assert np.isfinite(encoder.encode(["What does \ud83d mean in this text?"])).all()


def test_models_of_strangers_are_read(tmp_path: Path) -> None:
    for pooled in (True, False):
        encoder = OnnxEncoder(tiny.prepared(tmp_path / f"pooled-{pooled}", pooled=pooled))
        assert encoder.encode(["return the shoes"]).shape == (1, tiny.WIDTH)
    typed = tiny.sign(tiny.write(tmp_path / "typed", types=True))
    assert OnnxEncoder(typed).encode(["return the shoes"]).shape == (1, tiny.WIDTH)


def test_tokens_are_pooled_as_the_manifest_says(tmp_path: Path) -> None:
    mean = OnnxEncoder(tiny.prepared(tmp_path / "mean"))
    two, one, other = mean.forward([[2, 3], [2], [3]])
    assert np.allclose(one, mean.forward([[2]])[0])  # padding is left out
    assert max(float(two @ one), float(two @ other)) < 0.95
    model = tiny.write(tmp_path / "first", flaw="twins")
    first = OnnxEncoder(tiny.sign(model, pooling="first"))
    assert np.allclose(first.forward([[2, 3]]), first.forward([[2]]))


def test_model_that_tells_nothing_apart_fails_its_self_test(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"fails its self-test: .* score 1.000, 1.000, 1.000; it"):
        OnnxEncoder(tiny.prepared(tmp_path / "constant", flaw="constant"))


@pytest.mark.parametrize("flaw", ["nan", "zero"])
def test_model_without_sane_vectors_fails_its_self_test(tmp_path: Path, flaw: str) -> None:
    with pytest.raises(ModelError, match="fails its self-test: bad-vector"):
        OnnxEncoder(tiny.prepared(tmp_path / flaw, flaw=flaw))


def test_model_of_another_size_fails_its_self_test(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="fails its self-test: bad-vector"):
        OnnxEncoder(tiny.prepared(tmp_path / "wide", dimensions=8))


def test_vector_of_length_zero_is_refused(tmp_path: Path) -> None:
    encoder = OnnxEncoder(tiny.prepared(tmp_path / "tiny"))
    assert refusal(encoder, tiny.ZERO) is Uncompared.BAD_VECTOR
    vectors = encoder.forward([[1], [2]])
    assert np.isnan(vectors[0]).all()
    assert np.isfinite(vectors[1]).all()


def test_model_that_fails_while_it_runs_raises_a_runtime_error(tmp_path: Path) -> None:
    encoder = OnnxEncoder(tiny.prepared(tmp_path / "tiny"))
    with pytest.raises(runtime.ERRORS):
        encoder.encode([tiny.BREAKING])


def test_model_that_takes_other_inputs_is_refused(tmp_path: Path) -> None:
    model = tiny.write(tmp_path / "tiny")
    np.save(model / "words.npy", np.zeros((99, tiny.WIDTH), np.float16))
    with pytest.raises(ModelError, match=r"model.onnx: takes attention_mask, input_ids; a model"):
        OnnxEncoder(tiny.sign(model))


def test_model_that_fails_in_its_self_test_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="does not run: "):
        OnnxEncoder(tiny.prepared(tmp_path / "few", flaw="few"))


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
def test_damaged_file_is_named_with_the_remedy(tmp_path: Path, name: str) -> None:
    model = tiny.prepared(tmp_path / "tiny")
    (model / name).write_bytes((model / name).read_bytes()[:-100])
    with pytest.raises(ModelError, match=rf"tiny/{name}: is damaged.*reprise models prepare"):
        OnnxEncoder(model)


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json", "words.npy"])
def test_file_that_was_never_right_is_named(tmp_path: Path, name: str) -> None:
    model = tiny.write(tmp_path / "tiny")
    (model / name).write_bytes(b"{}")
    with pytest.raises(ModelError, match=rf"tiny/{name}: "):
        OnnxEncoder(tiny.sign(model))


def test_missing_model_names_its_directory(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"nothing/manifest.json: cannot be read.*; prepare it"):
        OnnxEncoder(tmp_path / "nothing")


def test_identity_is_the_one_of_the_manifest(minilm: OnnxEncoder, models: Path) -> None:
    assert minilm.identity == manifest.read(models / MINILM.name).identity


def test_width_is_read_from_the_graph(tmp_path: Path) -> None:
    assert width(tiny.write(tmp_path / "a") / "model.onnx") == tiny.WIDTH
    with pytest.raises(ModelError, match="no fixed width"):
        width(tiny.write(tmp_path / "b", flaw="width") / "model.onnx")


_BOTH = """
import re, sys
from pathlib import Path
opened = []
sys.addaudithook(lambda event, _: opened.append(event) if event.startswith("socket.") else None)
from proxy.app import App
from proxy.semantic.encoder import OnnxEncoder
for directory in sys.argv[1:]:
    encoder = OnnxEncoder(Path(directory))
    for text in ("one", "word " * 240):
        encoder.encode([text] * 4)
peak = re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1]
print(peak, len(opened))
"""


def test_both_fit_into_memory_and_tell_nobody(models: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-c", _BOTH, str(models / MINILM.name), str(models / E5.name)]
    environment = {"HOME": str(tmp_path), "PYTHONPATH": ":".join(sys.path)}
    told = subprocess.run(  # noqa: S603 - ours
        command, check=True, capture_output=True, text=True, env=environment
    )
    kilobytes, opened = map(int, told.stdout.split())
    assert kilobytes < 300 * 1024
    assert opened == 0
    # The reports of ONNX Runtime, which goes to the network behind Python's back, begin here.
    assert list(tmp_path.rglob("*")) == []
