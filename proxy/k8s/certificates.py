"""The injector's own certificates: made, read and judged. No I/O; time comes as an argument.

A renewal makes a new authority and one leaf signed by it, and throws the authority's key away: it
can sign nothing else. So whoever verifies must know the authority before its leaf is served, and
must know the one before as long as that one's leaf may still be served anywhere.
"""

import re
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

DAY = 24 * 3600.0
VALID_SECONDS = 90 * DAY
RENEW_SECONDS = 30 * DAY
"""Before the end a new one is made: time enough for somebody to look, if that cannot be done."""
BACKDATED_SECONDS = 3600.0
"""A certificate counts from before it was made, for clocks that are late."""
MOST_AUTHORITIES = 8
"""Kept at a time. Two are usual; more than this many were made by a mistake."""
MOST_PEM_BYTES = 1024 * 1024
"""More than that Kubernetes keeps in no Secret."""

CHAIN, KEY, AUTHORITIES = "tls.crt", "tls.key", "ca.crt"
PREVIOUS_CHAIN, PREVIOUS_KEY = "previous.crt", "previous.key"
"""What the Secret's entries are called; the first three as in any Secret of kind TLS."""

_ORGANIZATION = "reprise.dev"
_BLOCK = re.compile(rb"-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----")


@dataclass(frozen=True, slots=True)
class Authority:
    """A certificate that others verify ours by."""

    pem: bytes
    digest: bytes
    """SHA-256 of the certificate."""
    not_before: float
    not_after: float
    """Wall time in seconds, as all times here."""
    is_ours: bool
    """Whether an injector made it."""

    @property
    def made(self) -> float:
        """When it was made, as far as it is one of ours."""
        return self.not_before + BACKDATED_SECONDS


@dataclass(frozen=True, slots=True)
class Leaf:
    """A certificate to serve, with its key."""

    chain: bytes
    key: bytes
    """PEM, both."""
    authority: Authority
    """That which signed it."""
    not_before: float
    not_after: float

    def is_valid(self, now: float) -> bool:
        """Whether it may be served."""
        return self.not_before <= now < self.not_after


@dataclass(frozen=True, slots=True)
class Holding:
    """What the Secret holds, as far as it is of use."""

    leaves: tuple[Leaf, ...]
    """The newest first: that, and the one before it while that has not ended."""
    authorities: tuple[Authority, ...]
    """Whom to trust: those of the leaves first."""

    def entries(self) -> dict[str, bytes]:
        """As the Secret holds it. There must be a leaf."""
        newest, *before = self.leaves
        entries = {
            CHAIN: newest.chain,
            KEY: newest.key,
            AUTHORITIES: bundle(self.authorities),
        }
        for leaf in before[:1]:
            entries |= {PREVIOUS_CHAIN: leaf.chain, PREVIOUS_KEY: leaf.key}
        return entries


def service_names(service: str, namespace: str) -> tuple[str, ...]:
    """The names under which a Service is called; the API server uses the first."""
    name = f"{service}.{namespace}.svc"
    return name, f"{name}.cluster.local"


def issue(names: Sequence[str], now: float) -> Leaf:
    """A new authority and a leaf for these names, on the curve P-256; both end together."""
    begin = datetime.fromtimestamp(now - BACKDATED_SECONDS, UTC).replace(microsecond=0)
    end = begin + timedelta(seconds=BACKDATED_SECONDS + VALID_SECONDS)
    # Each has a name of its own, so that nobody takes one for another with the same name.
    issuer = _name(f"reprise-injector-ca {secrets.token_hex(8)}")
    signing, serving = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    key_id = x509.SubjectKeyIdentifier.from_public_key(signing.public_key())
    shared = x509.CertificateBuilder().issuer_name(issuer)
    shared = shared.not_valid_before(begin).not_valid_after(end)
    authority = (
        shared.subject_name(issuer)
        .serial_number(x509.random_serial_number())
        .public_key(signing.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
        .add_extension(key_id, critical=False)
        .sign(signing, hashes.SHA256())
    )
    leaf = (
        shared.subject_name(_name("reprise-injector"))  # a longer one might not fit: 64 characters
        .serial_number(x509.random_serial_number())
        .public_key(serving.public_key())
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName(map(x509.DNSName, names)), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(key_id), critical=False
        )
        .add_extension(
            x509.SubjectKeyIdentifier.from_public_key(serving.public_key()), critical=False
        )
        .sign(signing, hashes.SHA256())
    )
    key = serving.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    return Leaf(
        chain=leaf.public_bytes(serialization.Encoding.PEM),
        key=key,
        authority=_authority(authority),
        not_before=begin.timestamp(),
        not_after=end.timestamp(),
    )


