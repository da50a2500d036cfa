import math

import pytest

from proxy.core.wire import payload


def test_forgiving_reading_takes_what_clients_take() -> None:
    assert payload.read('{"a": "\\ud83d"}') == {"a": "\ud83d"}
    assert payload.read("12345678901234567890123") in (
        12345678901234567890123,
        1.2345678901234568e22,
    )
    number = payload.read("-Infinity")
    assert isinstance(number, float)
    assert math.isinf(number)


def test_what_stands_in_a_string_is_no_nesting() -> None:
    text = "[" * 3000 + '\\"' + "{" * 3000
    read = payload.read(f'["{text}", NaN]')
    assert isinstance(read, list)
    assert read[0] == text.replace("\\", "")


@pytest.mark.parametrize("text", ["", "{", "ping", "[" * 3000 + "]" * 3000])
def test_what_nobody_can_read_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        payload.read(text)


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 12345678901234567890123}',
        '{"a": [1, -9223372036854775809]}',
        '{"a": NaN}',
        '{"a": "\\ud83d"}',
        '{"a": "\udcff"}',
        "{",
    ],
)
def test_exact_reading_refuses_what_could_not_be_written_again(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        payload.read_exactly(text)


@pytest.mark.parametrize(
    "text", ['{"a":123456789012345678}', '{"a":-0.02301025390625}', '{"答":["é",null,1e+22]}']
)
def test_exact_reading_and_writing_give_the_same_text(text: str) -> None:
    assert payload.write(payload.read_exactly(text)) == text.encode()


def test_a_value_too_deep_to_write_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="imit"):
        payload.write(payload.read_exactly("[" * 500 + "]" * 500))
