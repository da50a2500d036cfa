import pytest

from proxy.core.cache.selector import PurgeOrder, Selector, read
from proxy.core.cache.value import tenant_name
from tests.core.values import stored_response

STORED = stored_response(model="qwen3-8b", namespace="nightly", tags=("faq", "中文", "product-[1]"))


@pytest.mark.parametrize(
    ("selector", "selects"),
    [
        (Selector(), True),
        (Selector(model="qwen3-8b"), True),
        (Selector(model="qwen*"), True),
        (Selector(model="qwen"), False),
        (Selector(model="Qwen*"), False),
        (Selector(tenant=tenant_name(STORED.tenant)), True),
        (Selector(tenant=STORED.tenant.hex()), False),
        (Selector(tag="中文"), True),
        (Selector(tag="fa"), False),
        (Selector(tag="fa*"), True),
        (Selector(tag="*文"), True),
        (Selector(tag="FA*"), False),
        (Selector(tag="product-[1]"), True),
        (Selector(tag="product-?1?"), True),
        (Selector(namespace="nightly"), True),
        (Selector(namespace="night*"), True),
        (Selector(namespace="night"), False),
        (Selector(entry=STORED.id), True),
        (Selector(entry=STORED.id[:-1]), False),
        (Selector(model="qwen*", tag="faq", namespace="nightly"), True),
        (Selector(model="qwen*", tag="faq", namespace="daily"), False),
    ],
)
def test_a_selector_is_about_what_agrees_in_every_member(selector: Selector, selects: bool) -> None:
    assert selector.selects(STORED) is selects


@pytest.mark.parametrize(
    ("body", "selector"),
    [
        ({"all": True}, Selector()),
        ({"all": True, "soft": True}, Selector()),
        ({"model": "m*"}, Selector(model="m*")),
        ({"model": "m", "all": False}, Selector(model="m")),
        (
            {"tenant": "a", "tag": "b", "namespace": "c", "soft": False},
            Selector(tenant="a", tag="b", namespace="c"),
        ),
    ],
)
def test_a_purge_says_what_it_is_about(body: dict[str, object], selector: Selector) -> None:
    assert read(body) == PurgeOrder(selector, body.get("soft") is True, False, False)


def test_a_purge_says_what_is_to_be_done() -> None:
    order = read({"tag": "a-*", "dry_run": True, "forward": True})
    assert order == PurgeOrder(Selector(tag="a-*"), soft=False, dry_run=True, forward=True)


@pytest.mark.parametrize(
    ("body", "flaw"),
    [
        ({}, "say either"),
        ({"soft": True}, "say either"),
        ({"all": False}, "say either"),
        ({"all": True, "model": "m"}, "say either"),
        ({"all": 1}, "all must be"),
        ({"all": "yes", "model": "m"}, "all must be"),
        ({"all": True, "soft": "yes"}, "soft must be"),
        ({"all": True, "soft": None}, "soft must be"),
        ({"all": True, "dry_run": 1}, "dry_run must be"),
        ({"all": True, "forward": "yes"}, "forward must be"),
        ({"dry_run": True}, "say either"),
        ({"model": ""}, "model must be"),
        ({"tag": ["a"]}, "tag must be"),
        ({"tenant": None}, "tenant must be"),
        ({"mode": "m"}, "unknown member 'mode'"),
        ({"entry": "e", "all": True}, "unknown member 'entry'"),
    ],
)
def test_a_purge_that_is_unclear_is_refused(body: dict[str, object], flaw: str) -> None:
    with pytest.raises(ValueError, match=flaw):
        read(body)
