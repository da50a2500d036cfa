"""`reprise serve`: run the proxy until a signal ends it."""

import asyncio
import ctypes
import gc
import os
import signal
import socket
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, NoReturn

import click
import uvloop

from proxy.app import App, Worker
from proxy.cli.handover import Supervised
from proxy.cli.supervisor import Plan, Supervisor
from proxy.cli.worker import COMMAND, WorkerError, Write
from proxy.config import Config, load
from proxy.config_file import ConfigError, read_bytes
from proxy.redis_link.errors import BadUrl
from proxy.telemetry.log import LineWriter

ARENAS = 2
_M_ARENA_MAX = -8
"""As glibc's malloc.h has it."""
GC_THRESHOLDS = (10_000, 20, 50)
"""In place of Python's (700, 10, 10): six per cent of a miss."""


@click.command()
@click.option(
    "--config", "path", type=click.Path(path_type=Path), help="The configuration file (YAML)."
)
@click.option("--upstream", metavar="URL", help="Where the LLM server is, as http://host:port.")
@click.option("--listen", metavar="HOST:PORT", help="In place of the file's; 127.0.0.1:8080.")
@click.option("--admin-listen", metavar="HOST:PORT", help="In place of the file's; 127.0.0.1:8081.")
@click.option("--log-level", metavar="LEVEL", help="In place of the file's; info.")
@click.option("--worker", "is_worker", is_flag=True, hidden=True)
def serve(
    path: Path | None,
    upstream: str | None,
    listen: str | None,
    admin_listen: str | None,
    *,
    log_level: str | None,
    is_worker: bool,
) -> None:
    """Run the proxy.

    SIGTERM lets what is under way end, a second one ends at once; SIGHUP reloads the file.
    """

    def read(raw: bytes | None = None) -> Config:
        return load(
            path,
            upstream=upstream,
            listen=listen,
            admin_listen=admin_listen,
            log_level=log_level,
            env=os.environ,
            raw=raw,
        )

    if is_worker:
        supervised = Supervised(socket.socket(fileno=sys.stdin.fileno()))
        handover = supervised.read()
        config = read(handover.config)
        _run(lambda write: _serve(config, path, read, write, handover.worker, supervised))
    try:
        raw = b"" if path is None else read_bytes(path)
        config = read(raw)
    except ConfigError as error:
        click.echo(str(error), err=True)
        sys.exit(2)
    if config.static.workers == 1:
        _run(lambda write: _serve(config, path, read, write))
    options = {
        "--config": path,
        "--upstream": upstream,
        "--listen": listen,
        "--admin-listen": admin_listen,
        "--log-level": log_level,
    }
    given = [str(part) for option in options.items() if option[1] is not None for part in option]
    plan = Plan(config, raw, read, (*COMMAND, *given))
    errors = LineWriter(sys.stderr.fileno())
    try:
        _run(lambda write: _supervise(plan, write, errors.write))
    finally:
        errors.close()


def _limit_arenas() -> None:
    """Let threads share memory that is freed; only glibc has arenas.

    Otherwise each thread of a pool keeps what it once needed: 100 MB after an hour of mixed load.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_ARENA_MAX, ARENAS)


def _run(serving: Callable[[Write], Coroutine[Any, Any, int]]) -> NoReturn:
    """Run until the end, and exit."""
    _limit_arenas()
    writer = LineWriter(sys.stdout.fileno())
    try:
        status = uvloop.run(serving(writer.write))
    except OSError as error:
        click.echo(
            f"Cannot listen on {error}. Choose another by --listen or --admin-listen.", err=True
        )
        status = 2
    except WorkerError as error:
        click.echo(str(error), err=True)
        status = 2
    except BadUrl as error:
        click.echo(f"persist.redis.url {error}: docs/redis.md has those that there are.", err=True)
        status = 2
    finally:
        writer.close()
    sys.exit(status)


async def _supervise(plan: Plan, write: Write, write_error: Write) -> int:
    return await Supervisor(plan, write=write, write_error=write_error).run()


async def _serve(
    config: Config,
    path: Path | None,
    read: Callable[[], Config],
    write: Write,
    worker: Worker | None = None,
    supervised: Supervised | None = None,
) -> int:
    app = App(config, write=write, path=path, load=read, worker=worker)
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
    if supervised is not None:
        supervised.watch(
            on_end=lambda: loop.call_soon_threadsafe(ended.set),
            grace=lambda: app.reloader.current.dynamic.shutdown_grace,
        )
        supervised.serves()
    await ended.wait()
    await app.stop()
    return 0
