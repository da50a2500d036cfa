import pytest

from proxy.core.wire.operation import Operation, Question, discover


def find(path: str) -> Operation:
    """The first operation that a path belongs to, as the proxy looks it up."""
    return next(one for one in discover() if path.endswith(one.suffixes))


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/v1/chat/completions", "chat"),
        ("/chat/completions", "chat"),
        ("/openai/deployments/d/chat/completions", "chat"),
        ("/v1/completions", "text_completion"),
    ],
)
def test_a_path_belongs_to_the_operation_with_the_longest_suffix(path: str, name: str) -> None:
    assert find(path).name == name


def test_operations_have_distinct_names_and_suffixes() -> None:
    operations = discover()
    suffixes = [suffix for one in operations for suffix in one.suffixes]
    assert len({one.name for one in operations}) == len(operations)
    assert len(set(suffixes)) == len(suffixes)


@pytest.mark.parametrize("operation", discover(), ids=lambda operation: str(operation.name))
def test_what_asks_the_question_is_never_ignored(operation: Operation) -> None:
    assert operation.input_fields
    assert not operation.input_fields & operation.ignored_fields


@pytest.mark.parametrize("operation", discover(), ids=lambda operation: str(operation.name))
def test_an_empty_body_document_or_stream_raises_nothing(operation: Operation) -> None:
    assert operation.read({}) is None
    assert operation.describe_document({}).finish_reasons == ()
    assert operation.describe_stream(b"").is_empty
    assert operation.to_document([]) is None
    assert operation.to_stream({}, include_usage=False) is None
    assert operation.without_usage([]) in (b"", None)


@pytest.mark.parametrize(
    ("value", "expected"),
    [(True, True), (False, False), (None, False), (1, False), ("true", False)],
)
def test_usage_is_asked_for_by_true_only(value: bool | str | int | None, expected: bool) -> None:
    question = Question("m1", True, {"include_usage": value}, (), "Q")
    assert question.include_usage is expected
    assert Question("m1", True, {}, (), "Q").include_usage is False
