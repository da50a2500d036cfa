"""What `reprise inject serve` and `render` have in common: how sidecars look."""

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import click

from proxy import __version__
from proxy.config_file import ConfigError
from proxy.config_injector import SidecarFile, load
from proxy.core.upstream_url import BadUpstreamUrl, normalized
from proxy.k8s.settings import Settings

_Command = TypeVar("_Command", bound=Callable[..., None])

_OPTIONS = (
    click.option(
        "--settings",
        "path",
        type=click.Path(path_type=Path),
        help="A file that says how sidecars look; docs/kubernetes.md has its keys.",
    ),
    click.option("--image", help="The image of sidecars."),
    click.option(
        "--upstream",
        metavar="URL",
        help="Where the LLM server is, for pods that do not say; as http://host:port.",
    ),
    click.option(
        "--native/--classic",
        "is_native",
        default=None,
        help="Init containers that go on running (the default; Kubernetes 1.29 or newer), or "
        "ordinary containers.",
    ),
)


def sidecar_options(command: _Command) -> _Command:
    """The options that `settings_of` takes."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def settings_of(
    path: Path | None,
    *,
    image: str | None,
    upstream: str | None,
    is_native: bool | None,
    namespace: str = "",
) -> Settings:
    """The file's settings, and the command line's before them.

    Ends the process with 2 where they cannot be used.
    """
    settings = Settings(image=f"reprise:{__version__}", namespace=namespace)
    try:
        if path is not None:
            settings = _with(settings, load(path))
        if upstream is not None:
            settings = replace(settings, upstream=normalized(upstream))
    except ConfigError as error:
        click.echo(str(error), err=True)
        sys.exit(2)
    except BadUpstreamUrl as error:
        click.echo(f"--upstream: {error.message}; {error.remedy}", err=True)
        sys.exit(2)
    return replace(
        settings,
        image=image or settings.image,
        is_native=settings.is_native if is_native is None else is_native,
    )


def _with(settings: Settings, file: SidecarFile) -> Settings:
    """The settings with what the file says."""
    said, resources = file.model_fields_set, file.resources
    return replace(
        settings,
        image=file.image or settings.image,
        pull_policy=file.image_pull_policy or settings.pull_policy,
        upstream=file.upstream or settings.upstream,
        log_level=file.log_level or settings.log_level,
        user=file.run_as_user if "run_as_user" in said else settings.user,
        # Requests for processor and memory there have to be.
        requests={**settings.requests, **resources.requests},
        limits=resources.limits if "limits" in resources.model_fields_set else settings.limits,
        variables=settings.variables if file.env is None else file.env,
        is_native=settings.is_native if file.native_sidecar is None else file.native_sidecar,
    )
