"""The script of a text decides which encoder reads it."""

import pytest

from proxy.core.meaning.script import Script, script_of
from tests.effort import grows_linearly


@pytest.mark.parametrize(
    ("text", "script"),
    [
        ("How do I get my money back?", Script.LATIN),
        ("Où est la gare de Łódź?", Script.LATIN),
        ("Ｗｈａｔ　ｎｏｗ", Script.LATIN),
        ("3 km in 12 min?", Script.LATIN),
        ("怎么申请退款", Script.HAN),
        ("我的iPhone 15 Pro Max无法连接WiFi", Script.HAN),
        ("What does 谢谢 mean?", Script.HAN),
        ("How is 好 pronounced in Mandarin", Script.HAN),
        ("東京の天気はどうですか", Script.KANA),
        ("メール", Script.KANA),
        ("ｶﾅ", Script.KANA),
        ("오늘 날씨 어때요", Script.HANGUL),
        ("Как вернуть iPhone?", Script.CYRILLIC),
        ("Πού είναι η στάση;", Script.GREEK),
        ("How large is π?", Script.GREEK),
        ("كيف حالك", Script.ARABIC),
        ("מה השעה", Script.HEBREW),
        ("मौसम कैसा है", Script.INDIC),
        ("வணக்கம்", Script.INDIC),
        ("อากาศเป็นอย่างไร", Script.THAI),
        ("ሰላም", Script.OTHER),
        ("", Script.NONE),
        ("12 + 30 = ?", Script.NONE),
        ("👍🎉", Script.NONE),
        ("。！？", Script.NONE),
        ("\ud800", Script.NONE),
    ],
)
def test_script_is_told(text: str, script: Script) -> None:
    assert script_of(text) is script


def test_trivial_share_of_foreign_letters_changes_nothing() -> None:
    english = "Please explain how the letter is drawn and where it comes from, step by step. "
    assert script_of(english + "π") is Script.LATIN
    assert script_of(english + "永字八法") is Script.HAN


def test_most_frequent_of_several_foreign_scripts_decides() -> None:
    assert script_of("Москва 北 Киев") is Script.CYRILLIC
    assert script_of("北京市 Киев".replace("Киев", "К")) is Script.HAN


def test_long_texts_take_linear_time() -> None:
    assert script_of("a怎b么 " * 20_000) is Script.HAN
    assert grows_linearly(lambda size: script_of("a怎b么 " * size), 2500)


def test_every_script_but_two_has_its_letters() -> None:
    letters = ["a", "怎", "あ", "한", "ж", "λ", "ع", "ש", "अ", "ก", "ሰ"]
    assert [script_of(letter) for letter in letters] == [
        script for script in Script if script is not Script.NONE
    ]
