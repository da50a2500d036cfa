"""A request as aiohttp's parser hands it over, with its connection.

It stands in for aiohttp's own request object, which is made for handlers that read cookies, forms
and URLs: making that one takes as long as looking a stored response up.
"""

import asyncio
from typing import cast

from aiohttp import StreamReader
from aiohttp.abc import AbstractStreamWriter
from aiohttp.http import HttpVersion, HttpVersion11, RawRequestMessage
from aiohttp.streams import EMPTY_PAYLOAD
from aiohttp.web import BaseRequest
from aiohttp.web_protocol import ERROR, RequestHandler
from multidict import CIMultiDictProxy

from proxy.core.model import Fields


def request_of(
    message: RawRequestMessage,
    content: StreamReader,
    protocol: RequestHandler,
    writer: AbstractStreamWriter,
    task: "asyncio.Task[None]",
) -> BaseRequest:
    """aiohttp's request_factory. What was not HTTP it answers itself, by its own request object."""
    if message is ERROR:
        loop = asyncio.get_running_loop()
        return BaseRequest(message, content, protocol, writer, task, loop)
    return cast(BaseRequest, Incoming(message, content, protocol, writer, task))


class Incoming:
    """What the data plane needs of a request before it is decoded, and to answer it."""

    __slots__ = (
        "_message",
        "_protocol",
        "_task",
        "content",
        "fields",
        "headers",
        "method",
        "path",
        "target",
        "version",
        "writer",
    )

    def __init__(
        self,
        message: RawRequestMessage,
        content: StreamReader,
        protocol: RequestHandler,
        writer: AbstractStreamWriter,
        task: "asyncio.Task[None]",
    ) -> None:
        """The arguments are those of aiohttp's request_factory."""
        self._message = message
        self._protocol = protocol
        self._task = task  # aiohttp sets it to None at the end
        self.content = content
        self.writer = writer
        self.method: str = message.method
        self.version: HttpVersion = message.version
        self.headers: CIMultiDictProxy[str] = message.headers
        self.fields: Fields = message.raw_headers
        self.target: str = message.path
        self.path: str = message.path.partition("?")[0]

    @property
    def transport(self) -> asyncio.Transport | None:
        """The client's connection; None once it is lost."""
        return self._protocol.transport

    @property
    def protocol(self) -> RequestHandler:
        """aiohttp's side of the connection."""
        return self._protocol

    @property
    def has_body(self) -> bool:
        """A body was announced, be it empty."""
        return self.content is not EMPTY_PAYLOAD

    @property
    def keep_alive(self) -> bool:
        """The client will use the connection again."""
        return not self._message.should_close

    @property
    def is_upgrade(self) -> bool:
        """aiohttp's parser has stopped behind the head: another protocol may follow."""
        return bool(self._message.upgrade)

    @property
    def is_http_11(self) -> bool:
        """The client understands chunks and interim answers."""
        return self.version >= HttpVersion11

    # aiohttp calls these two of every request.

    def _finish(self) -> None:
        """The response was written."""

    def _cancel(self, error: BaseException) -> None:
        """The connection was lost."""
        self.content.set_exception(error)
