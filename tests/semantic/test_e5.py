"""multilingual-e5-small as it is prepared gives the vectors of its weights, bit for bit."""

from proxy.semantic import e5 as converter
from proxy.semantic.encoder import OnnxEncoder
from proxy.semantic.models import E5
from proxy.semantic.word_table import WordTable
from tests.fakes.models import prepared_models
from tests.semantic import reference
from tests.semantic.reference import ids

TEXTS = ["Where do I find the serial number of my printer?", "打印机的序列号在哪里？", "х"]


def test_vectors_are_those_of_plain_numpy(e5: OnnxEncoder) -> None:
    source = E5.directory()
    assert source is not None
    weights = converter.weights(source)
    words = WordTable(prepared_models() / E5.name / "words.npy")
    assert len(words) == 250_037
    for text in TEXTS:
        expected = reference.encode(words[ids(e5.tokenize(text).ids)], weights)
        assert reference.similarity(e5.encode([text])[0], expected) > 0.9995
