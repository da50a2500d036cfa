from proxy.core.meaning.uncompared import NotCompared, Uncompared


def test_a_refusal_tells_its_reason() -> None:
    refused = NotCompared(Uncompared.TOO_LONG)
    assert refused.reason is Uncompared.TOO_LONG
    assert str(refused) == "too-long"


def test_every_reason_has_a_name_of_its_own_for_log_and_metrics() -> None:
    assert all(reason == reason.lower() and " " not in reason for reason in Uncompared)
