"""Which header fields pass this hop, which are stored, and how they stand on the wire."""

from collections.abc import Iterable, Mapping

from proxy.core.model import Fields

HOP_BY_HOP = frozenset(
    {
        b"connection",
        b"keep-alive",
        b"proxy-authenticate",
        b"proxy-authorization",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
    }
)
"""Fields of one connection only (RFC 9110 7.6.1)."""

_NO_OPTIONS: frozenset[bytes] = frozenset()
_FRAMING = HOP_BY_HOP | {b"content-length"}
_NOT_FORWARDED = _FRAMING | {b"host", b"expect"}
_NOT_UPGRADED = frozenset({b"host", b"proxy-authorization", b"proxy-connection"})

STORED = frozenset(
    {
        b"content-language",
        b"openai-version",
        b"openai-model",
        b"access-control-allow-origin",
        b"access-control-allow-credentials",
        b"access-control-expose-headers",
        b"vary",
    }
)
"""What is kept of a response besides its Content-Type: nothing of one request, client or moment."""


_OF_CACHES = frozenset({b"age", b"cache-status", b"x-cache-entry", b"x-cache-similarity"})
"""What caches on the way told of an answer."""
_SHARED = STORED | _OF_CACHES
_SHARED |= {b"content-type", b"content-encoding", b"retry-after", b"x-should-retry"}
"""What goes to those who share a call: what is stored, and what its body or status needs."""


def forwarded(
    fields: Fields,
    replaced: Fields = (),
    *,
    dropped: frozenset[bytes] = _NO_OPTIONS,
    keeps_wishes: bool = False,
) -> Fields:
    """A request's fields as they go to the upstream.

    `replaced` takes the place of fields of the same name, `dropped` (lower case) stay behind. Host,
    Expect and framing are made anew. Our own x-cache-* fields stay only where `keeps_wishes`: for
    a cache of our kind.
    """
    options = connection_options(by_name(fields))
    unwanted = _NOT_FORWARDED | options | dropped | {n.lower() for n, _ in replaced}
    return _without(fields, unwanted, replaced, keeps_wishes=keeps_wishes)


def upgrading(fields: Fields, replaced: Fields = ()) -> Fields:
    """A request's fields where upgrading the connection is its point: Upgrade goes on."""
    unwanted = _NOT_UPGRADED | {name.lower() for name, _ in replaced}
    return _without(fields, unwanted, replaced, keeps_wishes=False)


def relayed(fields: Fields, values: Mapping[bytes, bytes]) -> bytes:
    """A response's end-to-end fields, rendered, as they go to the client.

    `values` is what `by_name` makes of the fields.
    """
    unwanted = _FRAMING | connection_options(values)
    return render([field for field in fields if field[0].lower() not in unwanted])


def stored(values: Mapping[bytes, bytes]) -> Fields:
    """What of a response's fields is kept with it besides Content-Type; names in lower case."""
    names = STORED.intersection(values) - connection_options(values)
    return tuple([(name, values[name]) for name in sorted(names)])


def shared(values: Mapping[bytes, bytes]) -> bytes:
    """The fields of a live answer, rendered, for those who share the call of another client."""
    names = _SHARED.intersection(values) - connection_options(values)
    return render([(name, values[name]) for name in sorted(names)])


def by_name(fields: Fields) -> dict[bytes, bytes]:
    """The values by lower-case name; several of one name as one list (RFC 9110 5.3)."""
    values: dict[bytes, bytes] = {}
    for name, value in fields:
        lower = name.lower()
        values[lower] = values[lower] + b", " + value if lower in values else value
    return values


def connection_options(values: Mapping[bytes, bytes]) -> frozenset[bytes]:
    """The names, in lower case, that the message's own Connection field declares hop-by-hop."""
    value = values.get(b"connection")
    if value is None:
        return _NO_OPTIONS
    return frozenset(option.strip().lower() for option in value.split(b",")) - {b""}


def render(fields: Iterable[tuple[bytes, bytes]]) -> bytes:
    """Field lines, each ended by CRLF."""
    return b"".join([b"%b: %b\r\n" % field for field in fields])


def _without(
    fields: Fields, unwanted: frozenset[bytes], replaced: Fields, *, keeps_wishes: bool
) -> Fields:
    kept = [
        field
        for field in fields
        if (name := field[0].lower()) not in unwanted
        and (keeps_wishes or not name.startswith(b"x-cache-"))
    ]
    return (*kept, *replaced)