def held(entries: Mapping[str, bytes], names: Sequence[str], now: float) -> Holding:
    """What of a Secret's entries is of use now, for these names; rubbish is left out."""
    signers = _certificates(entries.get(AUTHORITIES, b""))
    leaves = (
        _leaf(entries.get(chain, b""), entries.get(key, b""), signers, names, now)
        for chain, key in ((CHAIN, KEY), (PREVIOUS_CHAIN, PREVIOUS_KEY))
    )
    found = tuple(leaf for leaf in leaves if leaf is not None)
    return Holding(found, _kept(found, map(_authority, signers), now))


def renewed(holding: Holding, names: Sequence[str], now: float) -> Holding:
    """With a new leaf before the newest; whom it trusted it trusts on, until they have ended."""
    leaves = (issue(names, now), *holding.leaves[:1])
    return Holding(leaves, _kept(leaves, holding.authorities, now))


def wants_renewal(holding: Holding, now: float) -> bool:
    """Whether there is no leaf, or the newest is near its end."""
    return not holding.leaves or holding.leaves[0].not_after - now < RENEW_SECONDS


def authorities_in(pem: bytes, now: float) -> tuple[Authority, ...]:
    """Those of a bundle that have not ended; rubbish is left out."""
    return tuple(one for one in map(_authority, _certificates(pem)) if one.not_after > now)


def united(first: Iterable[Authority], others: Iterable[Authority]) -> tuple[Authority, ...]:
    """All of the first, then the newest of the others, each once; bounded."""
    by_age = sorted(others, key=lambda one: one.not_before, reverse=True)
    found = {one.digest: one for one in (*first, *by_age)}
    return tuple(found.values())[:MOST_AUTHORITIES]


def bundle(authorities: Iterable[Authority]) -> bytes:
    """As PEM, in an order that depends on nothing but what they are."""
    return b"".join(one.pem for one in sorted(authorities, key=lambda one: one.digest))


def ends_at(chain: bytes) -> float | None:
    """When the first certificate of a chain ends, in seconds; None where there is none."""
    found = _certificates(chain)
    return found[0].not_valid_after_utc.timestamp() if found else None


def _name(common_name: str) -> x509.Name:
    return x509.Name(
        [
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, _ORGANIZATION),
            x509.NameAttribute(NameOID.COMMON_NAME, common_name),
        ]
    )


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _kept(
    leaves: Sequence[Leaf], authorities: Iterable[Authority], now: float
) -> tuple[Authority, ...]:
    return united(
        (leaf.authority for leaf in leaves),
        (authority for authority in authorities if authority.not_after > now),
    )


def _certificates(pem: bytes) -> list[x509.Certificate]:
    found = []
    for block in _BLOCK.findall(pem[:MOST_PEM_BYTES]):
        try:
            found.append(x509.load_pem_x509_certificate(block))
        except ValueError:
            continue
    return found


def _authority(certificate: x509.Certificate) -> Authority:
    return Authority(
        pem=certificate.public_bytes(serialization.Encoding.PEM),
        digest=certificate.fingerprint(hashes.SHA256()),
        not_before=certificate.not_valid_before_utc.timestamp(),
        not_after=certificate.not_valid_after_utc.timestamp(),
        is_ours=_is_ours(certificate),
    )


def _is_ours(certificate: x509.Certificate) -> bool:
    try:
        found = certificate.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)
    except ValueError:
        return False  # its name is none
    return any(attribute.value == _ORGANIZATION for attribute in found)


def _leaf(
    chain: bytes,
    key: bytes,
    signers: Sequence[x509.Certificate],
    names: Sequence[str],
    now: float,
) -> Leaf | None:
    """What can be served of a chain and its key: valid now, for the names, and signed."""
    found = _certificates(chain)
    if not found or not _fits(found[0], key):
        return None
    first = found[0]
    begin, end = first.not_valid_before_utc.timestamp(), first.not_valid_after_utc.timestamp()
    signer = next((one for one in signers if _signed(first, one)), None)
    if signer is None or not begin <= now < end or not set(names) <= _names_of(first):
        return None
    return Leaf(chain, key, _authority(signer), begin, end)


def _fits(certificate: x509.Certificate, key: bytes) -> bool:
    """Whether a PEM is the certificate's private key."""
    try:
        own = serialization.load_pem_private_key(key, password=None)
        return own.public_key() == certificate.public_key()
    except (ValueError, TypeError, UnsupportedAlgorithm):
        return False


def _signed(certificate: x509.Certificate, signer: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(signer)
    except (ValueError, TypeError, InvalidSignature, UnsupportedAlgorithm):
        return False
    return True


def _names_of(certificate: x509.Certificate) -> set[str]:
    try:
        found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    except (x509.ExtensionNotFound, x509.DuplicateExtension, ValueError):
        return set()
    return set(found.value.get_values_for_type(x509.DNSName))
