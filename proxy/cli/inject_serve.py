"""The injector as a process: its listeners, its log, and how it ends."""

import asyncio
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import click
import uvloop

from proxy.clock import SystemClock
from proxy.core.address import Address
from proxy.k8s.certificate_files import CertificateFiles
from proxy.k8s.settings import Settings
from proxy.k8s.tls import CertificateSource
from proxy.k8s.webhook import Webhook
from proxy.server.listening import bound, url_of
from proxy.telemetry.log import LineWriter, Log, StructLog

Source: TypeAlias = Callable[[Log], CertificateSource]
"""Makes the source of certificates, with the log that it is to write to."""


def files(certificate: Path, key: Path) -> Source:
    """Certificates from two files."""
    return lambda log: CertificateFiles(certificate, key, log=log)


def run(
    settings: Settings, source: Source, *, listen: Address, admin_listen: Address, log_level: str
) -> int:
    """Serve until a signal ends it; the exit status."""
    writer = LineWriter(sys.stdout.fileno())
    log = StructLog(writer.write, form="auto", level=log_level, wall=SystemClock.now)
    webhook = Webhook(settings, source(log), log=log, clock=SystemClock())
    try:
        uvloop.run(_serve(webhook, log, listen, admin_listen))
    except OSError as error:
        click.echo(
            f"Cannot listen on {error}. Choose another by --listen or --admin-listen.", err=True
        )
        return 2
    finally:
        writer.close()
    return 0


async def _serve(webhook: Webhook, log: Log, listen: Address, admin_listen: Address) -> None:
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ended.set)
    with (
        bound(listen, "--listen") as reviews,
        bound(admin_listen, "--admin-listen") as admin,
    ):
        await webhook.start(reviews, admin)
        url = url_of(reviews).replace("http://", "https://")
        log.emit("info", "listening", {"url": url, "admin_url": url_of(admin)})
        await ended.wait()
        await webhook.stop()
        log.emit("info", "stopped", {})
