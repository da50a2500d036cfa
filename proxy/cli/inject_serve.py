"""The injector as a process: its listeners, its log, and how it ends."""

import asyncio
import os
import signal
import sys

import click
import uvloop

from proxy.cli.inject_tls import Files, Own
from proxy.clock import SystemClock
from proxy.core.address import Address
from proxy.k8s.certificate_files import CertificateFiles
from proxy.k8s.cluster import NoCluster, cluster_around
from proxy.k8s.rotation import Place, Rotator
from proxy.k8s.settings import Settings
from proxy.k8s.tls import CertificateSource
from proxy.k8s.webhook import Webhook
from proxy.server.listening import bound, url_of
from proxy.telemetry.log import LineWriter, Log, StructLog


def run(
    settings: Settings, tls: Files | Own, *, listen: Address, admin_listen: Address, log_level: str
) -> int:
    """Serve until a signal ends it; the exit status."""
    writer = LineWriter(sys.stdout.fileno())
    log = StructLog(writer.write, form="auto", level=log_level, wall=SystemClock.now)
    try:
        webhook = Webhook(settings, _source(tls, log), log=log, clock=SystemClock())
        uvloop.run(_serve(webhook, log, listen, admin_listen))
    except NoCluster as error:
        click.echo(f"--tls-secret: {error}.", err=True)
        return 2
    except OSError as error:
        click.echo(
            f"Cannot listen on {error}. Choose another by --listen or --admin-listen.", err=True
        )
        return 2
    finally:
        writer.close()
    return 0


def _source(tls: Files | Own, log: Log) -> CertificateSource:
    if isinstance(tls, Files):
        return CertificateFiles(tls.certificate, tls.key, log=log)
    clock = SystemClock()
    cluster = cluster_around(os.environ, account=tls.account, clock=clock)
    place = Place(tls.namespace, tls.service, tls.secret, tls.configuration)
    return Rotator(cluster, place, clock=clock, log=log)


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
