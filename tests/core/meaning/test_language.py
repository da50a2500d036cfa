import pytest

from proxy.core.meaning.language import Language, are_both, language_of
from proxy.core.meaning.text import Pair, Text


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Where do swallows spend the winter?", Language.EN),
        ("python sort dict", Language.EN),
        ("hello", Language.EN),
        ("naïve café owner", Language.EN),
        ("São Paulo hotels", Language.EN),
        ("Beyoncé songs", Language.EN),
        ("die hard film", Language.EN),
        ("how do I say ich liebe dich", Language.EN),
        ("What does 你好 mean?", Language.EN),
        ("Rio de Janeiro beaches", Language.EN),
        ("燕子在哪里过冬", Language.ZH),
        ("什么是API", Language.ZH),
        ("Apple公司", Language.ZH),
        ("用Python写hello world", Language.ZH),
        ("日语の怎么读", Language.ZH),
        ("手機怎麼關機", Language.ZH),
        ("Wo überwintern die Schwalben?", Language.OTHER),
        ("wie backe ich brot", Language.OTHER),
        ("Où vont les hirondelles en hiver ?", Language.OTHER),
        ("comment faire du pain", Language.OTHER),
        ("¿Dónde pasan el invierno las golondrinas?", Language.OTHER),
        ("Onde as andorinhas passam o inverno?", Language.OTHER),
        ("Dove svernano le rondini? Spiega in breve", Language.OTHER),
        ("waar brengen zwaluwen de winter door en hoe lang", Language.OTHER),
        ("hur gör man bröd", Language.OTHER),
        ("jak upiec chleb w domu", Language.OTHER),
        ("ekmek nasıl yapılır", Language.OTHER),
        ("bagaimana cara membuat roti", Language.OTHER),
        ("làm bánh mì như thế nào", Language.OTHER),
        ("ツバメはどこで冬を越しますか", Language.OTHER),
        ("渡り鳥の種類", Language.OTHER),
        ("제비는 어디에서 겨울을 나나요", Language.OTHER),
        ("Где зимуют ласточки?", Language.OTHER),
        ("أين تقضي السنونو الشتاء", Language.OTHER),
        ("12 + 5 = ?", Language.UNKNOWN),
        ("", Language.UNKNOWN),
    ],
)
def test_language_is_told_by_script_and_small_words(text: str, language: Language) -> None:
    assert language_of(Text(text)) is language


def test_a_pair_is_in_a_language_if_both_texts_are() -> None:
    assert are_both(Pair(Text("Where is it?"), Text("What is that?")), Language.EN)
    assert not are_both(Pair(Text("Where is it?"), Text("它在哪里")), Language.EN)
    assert not are_both(Pair(Text("Where is it?"), Text("它在哪里")), Language.ZH)
