"""`reprise inject`: give pods a Reprise of their own."""

import importlib
import sys
from pathlib import Path

import click

from proxy.cli.inject_render import render
from proxy.cli.inject_settings import settings_of, sidecar_options
from proxy.cli.inject_tls import Files, Own, tls_options
from proxy.config_values import ConfigValueError, parse_address
from proxy.core.address import Address
from proxy.telemetry.log import LEVELS

_SERVING = "proxy.cli.inject_serve"


@click.group("inject")
def inject() -> None:
    """Give pods in Kubernetes a Reprise of their own.

    Exit code 0: done. 1: what was asked for is not so. 2: unusable input.
    """


inject.add_command(render)


def _address(_context: click.Context, _option: click.Parameter, text: str) -> Address:
    try:
        return parse_address(text)
    except ConfigValueError as error:
        raise click.BadParameter(f"{error.message}; {error.remedy}") from error


@inject.command("serve")
@sidecar_options
@tls_options
@click.option(
    "--listen", metavar="HOST:PORT", default="*:8443", show_default=True, callback=_address
)
@click.option(
    "--admin-listen",
    metavar="HOST:PORT",
    default="*:8081",
    show_default=True,
    callback=_address,
    help="For /livez, /readyz and /metrics.",
)
@click.option(
    "--namespace",
    envvar="POD_NAMESPACE",
    default="",
    help="The injector's own; its pods are left alone. Else POD_NAMESPACE.",
)
@click.option("--log-level", type=click.Choice(list(LEVELS)), default="info", show_default=True)
def serve(
    path: Path | None,
    image: str | None,
    upstream: str | None,
    tls: Files | Own,
    listen: Address,
    admin_listen: Address,
    namespace: str,
    log_level: str,
    *,
    is_native: bool | None,
) -> None:
    """Answer the API server's reviews of new pods (POST /mutate).

    SIGTERM lets what is under way end.
    """
    settings = settings_of(
        path, image=image, upstream=upstream, is_native=is_native, namespace=namespace
    )
    try:
        serving = importlib.import_module(_SERVING)
    except ImportError as error:
        if error.name != "cryptography":
            raise
        click.echo("This needs cryptography: pip install 'reprise-proxy[inject]'", err=True)
        sys.exit(2)
    sys.exit(
        serving.run(
            settings,
            tls,
            listen=listen,
            admin_listen=admin_listen,
            log_level=log_level,
        )
    )
