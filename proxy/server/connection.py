"""One client's connection: aiohttp's, with what it leaves out where the client's HTTP is broken."""

from aiohttp import web
from aiohttp.web_protocol import RequestHandler, RequestPayloadError

from proxy.core.errors import BadRequest


class Connection(RequestHandler):
    """Answers what is not HTTP by our error object, and never leaves a body waiting."""

    __slots__ = ()

    def wind_up(self) -> None:
        """Take no further request: an idle connection ends now, a busy one after its response."""
        if self._current_request is None and not self._messages:
            self.force_close()
        else:
            self.close()

    def data_received(self, data: bytes) -> None:
        """aiohttp queues an error behind the request whose body it was in; that one must hear too.

        It would wait for the rest for ever.
        """
        super().data_received(data)
        current = self._current_request
        if current is None or not self._messages:
            return
        message, _ = self._messages[-1]
        if getattr(message, "exc", None) is not None and not current.content.is_eof():
            current.content.set_exception(RequestPayloadError("malformed"))

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """The answer to a head that cannot be read; nothing of it is quoted or logged."""
        error = BadRequest("The request is not well-formed HTTP, or its head is too large.")
        response = web.Response(
            status=error.status,
            body=error.body(),
            content_type="application/json",
            headers={"x-should-retry": "false", "Server": "reprise"},
        )
        response.force_close()
        return response


class Server(web.Server):
    """aiohttp's low-level server over our connections."""

    def wind_up(self) -> None:
        """Take no further request on any connection."""
        for connection in self.connections:
            if isinstance(connection, Connection):
                connection.wind_up()

    def __call__(self) -> Connection:
        """A connection for a new client."""
        return Connection(self, loop=self._loop, **self._kwargs)
