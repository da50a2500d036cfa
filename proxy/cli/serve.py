"""`reprise serve`: run the proxy until a signal ends it."""

import asyncio
import gc
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import click
import uvloop

from proxy.app import App
from proxy.config import Config, load
from proxy.config_file import ConfigError
from proxy.telemetry.log import LineWriter

GC_THRESHOLDS = (10_000, 20, 50)
"""In place of Python's (700, 10, 10): six per cent of a miss."""


@click.command()
@click.option(
    "--config", "path", type=click.Path(path_type=Path), help="The configuration file (YAML)."
)
@click.option("--upstream", metavar="URL", help="Where the LLM server is, as http://host:port.")
@click.option("--listen", metavar="HOST:PORT", help="In place of the file's; 127.0.0.1:8080.")
@click.option("--admin-listen", metavar="HOST:PORT", help="In place of the file's; 127.0.0.1:8081.")
def serve(
    path: Path | None, upstream: str | None, listen: str | None, admin_listen: str | None
) -> None:
    """Run the proxy.

    SIGTERM lets what is under way end, a second one ends at once; SIGHUP reloads the file.
    """

    def read() -> Config:
        return load(
            path, upstream=upstream, listen=listen, admin_listen=admin_listen, env=os.environ
        )

    try:
        config = read()
    except ConfigError as error:
        click.echo(str(error), err=True)
        sys.exit(2)
    writer = LineWriter(sys.stdout.fileno())
    try:
        uvloop.run(_serve(config, path, read, writer.write))
    except OSError as error:
        click.echo(
            f"Cannot listen on {error}. Choose another by --listen or --admin-listen.", err=True
        )
        sys.exit(2)
    finally:
        writer.close()


async def _serve(
    config: Config,
    path: Path | None,
    read: Callable[[], Config],
    write: Callable[[bytes], None],
) -> None:
    app = App(config, write=write, path=path, load=read)
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()

    def end() -> None:
        if ended.is_set():
            os._exit(1)  # asked twice: at once
        ended.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, end)
    loop.add_signal_handler(signal.SIGHUP, app.reload_soon)
    await app.start()
    # What is there now stays: the collector need not look at it again. And it looks less often,
    # for what a request leaves behind is nearly all freed by reference counts.
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)
    await ended.wait()
    await app.stop()
