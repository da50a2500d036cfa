"""The URL of an upstream."""

import pytest

from proxy.core.upstream_url import BadUpstreamUrl, normalized


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("http://127.0.0.1:11434", "http://127.0.0.1:11434"),
        ("HTTPS://LLM.Example.org/API/", "https://llm.example.org/API"),
        ("http://[::1]:80/v1", "http://[::1]:80/v1"),
    ],
)
def test_it_has_one_notation(text: str, url: str) -> None:
    assert normalized(text) == url
    assert normalized(url) == url


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("llm:8000", "begins with http"),
        ("", "begins with http"),
        ("http://", "is not a URL"),
        ("http://h:x", "is not a URL"),
        ("http://h:0", "is not a URL"),
        ("http://h\n", "is not a URL"),
        ("http://me:secret@h", "no user name"),
        ("http://h/?a", "no query"),
        ("http://h/a b", "no spaces"),
    ],
)
def test_what_is_none_is_told_without_the_text(text: str, message: str) -> None:
    with pytest.raises(BadUpstreamUrl, match=message) as caught:
        normalized(text)
    assert caught.value.remedy
    assert "secret" not in str(caught.value)
