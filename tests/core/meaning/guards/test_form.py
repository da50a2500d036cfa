import pytest

from proxy.core.meaning.guards import form
from proxy.core.meaning.text import Objection, Pair, Text

EQUAL = [
    ("Summarise this chapter", "Please summarize this chapter"),
    ("Rewrite my toast for a wedding", "Rephrase my toast for a wedding"),
    ("Explain tides briefly", "Explain tides in brief"),
    ("Where is the best French food?", "Where's the best food from a French cook?"),
    ("How do I send an email?", "How can I send emails?"),
    ("a table for two, please", "I'd like a table for two"),
    ("Show the planets in a table", "the planets as a table"),
    ("Say thanks in French", "How do I say thanks in French?"),
    ("List the moons of Saturn", "What are the moons of Saturn?"),
    ("How is the review process going?", "How's the review process?"),
    ("用法语怎么说谢谢", "谢谢用法文怎么讲"),
    ("总结这一章", "概括一下这一章"),
    ("用表格列出书名", "列表格列出书名"),
    ("解释一下潮汐", "潮汐是什么"),
    ("微信怎么换头像", "怎么换微信头像"),
]

DIFFERENT = [
    ("Show the planets in a table", "Show the planets as bullet points", "in a table",
     "as bullet points"),
    ("Explain tides", "Explain tides in one sentence", "", "one sentence"),
    ("Explain tides briefly", "Explain tides in detail", "briefly", "in detail"),
    ("Say thanks in French", "Say thanks in Danish", "French", "Danish"),
    ("Translate this speech", "Summarise this speech", "Translate", "Summarise"),
    ("Proofread my note", "Shorten my note", "Proofread", "Shorten"),
    ("Sort a list in Python", "Sort a list in Java", "Python", "Java"),
    ("Return the weather as JSON", "Return the weather as CSV", "as JSON", "as CSV"),
    ("Fix a tap step by step", "Fix a tap", "step by step", ""),
    ("Write a poem on autumn", "Write an essay on autumn", "Write a poem", "Write an essay"),
    ("Explain bonds in simple terms", "Explain bonds", "in simple terms", ""),
    ("Debug this loop", "Refactor this loop", "Debug", "Refactor"),
    ("用一句话介绍潮汐", "详细介绍潮汐", "用一句话", "详细介绍"),
    ("用上海话说谢谢", "用闽南语说谢谢", "上海话", "闽南语"),
    ("翻译这段话", "总结这段话", "翻译", "总结"),
    ("用日语写自我介绍", "用韩语写自我介绍", "日语", "韩语"),
    ("写一首诗送给老师", "写一封信送给老师", "一首诗", "一封信"),
    ("用表格列出书名", "列出书名", "用表格", ""),
    ("一步一步教我折纸", "教我折纸", "一步一步", ""),
]  # fmt: skip


@pytest.mark.parametrize(("stored", "asked"), EQUAL)
def test_the_same_form_is_let_through(stored: str, asked: str) -> None:
    assert form.compare(Pair(Text(stored), Text(asked))) is None
    assert form.compare(Pair(Text(asked), Text(stored))) is None


@pytest.mark.parametrize(("stored", "asked", "here", "there"), DIFFERENT)
def test_another_form_is_refused(stored: str, asked: str, here: str, there: str) -> None:
    first, second = Text(stored), Text(asked)
    assert form.compare(Pair(first, second)) == Objection("form", here, there)
    assert form.compare(Pair(second, first)) == Objection("form", there, here)


@pytest.mark.parametrize("text", [side for pair in DIFFERENT for side in pair[:2]])
def test_a_text_asks_for_its_own_form(text: str) -> None:
    assert form.compare(Pair(Text(text), Text(text))) is None
