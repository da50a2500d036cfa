"""The notations of the configuration: durations, sizes, addresses, URLs, scopes, patterns."""

import re
from urllib.parse import urlsplit

from proxy.core.address import Address
from proxy.core.upstream_url import HOST, PRINTABLE, BadUpstreamUrl, normalized


class ConfigValueError(ValueError):
    """A value that cannot be meant, and what to write instead."""

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy


class FromEnv(str):
    """Text with something from the environment in it: it has no YAML type of its own."""

    __slots__ = ()


_NUMBER = r"(\d{1,16}(?:\.\d{1,16})?)"
DURATION_PATTERN = (
    rf"^(?!$)(?:{_NUMBER}d)?(?:{_NUMBER}h)?(?:{_NUMBER}m)?(?:{_NUMBER}s)?(?:{_NUMBER}ms)?$"
)
_DURATION = re.compile(DURATION_PATTERN, re.ASCII)
_DURATION_UNITS = (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1))
_LONGEST_DURATION = 3650 * 86_400_000

SIZE_PATTERN = rf"^{_NUMBER} ?(B|KiB|MiB|GiB|TiB|KB|MB|GB|TB)?$"
_BARE_NUMBER = re.compile(r"\d+(\.\d+)?", re.ASCII)
_SIZE = re.compile(SIZE_PATTERN, re.ASCII)
_SIZE_UNITS = {
    "B": 1,
    **{f"{letter}iB": 1024**power for power, letter in enumerate("KMGT", start=1)},
    **{f"{letter}B": 1000**power for power, letter in enumerate("KMGT", start=1)},
}
_LARGEST_SIZE = 1024**5

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", re.ASCII)
_REDIS_PREFIX = re.compile(r"[A-Za-z0-9._:-]{1,64}")
_FRAMING = (
    "connection",
    "content-length",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
)
_TELLTALE = re.compile(
    r"authorization|api-?key|(^|-)(auth|token|secret|cookie|password|credentials?)($|-)",
    re.IGNORECASE,
)


def parse_duration(value: object) -> float:
    """Seconds of `250ms`, `5s`, `10m`, `24h`, `7d` or a sum such as `1h30m`; a bare 0 is fine."""
    text = "" if isinstance(value, bool) else str(value)
    if text in ("0", "0.0"):
        return 0.0
    match = _DURATION.fullmatch(text)
    if match is None:
        raise _no_duration(value)
    milliseconds = sum(
        round(float(number) * unit)
        for number, (_, unit) in zip(match.groups(), _DURATION_UNITS, strict=True)
        if number is not None
    )
    if milliseconds > _LONGEST_DURATION:
        raise ConfigValueError("is longer than ten years", 'write "3650d" at most')
    return milliseconds / 1000


def _no_duration(value: object) -> ConfigValueError:
    text = str(value)
    if text.startswith("-"):
        return ConfigValueError("a duration cannot be negative", 'write "0s" or more')
    if _BARE_NUMBER.fullmatch(text):
        return ConfigValueError(f"the duration {text} has no unit", f'write "{text}s" for seconds')
    return ConfigValueError(
        f"{shown(value)} is not a duration", 'write such as "250ms", "30s", "10m", "1h30m", "7d"'
    )


def format_duration(seconds: float) -> str:
    """The notation that `parse_duration` reads."""
    rest = round(seconds * 1000)
    parts = []
    for name, unit in _DURATION_UNITS:
        count, rest = divmod(rest, unit)
        if count:
            parts.append(f"{count}{name}")
    return "".join(parts) or "0s"


def parse_timeout(value: object) -> float | None:
    """Seconds of a duration above zero; None for `none`, which is no bound."""
    if value is None or value == "none":
        return None
    seconds = parse_duration(value)
    if seconds == 0:
        raise ConfigValueError("no time at all lets nothing through", 'write "none" for no bound')
    return seconds


def format_timeout(seconds: float | None) -> str:
    """The notation that `parse_timeout` reads."""
    return "none" if seconds is None else format_duration(seconds)


def parse_deadline(value: object) -> float:
    """Seconds of a duration above zero; there is always a bound."""
    if value == "none":
        raise ConfigValueError("there has to be a bound", 'write such as "100ms" or "1s"')
    seconds = parse_duration(value)
    if seconds == 0:
        raise ConfigValueError("no time at all is enough for nothing", 'write such as "100ms"')
    return seconds


