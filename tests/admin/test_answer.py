"""What the admin listener's answers have in common."""

import pytest
from aiohttp.test_utils import make_mocked_request

from proxy.admin.answer import error_answer, json_answer, limit_of


def test_a_lone_surrogate_is_told_as_an_escape() -> None:
    assert json_answer({"a": "\ud800"}).body == b'{"a": "\\ud800"}'


def test_an_error_is_an_object() -> None:
    answer = error_answer(404, "There is no such entry.")
    assert (answer.status, answer.body) == (404, b'{"error":{"message":"There is no such entry."}}')


@pytest.mark.parametrize(
    ("query", "limit"),
    [
        ("", 20),
        ("?limit=0", 0),
        ("?limit=1000", 1000),
        *((f"?limit={text}", None) for text in ("1001", "x", "-1", "99999999999", "²")),
    ],
)
def test_a_limit_is_a_whole_number_within_bounds(query: str, limit: int | None) -> None:
    assert limit_of(make_mocked_request("GET", f"/{query}")) == limit
