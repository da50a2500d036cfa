import pytest

from proxy.core.meaning.guards import names
from proxy.core.meaning.text import Objection, Pair, Text

EQUAL = [
    ("ferries to London", "ferries to london"),
    ("the USA", "the United States"),
    ("NYC hotels", "New York hotels"),
    ("Kubernetes pods", "k8s pods"),
    ("How Do I Prune Roses", "how do i prune roses"),
    ("Why an FTP 530 error?", "Reasons for error 530"),
    ("French food", "food of France"),
    ("重庆市火锅", "重庆火锅"),
    ("月亮多大", "月球多大"),
    ("什么是API", "什么是api"),
    ("machine learning", "ML"),
    ("Tell me about ML", "Tell me about machine learning"),
    ("WHY IS IT SO", "why is it so"),
    ("may I ask who it is", "may i ask WHO it is"),
    ("Google's price", "price of Google"),
    ("iPhones", "iphone"),
    ("Akira Kurosowa film", "Akira Kurosawa film"),
    ("JS closures", "javascript closures"),
    ("Please Help", "help"),
    ("I want to chase him", "i want to chase him"),
    ("中国的海岛", "我国的海岛"),
    ("工行", "工商银行"),
    ("Postgres", "PostgreSQL"),
    ("a vitamin", "the vitamin"),
    ("10 USD", "10 usd"),
    ("Googling it", "google it"),
    ("Czech Republic", "Czechia"),
    ("iPhone怎么关机", "苹果手机怎么关机"),
    ("Somatran coffee", "coffee from Somatra"),
    ("wise words", "words wise"),
    ("it is us", "us it is"),
    ("Zürich", "zürich"),
    ("McDonalds menu", "menu of McDonald's"),
    ("I May Ask Anna", "i may ask anna"),
]

DIFFERENT = [
    ("ferries to London", "ferries to naples", "London", "naples"),
    ("Tesla stock", "SpaceX stock", "Tesla", "SpaceX"),
    ("in Python", "in Java", "Python", "Java"),
    ("大连海鲜", "青岛海鲜", "大连", "青岛"),
    ("农业银行网点", "交通银行网点", "农业银行", "交通银行"),
    ("苏轼", "陆游", "苏轼", "陆游"),
    ("用Django建", "用Flask建", "Django", "Flask"),
    ("Java类", "JavaScript类", "Java", "JavaScript"),
    ("微信支付", "支付宝", "微信支付", "支付宝"),
    ("Call Emma", "Call Laura", "Emma", "Laura"),
    ("the dose of ibuprofen", "the dose of paracetamol", "ibuprofen", "paracetamol"),
    ("an ACH form", "a SEPA form", "ACH", "SEPA"),
    ("when Robert Lane left", "when Sarah Lane left", "Robert", "Sarah"),
    (
        "Who founded Acmecorp and why did Zorblax sue",
        "Who founded Initech and why did Zorblax sue",
        "Acmecorp",
        "Initech",
    ),
    ("keyboard on iPhone", "keyboard on Android", "iPhone", "Android"),
    ("AWS pricing", "GCP pricing", "AWS", "GCP"),
    ("希腊的海岛", "土耳其的海岛", "希腊", "土耳其"),
    ("beaches of Australia", "beaches of Austria", "Australia", "Austria"),
    ("best phone in India", "best phone", "India", ""),
    ("那里几点", "那里悉尼几点", "", "悉尼"),
    ("学上海话", "学东北话", "上海话", "东北话"),
    ("WHO rules", "UN rules", "WHO", "UN"),
    ("荣耀耳机", "小米耳机", "荣耀", "小米"),
    ("visa for the US", "visa for the UK", "US", "UK"),
    ("qq头像", "微信头像", "qq", "微信"),
    ("水浒传", "三国演义", "水浒传", "三国演义"),
    ("vitamin C", "vitamin D", "C", "D"),
    ("USD to EUR", "USD to GBP", "EUR", "GBP"),
    ("C# code", "Java code", "C#", "Java"),
    ("jpg to png", "jpg to pdf", "png", "pdf"),
    ("Zara coat", "H&M coat", "Zara", "H&M"),
    ("in Leeds", "in York", "Leeds", "York"),
]


def compare(stored: str, asked: str) -> Objection | None:
    return names.compare(Pair(Text(stored), Text(asked)))


@pytest.mark.parametrize(("stored", "asked"), EQUAL)
def test_what_is_the_same_is_no_objection(stored: str, asked: str) -> None:
    assert compare(stored, asked) is None
    assert compare(asked, stored) is None


@pytest.mark.parametrize(("stored", "asked", "mine", "yours"), DIFFERENT)
def test_an_objection_names_the_two_pieces(stored: str, asked: str, mine: str, yours: str) -> None:
    assert compare(stored, asked) == Objection(names.NAME, mine, yours)


@pytest.mark.parametrize(("stored", "asked"), [pair[:2] for pair in DIFFERENT])
def test_an_objection_stands_whichever_was_asked_first(stored: str, asked: str) -> None:
    assert compare(asked, stored) is not None


@pytest.mark.parametrize("text", [text for pair in DIFFERENT for text in pair[:2]])
def test_no_text_differs_from_itself(text: str) -> None:
    assert compare(text, text) is None


def test_a_name_does_not_tell_english_texts_apart_that_have_little_in_common() -> None:
    assert compare("Why did old Brondo sell the mill?", "What became of the Quill harbour?") is None
    assert compare("Where is Oslo and what is it like in May?", "quick dinners in Rome") is not None


def test_where_the_asker_is_goes_without_saying() -> None:
    assert compare("我国最长的桥", "最长的桥") is None
