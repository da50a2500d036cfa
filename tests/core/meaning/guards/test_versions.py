import pytest

from proxy.core.meaning.guards import versions
from proxy.core.meaning.text import Objection, Pair, Text

EQUAL = [
    ("Python 3.10", "python 3.10"),
    ("Python3.10", "Python 3.10"),
    ("v2.1.3", "version 2.1.3"),
    ("ES6", "es 6"),
    ("mp3 player", "MP3 player"),
    ("5km", "5 km"),
    ("3.5 hours", "3.50 hours"),
    ("iPhone 14 Pro", "iphone14pro"),
    ("10th", "10th"),
    ("GPT-4o", "gpt 4o"),
    ("2FA", "two-factor"),
    ("Windows 10", "Windows10"),
    ("16GB", "16 GB"),
    ("premium ticket", "account"),
    ("Java 17", "java17"),
    ("Ubuntu 22.04 LTS", "ubuntu 22.04 lts"),
    ("Node.js 18.2", "nodejs 18.2"),
    ("price 2.50", "price 2.5"),
    ("2024.5.1", "2024-05-01"),
    ("gold card", "card"),
    ("鸿蒙4.0", "鸿蒙 4.0"),
    ("covid19", "covid-19"),
]

DIFFERENT = [
    ("Python 3.10", "Python 3.1", "3.10", "3.1"),
    ("Python 3.10", "Python 3.11", "3.10", "3.11"),
    ("v1.2.3", "v1.2.4", "v1.2.3", "v1.2.4"),
    ("GPT-4", "GPT-4o", "", "4o"),
    ("iPhone 14", "iPhone 14 Pro", "", "Pro"),
    ("iPhone 14 Pro", "iPhone 14 Pro Max", "", "Max"),
    ("MP3", "MP4", "MP3", "MP4"),
    ("ES6", "ES7", "ES6", "ES7"),
    ("x86", "x64", "x86", "x64"),
    ("H2O", "H2O2", "H2O", "H2O2"),
    ("TR-1904", "TR-1904A", "", "1904A"),
    ("RTX 3080", "RTX 3080Ti", "", "Ti"),
    ("小米10", "小米10青春版", "", "青春版"),
    ("premium ticket", "basic ticket", "premium", "basic"),
    ("192.168.0.1", "192.168.0.2", "192.168.0.1", "192.168.0.2"),
    ("iPhone 6s", "iPhone 6", "s", ""),
    ("4G", "5G", "4G", "5G"),
    ("Node 18.2", "Node 18.3", "18.2", "18.3"),
    ("A4 paper", "A5 paper", "A4", "A5"),
    ("B12", "B6", "B12", "B6"),
    ("Ubuntu 22.04", "Ubuntu 24.04", "22.04", "24.04"),
    ("gold card", "platinum card", "gold", "platinum"),
    ("二等座退票", "一等座退票", "二等座", "一等座"),
]


def compare(stored: str, asked: str) -> Objection | None:
    return versions.compare(Pair(Text(stored), Text(asked)))


@pytest.mark.parametrize(("stored", "asked"), EQUAL)
def test_what_is_the_same_is_no_objection(stored: str, asked: str) -> None:
    assert compare(stored, asked) is None
    assert compare(asked, stored) is None


@pytest.mark.parametrize(("stored", "asked", "mine", "yours"), DIFFERENT)
def test_an_objection_names_the_two_pieces(stored: str, asked: str, mine: str, yours: str) -> None:
    assert compare(stored, asked) == Objection(versions.NAME, mine, yours)


@pytest.mark.parametrize(("stored", "asked"), [pair[:2] for pair in DIFFERENT])
def test_an_objection_stands_whichever_was_asked_first(stored: str, asked: str) -> None:
    assert compare(asked, stored) is not None


@pytest.mark.parametrize("text", [text for pair in DIFFERENT for text in pair[:2]])
def test_no_text_differs_from_itself(text: str) -> None:
    assert compare(text, text) is None
