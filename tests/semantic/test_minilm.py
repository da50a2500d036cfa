"""all-MiniLM-L6-v2 as it is prepared gives the vectors of its weights."""

from proxy.semantic import minilm as converter
from proxy.semantic.encoder import OnnxEncoder
from proxy.semantic.models import MINILM
from proxy.semantic.word_table import WordTable
from tests.fakes.models import prepared_models
from tests.semantic import reference
from tests.semantic.reference import ids

TEXTS = [
    "Where do I find the serial number of my printer?",
    "x",
    "Both the red and the blue lamp blink three times; then nothing happens any more.",
]


def test_vectors_are_those_of_plain_numpy(minilm: OnnxEncoder) -> None:
    source = MINILM.directory()
    assert source is not None
    weights = converter.weights(source)
    words = WordTable(prepared_models() / MINILM.name / "words.npy")
    for text in TEXTS:
        expected = reference.encode(words[ids(minilm.tokenize(text).ids)], weights)
        assert reference.similarity(minilm.encode([text])[0], expected) > 0.999
