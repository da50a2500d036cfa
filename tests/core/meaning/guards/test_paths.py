import pytest

from proxy.core.meaning.guards import paths
from proxy.core.meaning.text import Objection, Pair, Text

EQUAL = [
    ("open /etc/hosts", "edit /etc/hosts"),
    ("https://example.com/", "http://www.example.com"),
    ("a .csv file", "a csv file"),
    ("mail bob@example.com", "write to BOB@example.com."),
    ("main.py", "run main.py"),
    ("and/or", "and or"),
    ("24/7", "all day"),
    ("km/h", "kmh"),
    ("C:\\Windows", "c:\\windows"),
    ("e.g. this", "eg this"),
    ("Hello.How are you", "Hello. How are you"),
    ("his/her", "their"),
    ("style.css", "edit style.css"),
    ("see https://example.com/a.", "visit https://example.com/a"),
    ("read README.md", "where is readme.md"),
    ("/usr/local/bin", "in /usr/local/bin?"),
    (".NET framework", "dot net framework .NET"),
    ("查看 /var/log 目录", "/var/log 目录怎么看"),
]

DIFFERENT = [
    ("/etc/hosts", "/etc/passwd", "/etc/hosts", "/etc/passwd"),
    ("a .csv file", "a .tsv file", ".csv", ".tsv"),
    ("https://a.com/x", "https://a.com/y", "https://a.com/x", "https://a.com/y"),
    ("bob@example.com", "rob@example.com", "bob@example.com", "rob@example.com"),
    ("main.py", "main.js", "main.py", "main.js"),
    ("~/.bashrc", "~/.zshrc", "~/.bashrc", "~/.zshrc"),
    ("C:\\Windows", "C:\\Users", "C:\\Windows", "C:\\Users"),
    ("open data.json", "open data.xml", "data.json", "data.xml"),
    ("google.com", "bing.com", "google.com", "bing.com"),
    ("./run.sh", "./stop.sh", "./run.sh", "./stop.sh"),
    ("index.html", "index.php", "index.html", "index.php"),
    ("config.yaml", "config.toml", "config.yaml", "config.toml"),
    ("/api/v1/users", "/api/v1/orders", "/api/v1/users", "/api/v1/orders"),
]


def compare(stored: str, asked: str) -> Objection | None:
    return paths.compare(Pair(Text(stored), Text(asked)))


@pytest.mark.parametrize(("stored", "asked"), EQUAL)
def test_what_is_the_same_is_no_objection(stored: str, asked: str) -> None:
    assert compare(stored, asked) is None
    assert compare(asked, stored) is None


@pytest.mark.parametrize(("stored", "asked", "mine", "yours"), DIFFERENT)
def test_an_objection_names_the_two_pieces(stored: str, asked: str, mine: str, yours: str) -> None:
    assert compare(stored, asked) == Objection(paths.NAME, mine, yours)


@pytest.mark.parametrize(("stored", "asked"), [pair[:2] for pair in DIFFERENT])
def test_an_objection_stands_whichever_was_asked_first(stored: str, asked: str) -> None:
    assert compare(asked, stored) is not None


@pytest.mark.parametrize("text", [text for pair in DIFFERENT for text in pair[:2]])
def test_no_text_differs_from_itself(text: str) -> None:
    assert compare(text, text) is None
