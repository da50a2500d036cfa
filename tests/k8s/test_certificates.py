"""The injector's own certificates, held against OpenSSL's strictest verification."""

import ssl
from itertools import pairwise

import pytest

from proxy.k8s.certificates import (
    AUTHORITIES,
    BACKDATED_SECONDS,
    CHAIN,
    DAY,
    KEY,
    MOST_AUTHORITIES,
    PREVIOUS_CHAIN,
    PREVIOUS_KEY,
    RENEW_SECONDS,
    VALID_SECONDS,
    Holding,
    authorities_in,
    bundle,
    held,
    issue,
    renewed,
    service_names,
    united,
    wants_renewal,
)
from tests.k8s.certificates import NAME, issued
from tests.k8s.handshakes import verify

NOW = 1_760_000_000.0
NAMES = service_names("reprise-injector", "reprise")
NOTHING = Holding((), ())


def made(now: float = NOW, before: Holding = NOTHING) -> Holding:
    return renewed(before, NAMES, now)


def test_names_are_those_by_which_the_api_server_calls() -> None:
    assert (NAME, f"{NAME}.cluster.local") == NAMES


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
@pytest.mark.parametrize("name", NAMES)
def test_a_strict_client_verifies_the_leaf_by_its_authority(
    name: str, version: ssl.TLSVersion
) -> None:
    leaf = issue(NAMES, NOW)
    verify(leaf.chain, leaf.key, leaf.authority.pem, name, version=version)


def test_another_name_is_not_verified() -> None:
    leaf = issue(NAMES, NOW)
    with pytest.raises(ssl.SSLCertVerificationError):
        verify(leaf.chain, leaf.key, leaf.authority.pem, "other.reprise.svc")


def test_another_authority_does_not_verify_it() -> None:
    leaf = issue(NAMES, NOW)
    with pytest.raises(ssl.SSLCertVerificationError):
        verify(leaf.chain, leaf.key, issue(NAMES, NOW).authority.pem, NAME)


def test_a_bundle_of_several_verifies_each_whatever_their_order() -> None:
    leaves = [issue(NAMES, NOW) for _ in range(4)]
    for pem in (
        bundle(leaf.authority for leaf in leaves),
        b"".join(leaf.authority.pem for leaf in reversed(leaves)),
    ):
        for leaf in leaves:
            verify(leaf.chain, leaf.key, pem, NAME)


def test_it_counts_from_an_hour_ago_for_ninety_days() -> None:
    leaf = issue(NAMES, NOW + 0.7)
    assert (leaf.not_before, leaf.not_after) == (NOW - BACKDATED_SECONDS, NOW + VALID_SECONDS)
    assert (leaf.authority.not_before, leaf.authority.not_after) == (
        leaf.not_before,
        leaf.not_after,
    )
    assert leaf.authority.made == NOW
    assert leaf.authority.is_ours
    assert [leaf.is_valid(at) for at in (NOW - 3601, NOW, NOW + VALID_SECONDS)] == [
        False,
        True,
        False,
    ]


def test_what_was_written_is_read_again() -> None:
    holding = made(NOW + 60 * DAY, made())
    assert set(holding.entries()) == {CHAIN, KEY, AUTHORITIES, PREVIOUS_CHAIN, PREVIOUS_KEY}
    found = held(holding.entries(), NAMES, NOW + 60 * DAY)
    assert found.leaves == holding.leaves
    assert set(found.authorities) == set(holding.authorities)
    assert found.entries() == holding.entries()


def test_a_renewal_keeps_the_leaf_before_it_and_no_other() -> None:
    first = made()
    second = made(NOW + 1, first)
    third = made(NOW + 2, second)
    assert len(first.leaves) == 1
    assert second.leaves[1] == first.leaves[0]
    assert third.leaves[1:] == second.leaves[:1]
    assert first.leaves[0].authority in third.authorities


def test_the_leaf_before_goes_when_it_has_ended() -> None:
    both = made(NOW + 60 * DAY, made())
    found = held(both.entries(), NAMES, NOW + 91 * DAY)
    assert found.leaves == both.leaves[:1]
    assert found.authorities == (both.leaves[0].authority,)
    assert PREVIOUS_CHAIN not in found.entries()


def test_it_wants_renewal_a_month_before_its_end() -> None:
    holding = made()
    near = NOW + VALID_SECONDS - RENEW_SECONDS
    assert wants_renewal(NOTHING, NOW)
    assert [wants_renewal(holding, at) for at in (NOW, near, near + 1)] == [False, False, True]


@pytest.mark.parametrize(
    "entries",
    [
        {},
        {CHAIN: b"rubbish", KEY: b"rubbish", AUTHORITIES: b"rubbish"},
        made(NOW - VALID_SECONDS).entries(),
        made(NOW + 2 * BACKDATED_SECONDS).entries(),
        renewed(NOTHING, service_names("other", "reprise"), NOW).entries(),
        made().entries() | {KEY: made().entries()[KEY]},
        made().entries() | {KEY: b""},
        made().entries() | {KEY: b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----"},
        made().entries() | {AUTHORITIES: made().entries()[AUTHORITIES]},
        made().entries() | {AUTHORITIES: b"\xff" * 100},
        made().entries() | {CHAIN: made().entries()[AUTHORITIES]},
        made().entries()
        | {CHAIN: b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"},
    ],
    ids=[
        "nothing",
        "rubbish",
        "ended",
        "not yet",
        "another name",
        "another key",
        "no key",
        "a broken key",
        "another authority",
        "no authority",
        "an authority as leaf",
        "a broken certificate",
    ],
)
def test_what_cannot_be_served_is_no_leaf(entries: dict[str, bytes]) -> None:
    assert held(entries, NAMES, NOW).leaves == ()


def test_a_pair_of_ones_own_is_taken_as_it_is() -> None:
    own = issued()
    pem = own.authority.cert_pem.bytes()
    wide = own.authority.issue_cert(*NAMES)
    chain, key = wide.cert_chain_pems[0].bytes(), wide.private_key_pem.bytes()
    # trustme's authority counts from its own year 2000 on, and its leaves do too.
    found = held({CHAIN: chain, KEY: key, AUTHORITIES: pem}, NAMES, NOW)
    assert [leaf.chain for leaf in found.leaves] == [chain]
    assert not found.leaves[0].authority.is_ours


def test_authorities_are_read_from_between_rubbish_and_those_that_ended_are_not() -> None:
    live, ended = made(), made(NOW - VALID_SECONDS)
    pem = b"# mine\n" + live.entries()[AUTHORITIES] + b"rubbish\n" + ended.entries()[AUTHORITIES]
    assert authorities_in(pem, NOW) == live.authorities


def test_a_bundle_depends_on_no_order() -> None:
    several = tuple(issue(NAMES, NOW + at).authority for at in range(3))
    assert bundle(several) == bundle(reversed(several))


def test_only_so_many_are_trusted_and_the_oldest_of_the_others_go() -> None:
    several = [issue(NAMES, NOW + at).authority for at in range(MOST_AUTHORITIES + 2)]
    kept = united(several[:1], several)
    assert len(kept) == MOST_AUTHORITIES
    assert kept[0] == several[0]
    assert set(several[1:3]).isdisjoint(kept)
    assert all(one.not_before > other.not_before for one, other in pairwise(kept[1:]))