def parse_size(value: object) -> int:
    """Bytes of `64KiB`, `4MiB`, `1GiB`, `500KB`, `10MB` or of a bare integer."""
    text = "" if isinstance(value, bool) else str(value)
    match = _SIZE.fullmatch(text)
    if match is None or (match[2] is None and "." in match[1]):
        if text.startswith("-"):
            raise ConfigValueError("a size cannot be negative", 'write "1KiB" or more')
        raise ConfigValueError(
            f"{shown(value)} is not a size", 'write such as "64KiB", "4MiB", "1GiB"'
        )
    size = round(float(match[1]) * _SIZE_UNITS[match[2]]) if match[2] else int(match[1])
    if size < 1:
        raise ConfigValueError("a size of 0 lets nothing through", 'write such as "64KiB"')
    if size > _LARGEST_SIZE:
        raise ConfigValueError("is larger than 1024 TiB", 'write such as "1GiB"')
    return size


def format_size(size: int) -> str | int:
    """The notation that `parse_size` reads, in the largest unit that is exact."""
    for unit in ("TiB", "GiB", "MiB", "KiB"):
        if size % _SIZE_UNITS[unit] == 0:
            return f"{size // _SIZE_UNITS[unit]}{unit}"
    return size


def parse_address(value: object) -> Address:
    """`HOST:PORT`; port 0 lets the system choose, host `*` is every interface."""
    if isinstance(value, Address):
        return value
    text = str(value)
    host, _, port = text.rpartition(":")
    if not host:
        number = port if port.isdecimal() else "8080"
        raise ConfigValueError(
            f"{shown(value)} does not name a host and a port",
            f'write "127.0.0.1:{number}", or "*:{number}" for every interface',
        )
    if host != "*" and not HOST.fullmatch(host):
        raise ConfigValueError(
            f"{shown(host)} is not a host", 'write such as "127.0.0.1:8080" or "[::1]:8080"'
        )
    if not (port.isascii() and port.isdecimal()) or int(port) > 65535:
        raise ConfigValueError(f"{shown(port)} is not a port", "write a number from 0 to 65535")
    return Address(host.strip("[]"), int(port))


def parse_url(value: object) -> str:
    """An upstream's URL: scheme and host in small letters, no slash at the end."""
    try:
        return normalized(check_text(value))
    except BadUpstreamUrl as error:
        raise ConfigValueError(error.message, error.remedy) from error


def parse_trace_endpoint(value: object) -> str:
    """An OTLP collector's URL: without a path, that of OTLP over HTTP is appended; "" for none."""
    if check_text(value) == "":
        return ""
    url = parse_url(value)
    return url if urlsplit(url).path else f"{url}/v1/traces"


_REDIS_HOST = re.compile(rf"(?:{HOST.pattern})(:[0-9]{{1,5}})?", re.ASCII)
REDIS_SCHEMES = (
    *("redis", "rediss", "unix"),
    *("redis+sentinel", "rediss+sentinel", "redis+cluster", "rediss+cluster"),
)


def parse_redis_url(value: object) -> str:
    """Where Redis is, by one of REDIS_SCHEMES; empty for nowhere. It may hold a password."""
    text = check_text(value)
    example = 'write such as "redis://127.0.0.1:6379/0"'
    if not text:
        return text
    scheme, separator, rest = text.partition("://")
    if scheme not in REDIS_SCHEMES or not separator:
        raise ConfigValueError("begins with none of " + ", ".join(REDIS_SCHEMES), example)
    if not PRINTABLE.fullmatch(text) or " " in text or not rest.rpartition("@")[2].strip("/"):
        raise ConfigValueError("is not a URL of Redis", example)
    if scheme.endswith("+sentinel") and not rest.rpartition("@")[2].partition("/")[2]:
        raise ConfigValueError(
            "does not name the master", 'write such as "redis+sentinel://HOST:26379/MASTER"'
        )
    if scheme != "unix":
        _check_redis_place(rest)
    return text


def _check_redis_place(rest: str) -> None:
    """Raises ConfigValueError, which shows nothing of what may be a part of a password."""
    authority = re.split("[/?#]", rest, maxsplit=1)[0]
    if "@" in rest[len(authority) :]:
        raise ConfigValueError(
            "has / ? # or @ in the user name, the password or an option",
            "percent-encode them: %2F %3F %23 %40",
        )
    for place in authority.rpartition("@")[2].split(","):
        host, port = _REDIS_HOST.fullmatch(place), place.rpartition(":")[2]
        if host is None or (host[1] and not 0 < int(port) < 65536):
            raise ConfigValueError(
                "does not name a host, or a port that is one",
                'write such as "redis://127.0.0.1:6379/0"',
            )


