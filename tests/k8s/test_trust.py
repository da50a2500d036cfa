"""Whom the API server is to trust, and what may be served before it does."""

import pytest

from proxy.k8s.certificates import Authority, Leaf, bundle, issue, service_names
from proxy.k8s.cluster import Json, decoded, encoded
from proxy.k8s.trust import SETTLE_SECONDS, Trust, patch_for, trusted_by
from tests.k8s.certificates import issued

NOW = 1_760_000_000.0
NAMES = service_names("injector", "reprise")
LONG = 10 * SETTLE_SECONDS


def configuration(*bundles: bytes | None) -> Json:
    return {
        "metadata": {"name": "injector", "resourceVersion": "7"},
        "webhooks": [
            {
                "name": f"webhook-{at}",
                "clientConfig": {} if pem is None else {"caBundle": encoded(pem)},
            }
            for at, pem in enumerate(bundles)
        ],
    }


def patched(before: Json, *wanted: Authority, now: float = NOW) -> list[bytes]:
    """The bundle of each webhook in a patch."""
    patch = patch_for(before, wanted, now)
    assert patch is not None
    assert patch["metadata"] == {"resourceVersion": "7"}
    assert [one["name"] for one in patch["webhooks"]] == [one["name"] for one in before["webhooks"]]
    return [decoded(one["clientConfig"]["caBundle"]) for one in patch["webhooks"]]


@pytest.fixture(scope="module")
def old() -> Leaf:
    return issue(NAMES, NOW - LONG)


@pytest.fixture(scope="module")
def new() -> Leaf:
    return issue(NAMES, NOW)


def test_each_webhook_is_given_the_wanted_ones(old: Leaf) -> None:
    before = configuration(None, b"", b"rubbish")
    assert patched(before, old.authority) == [old.authority.pem] * 3


def test_where_all_is_as_it_should_be_nothing_is_patched(old: Leaf, new: Leaf) -> None:
    pem = bundle((old.authority, new.authority))
    assert patch_for(configuration(pem, pem), (new.authority,), NOW) is None
    assert patch_for(configuration(), (new.authority,), NOW) is None
    assert patch_for({"metadata": {}, "webhooks": None}, (new.authority,), NOW) is None


def test_others_of_ours_stay_until_they_have_ended(old: Leaf, new: Leaf) -> None:
    before = configuration(old.authority.pem, b"")
    both = bundle((old.authority, new.authority))
    assert patched(before, new.authority) == [both, both]
    late = old.not_after
    assert patched(before, new.authority, now=late) == [new.authority.pem] * 2


def test_strangers_do_not_stay(new: Leaf) -> None:
    stranger = issued().authority.cert_pem.bytes()
    assert patched(configuration(stranger), new.authority) == [new.authority.pem]


def test_only_he_is_trusted_whom_all_webhooks_trust(old: Leaf, new: Leaf) -> None:
    both = bundle((old.authority, new.authority))
    assert set(trusted_by(configuration(both, both), NOW)) == {
        old.authority.digest,
        new.authority.digest,
    }
    assert set(trusted_by(configuration(both, old.authority.pem), NOW)) == {old.authority.digest}
    assert not trusted_by(configuration(both, None), NOW)
    assert not trusted_by(configuration(), NOW)
    assert not trusted_by(configuration(both), max(old.not_after, new.not_after))


def test_at_the_first_look_who_is_old_is_settled_and_who_is_new_is_not(
    old: Leaf, new: Leaf
) -> None:
    trust = Trust()
    trust.saw((old.authority, new.authority), now=NOW + 1, monotonic=5.0)
    assert trust.is_settled(old)
    assert not trust.is_settled(new)
    assert trust.choose((new, old), None, NOW + 1) is old


def test_who_comes_later_settles_from_then_on(old: Leaf) -> None:
    trust = Trust()
    trust.saw((), now=NOW, monotonic=0.0)
    for monotonic in (1.0, 50.0, SETTLE_SECONDS, 1.0 + SETTLE_SECONDS):
        assert not trust.is_settled(old)
        trust.saw((old.authority,), now=NOW, monotonic=monotonic)
    assert trust.is_settled(old)


def test_who_was_away_settles_anew(old: Leaf) -> None:
    trust = Trust()
    trust.saw((old.authority,), now=NOW, monotonic=0.0)
    trust.saw((), now=NOW, monotonic=1.0)
    assert not trust.has(old)
    trust.saw((old.authority,), now=NOW, monotonic=2.0)
    assert trust.has(old)
    assert not trust.is_settled(old)


def test_the_newest_is_served_once_it_is_settled(old: Leaf, new: Leaf) -> None:
    trust = Trust()
    trust.saw((old.authority,), now=NOW, monotonic=0.0)
    assert trust.choose((new, old), old, NOW) is old
    trust.saw((old.authority, new.authority), now=NOW, monotonic=1.0)
    assert trust.choose((new, old), old, NOW) is old
    trust.saw((old.authority, new.authority), now=NOW, monotonic=1.0 + SETTLE_SECONDS)
    assert trust.choose((new, old), old, NOW) is new


def test_what_is_served_stays_while_nothing_is_settled(old: Leaf, new: Leaf) -> None:
    trust = Trust()
    assert trust.choose((new, old), new, NOW) is new
    trust.saw((), now=NOW, monotonic=0.0)
    assert trust.choose((new, old), new, NOW) is new


def test_in_place_of_what_has_ended_the_newest_trusted_one_is_served(old: Leaf, new: Leaf) -> None:
    trust = Trust()
    trust.saw((), now=NOW, monotonic=0.0)
    late = old.not_after
    assert trust.choose((new,), old, late) is old
    trust.saw((new.authority,), now=late, monotonic=0.0)
    assert trust.choose((new,), old, late) is new


def test_nothing_is_served_before_it_is_trusted(new: Leaf) -> None:
    trust = Trust()
    assert trust.choose((new,), None, NOW) is None
    trust.saw((), now=NOW, monotonic=0.0)
    assert trust.choose((new,), None, NOW) is None
    trust.saw((new.authority,), now=NOW, monotonic=0.0)
    assert trust.choose((new,), None, NOW) is new
