"""Where `reprise inject serve` has its certificate from: files, or one that it keeps itself."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

_Command = TypeVar("_Command", bound=Callable[..., None])

ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""Where a pod finds the token of its service account, and the API server's authority."""


@dataclass(frozen=True, slots=True)
class Files:
    """A certificate that somebody else keeps, as files."""

    certificate: Path
    key: Path


@dataclass(frozen=True, slots=True)
class Own:
    """A certificate that the injectors keep themselves."""

    namespace: str
    secret: str
    service: str
    configuration: str
    account: Path


_OPTIONS = (
    click.option(
        "--tls-cert",
        "certificate",
        type=click.Path(path_type=Path),
        help="The certificate and its chain (PEM). It may change while this runs.",
    ),
    click.option(
        "--tls-key",
        "key",
        type=click.Path(path_type=Path),
        help="The certificate's key (PEM).",
    ),
    click.option(
        "--tls-secret",
        "secret",
        metavar="NAME",
        help="Instead of files: keep a certificate of its own in this Secret, and renew it.",
    ),
    click.option(
        "--tls-service",
        "service",
        metavar="NAME",
        help="With --tls-secret: the Service under which the API server calls.",
    ),
    click.option(
        "--tls-webhook",
        "configuration",
        metavar="NAME",
        help="With --tls-secret: the MutatingWebhookConfiguration whose caBundle is to hold its "
        "authority.",
    ),
    click.option(
        "--service-account",
        "account",
        type=click.Path(path_type=Path),
        default=ACCOUNT,
        show_default=True,
        help="With --tls-secret: the directory with token and ca.crt for the API server.",
    ),
)


def tls_options(command: _Command) -> Callable[..., None]:
    """Give a command the options, and as one argument, `tls`, what they say together."""

    @functools.wraps(command)
    def collected(
        *,
        certificate: Path | None,
        key: Path | None,
        secret: str | None,
        service: str | None,
        configuration: str | None,
        account: Path,
        namespace: str,
        **others: Any,
    ) -> None:
        tls = _chosen(
            (certificate, key), (secret, service, configuration), namespace, account=account
        )
        command(tls=tls, namespace=namespace, **others)

    for option in reversed(_OPTIONS):
        collected = option(collected)
    return collected


def _chosen(
    files: tuple[Path | None, Path | None],
    own: tuple[str | None, str | None, str | None],
    namespace: str,
    *,
    account: Path,
) -> Files | Own:
    if any(files) and any(own):
        raise click.UsageError("Either --tls-cert and --tls-key, or --tls-secret, is wanted.")
    certificate, key = files
    if certificate and key:
        return Files(certificate, key)
    secret, service, configuration = own
    if secret and service and configuration:
        if not namespace:
            raise click.UsageError(
                "--tls-secret needs --namespace (or POD_NAMESPACE): where the Secret is."
            )
        return Own(namespace, secret, service, configuration, account)
    raise click.UsageError(
        "A certificate is wanted: --tls-cert and --tls-key, or --tls-secret, --tls-service and "
        "--tls-webhook."
    )