def redacted_url(url: str) -> str:
    """The URL without user name and password."""
    scheme, separator, rest = url.partition("://")
    credentials, at, place = rest.rpartition("@")
    return f"{scheme}{separator}{'***@' if at and credentials else ''}{place}"


def parse_redis_prefix(value: object) -> str:
    """What begins the names of our keys: letters, digits, and . _ - :, at most 64."""
    text = check_text(value)
    if not _REDIS_PREFIX.fullmatch(text):
        raise ConfigValueError(
            "has another character than letters, digits and . _ - : in it, or none",
            'write such as "reprise"',
        )
    return text


def check_text(value: object) -> str:
    """The value if it is text. It may be a secret, so no message shows it."""
    if isinstance(value, str):
        return str(value)
    raise ConfigValueError("must be text", "put it in quotes")


def parse_word(value: object) -> str:
    """Text that is not empty: a name, a model pattern, a keyword."""
    text = check_text(value)
    if not text.strip():
        raise ConfigValueError("is empty", "take it out of the list")
    return text


def parse_model(value: object) -> str:
    """A model on this machine: its name, or its directory."""
    text = check_text(value)
    if not text.strip():
        raise ConfigValueError("is empty", "name a prepared model, or its directory")
    return text


def check_not_empty(values: tuple[str, ...]) -> tuple[str, ...]:
    """A list with something in it."""
    if not values:
        raise ConfigValueError("is empty", "name one at least")
    return values


def parse_header_name(value: object) -> str:
    """A field name as RFC 9110 5.1 has it."""
    text = check_text(value)
    if not _TOKEN.fullmatch(text):
        raise ConfigValueError(
            f"{shown(value)} is not a header name", "write letters, digits and hyphens"
        )
    return text


def parse_secret(value: object) -> str:
    """A credential that can stand in a header: printable ASCII without spaces, or empty."""
    text = check_text(value)
    if text and (not PRINTABLE.fullmatch(text) or " " in text or "\t" in text):
        raise ConfigValueError(
            "has a space, a line break or a character outside ASCII in it",
            "look at how the value got into the environment or the file",
        )
    return text


def parse_upstream_header_name(value: object) -> str:
    """The name of a field that may be added to a request."""
    name = parse_header_name(value)
    if name.lower() in _FRAMING:
        raise ConfigValueError("belongs to the connection", "leave it out")
    return name


def parse_header_value(value: object) -> str:
    """A field value as RFC 9110 5.5 has it, without what is obsolete."""
    text = check_text(value)
    if text and not PRINTABLE.fullmatch(text):
        raise ConfigValueError("is not printable ASCII, or has spaces around it", "take them out")
    return text


def looks_secret(name: str) -> bool:
    """Whether a header of this name usually carries a credential."""
    return _TELLTALE.search(name) is not None


def parse_scope(value: object) -> str:
    """`credential`, `shared` or `header:<name>`."""
    text = check_text(value)
    if text in ("credential", "shared"):
        return text
    kind, _, name = text.partition(":")
    if kind != "header" or not _TOKEN.fullmatch(name):
        raise ConfigValueError(
            f"{shown(value)} is not a scope", 'write "credential", "shared" or "header:<name>"'
        )
    if name.lower() == "authorization":
        raise ConfigValueError("the Authorization header is the credential", 'write "credential"')
    return text


def parse_pattern(value: object) -> str:
    """A regular expression of Python's `re`."""
    text = parse_word(value)
    try:
        re.compile(text)
    except (re.error, OverflowError, RecursionError) as error:
        raise ConfigValueError(
            f"is not a regular expression: {error}", "see docs.python.org/3/library/re.html"
        ) from error
    return text


def parse_mask(value: object) -> str:
    """A pattern that takes something out, but never everything."""
    text = parse_pattern(value)
    if re.search(text, ""):
        raise ConfigValueError("also matches where there is nothing", "write + in place of *")
    return text


def parse_path_glob(value: object) -> str:
    """A pattern of request paths."""
    text = check_text(value)
    if text and text[0] not in "/*?[":
        raise ConfigValueError(f"{shown(text)} never matches a path", f'write "/{text}"')
    return text


def parse_ignored_field(value: object) -> str:
    """A body member that may be left out of the key: not one that makes another question."""
    text = parse_word(value)
    if text in ("messages", "prompt", "input", "model"):
        raise ConfigValueError(
            f"without {text} different questions get one answer", "leave it in the key"
        )
    return text


def shown(value: object) -> str:
    """A value as an error message shows it: quoted, shortened."""
    text = "null" if value is None else str(value)
    return f'"{text}"' if len(text) <= 60 else f'"{text[:57]}..."'
