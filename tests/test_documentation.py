"""What the documents name is what there is."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from proxy import __version__
from proxy.core.cache.outcome import MissReason
from proxy.core.classify import BypassReason
from proxy.core.errors import ProxyError
from proxy.core.exchange import Fwd
from proxy.core.head import CREDENTIAL_FIELDS, VARIANT_FIELDS
from proxy.core.wire.headers import STORED
from proxy.core.wire.operation import discover
from proxy.redis_link.errors import Reason
from proxy.telemetry.catalog_parts import REDIS as REDIS_METRICS
from proxy.telemetry.tracing import ATTRIBUTES

ROOT = Path(__file__).parent.parent
HTTP = (ROOT / "docs" / "http.md").read_text("utf-8")
REDIS = (ROOT / "docs" / "redis.md").read_text("utf-8")


def errors(kind: type[ProxyError] = ProxyError) -> Iterator[type[ProxyError]]:
    """The whole tree."""
    yield kind
    for inner in kind.__subclasses__():
        yield from errors(inner)


@pytest.mark.parametrize(
    "name",
    [
        *(reason for reason in MissReason if reason is not MissReason.ABSENT),
        *BypassReason,
        *(f"| {kind.status} | `{kind.code}` |" for kind in errors()),
        *CREDENTIAL_FIELDS,
        *VARIANT_FIELDS,
        *(suffix for operation in discover() for suffix in operation.suffixes),
        *(name for operation in discover() for name in operation.ignored_fields),
    ],
)
def test_the_http_contract_names_it(name: str) -> None:
    assert name in HTTP if name.startswith("|") else f"`{name}`" in HTTP


@pytest.mark.parametrize(
    "name",
    [
        *Reason,
        *(one.family.removeprefix("reprise_") for one in REDIS_METRICS if not one.labels),
    ],
)
def test_the_page_on_redis_names_it(name: str) -> None:
    assert f"`{name}`" in REDIS


def test_the_http_contract_names_every_way_to_the_upstream() -> None:
    assert all(f"`{fwd}`: " in HTTP for fwd in Fwd)


def test_the_http_contract_names_every_stored_header() -> None:
    kept = HTTP.partition("Of its headers are kept:")[2].partition("Never")[0].lower()
    for name in STORED:
        assert re.sub("^access-control(?=-allow-cred|-expose)", "", name.decode()) in kept


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md"])
def test_links_and_targets_exist(name: str) -> None:
    text = (ROOT / name).read_text("utf-8")
    for link in re.findall(r"\]\((?!https?:)([^)#]+)", text):
        assert (ROOT / link).exists(), link
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    for line in re.findall(r"^make ([a-z-]+(?: [a-z-]+)*)", text, re.MULTILINE):
        for target in line.split():
            assert target in targets, target


def test_the_changelog_knows_the_version() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert "## [Unreleased]" in changelog or f"## [{__version__}]" in changelog


def test_the_attributes_of_spans_are_told_of() -> None:
    tracing = (ROOT / "docs" / "tracing.md").read_text("utf-8")
    for name, meaning in ATTRIBUTES.items():
        assert f"| `{name}` | {meaning} |" in tracing, name
