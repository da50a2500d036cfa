"""The types of the configuration's values, as pydantic checks, writes and describes them."""

from typing import Annotated, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PlainSerializer,
    PlainValidator,
    WithJsonSchema,
)

from proxy.config_file import resolve
from proxy.config_values import (
    DURATION_PATTERN,
    SIZE_PATTERN,
    FromEnv,
    check_not_empty,
    format_duration,
    format_size,
    format_timeout,
    parse_address,
    parse_deadline,
    parse_duration,
    parse_header_name,
    parse_header_value,
    parse_ignored_field,
    parse_mask,
    parse_model,
    parse_path_glob,
    parse_pattern,
    parse_redis_prefix,
    parse_redis_url,
    parse_scope,
    parse_secret,
    parse_size,
    parse_timeout,
    parse_trace_endpoint,
    parse_upstream_header_name,
    parse_url,
    parse_word,
    redacted_url,
)
from proxy.core.address import Address

REDACTED = "***"
"""Stands for a secret that is set."""

_FROM_ENV: dict[str, object] = {"type": "string", "pattern": r"\$\{"}
_DURATIONS = ["250ms", "30s", "10m", "24h", "7d", "1h30m"]


def _typed(value: object) -> object:
    """What came from the environment is text; here a number or a truth value is wanted."""
    return resolve(value) if isinstance(value, FromEnv) else value


def _redact(secret: str) -> str:
    return REDACTED if secret else ""


def _redact_all(headers: dict[str, str]) -> dict[str, str]:
    return dict.fromkeys(headers, REDACTED)


def _or_env(*schemas: dict[str, object]) -> WithJsonSchema:
    return WithJsonSchema({"anyOf": [*schemas, _FROM_ENV]})


def _text_schema(**more: object) -> WithJsonSchema:
    return WithJsonSchema({"type": "string", **more})


def _notation(pattern: str, examples: list[str], *others: dict[str, object]) -> WithJsonSchema:
    return WithJsonSchema(
        {
            "anyOf": [{"type": "string", "pattern": pattern}, *others, _FROM_ENV],
            "examples": examples,
        }
    )


Flag = Annotated[
    bool,
    BeforeValidator(_typed),
    _or_env({"type": "boolean"}),
]
Count = Annotated[
    int,
    Field(ge=1),
    BeforeValidator(_typed),
    _or_env({"type": "integer", "minimum": 1}),
]
Whole = Annotated[
    int,
    Field(ge=0),
    BeforeValidator(_typed),
    _or_env({"type": "integer", "minimum": 0}),
]
Share = Annotated[
    float,
    Field(ge=0, le=0.5),
    BeforeValidator(_typed),
    _or_env({"type": "number", "minimum": 0, "maximum": 0.5}),
]
Sample = Annotated[
    float,
    Field(ge=0, le=1),
    BeforeValidator(_typed),
    _or_env({"type": "number", "minimum": 0, "maximum": 1}),
]
Similarity = Annotated[
    float,
    Field(ge=0, le=1),
    BeforeValidator(_typed),
    _or_env({"type": "number", "minimum": 0, "maximum": 1}),
]
ErrorRate = Annotated[
    float,
    Field(gt=0, le=0.5),
    BeforeValidator(_typed),
    _or_env({"type": "number", "exclusiveMinimum": 0, "maximum": 0.5}),
]
HighTemperature = Annotated[
    float,
    Field(ge=0, allow_inf_nan=False),
    BeforeValidator(_typed),
    _or_env({"type": "number", "minimum": 0}),
]
Temperature = Annotated[
    Annotated[float, Field(ge=0)] | None,
    BeforeValidator(_typed),
    _or_env({"type": "number", "minimum": 0}, {"type": "null"}),
]
Duration = Annotated[
    float,
    PlainValidator(parse_duration),
    PlainSerializer(format_duration),
    _notation(DURATION_PATTERN, _DURATIONS, {"const": 0}),
]
Deadline = Annotated[
    float,
    PlainValidator(parse_deadline),
    PlainSerializer(format_duration),
    _notation(DURATION_PATTERN, ["50ms", "100ms", "1s"]),
]
OptionalDuration = Annotated[
    float | None,
    PlainValidator(lambda value: None if value is None else parse_duration(value)),
    PlainSerializer(lambda value: None if value is None else format_duration(value)),
    _notation(DURATION_PATTERN, _DURATIONS, {"const": 0}, {"type": "null"}),
]
Timeout = Annotated[
    float | None,
    PlainValidator(parse_timeout),
    PlainSerializer(format_timeout),
    _notation(DURATION_PATTERN, [*_DURATIONS, "none"], {"const": "none"}),
]
Size = Annotated[
    int,
    PlainValidator(parse_size),
    PlainSerializer(format_size),
    _notation(SIZE_PATTERN, ["64KiB", "4MiB"], {"type": "integer", "minimum": 1}),
]
Listen = Annotated[
    Address,
    PlainValidator(parse_address),
    PlainSerializer(str),
    _text_schema(examples=["127.0.0.1:8080", "*:8080", "0.0.0.0:8080", "[::1]:8080"]),
]
Url = Annotated[
    str,
    PlainValidator(parse_url),
    _text_schema(examples=["http://127.0.0.1:11434", "https://llm.example.org/api"]),
]
OptionalUrl = Annotated[
    str | None,
    PlainValidator(lambda value: None if value is None else parse_url(value)),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "null"}]}),
]
TraceEndpoint = Annotated[
    str,
    PlainValidator(parse_trace_endpoint),
    _text_schema(examples=["http://collector:4318"]),
]
RedisUrl = Annotated[
    str,
    PlainValidator(parse_redis_url),
    PlainSerializer(redacted_url),
    _text_schema(examples=["redis://127.0.0.1:6379/0", "${REPRISE_REDIS_URL:-}"]),
]
RedisPrefix = Annotated[str, PlainValidator(parse_redis_prefix), _text_schema()]
Secret = Annotated[
    str,
    PlainValidator(parse_secret),
    PlainSerializer(_redact),
    _text_schema(examples=["${REPRISE_ADMIN_TOKEN:-}"]),
]
HeaderName = Annotated[str, PlainValidator(parse_header_name)]
UpstreamHeaderName = Annotated[str, PlainValidator(parse_upstream_header_name)]
HeaderValue = Annotated[str, PlainValidator(parse_header_value), _text_schema()]
Headers = Annotated[dict[UpstreamHeaderName, HeaderValue], PlainSerializer(_redact_all)]
Scope = Annotated[
    str,
    PlainValidator(parse_scope),
    _text_schema(
        pattern=r"^(credential|shared|header:.+)$|\$\{",
        examples=["credential", "shared", "header:x-tenant"],
    ),
]
PathGlob = Annotated[
    str, PlainValidator(parse_path_glob), _text_schema(examples=["/v1/embeddings"])
]
HeaderGlob = Annotated[dict[HeaderName, HeaderValue], Field(max_length=1)]
Word = Annotated[str, PlainValidator(parse_word), _text_schema()]
Pattern = Annotated[str, PlainValidator(parse_pattern), _text_schema(format="regex")]
Mask = Annotated[str, PlainValidator(parse_mask), _text_schema(format="regex")]
IgnoredField = Annotated[str, PlainValidator(parse_ignored_field), _text_schema()]
ModelName = Annotated[
    str,
    PlainValidator(parse_model),
    _text_schema(examples=["all-minilm-l6-v2", "/srv/models/ours"]),
]

ScriptName = Literal[
    "latin",
    "han",
    "kana",
    "hangul",
    "cyrillic",
    "greek",
    "arabic",
    "hebrew",
    "indic",
    "thai",
    "other",
]
"""As core/meaning/script.py names them."""
LanguageName = Literal["en", "zh", "other"]

# a YAML list becomes a tuple
_SOME = (
    Field(strict=False, json_schema_extra={"minItems": 1}),
    AfterValidator(check_not_empty),
)
Scripts = Annotated[tuple[ScriptName, ...], *_SOME]
Languages = Annotated[tuple[LanguageName, ...], *_SOME]
Words = Annotated[tuple[Word, ...], Field(strict=False)]
Patterns = Annotated[tuple[Pattern, ...], Field(strict=False)]
Masks = Annotated[tuple[Mask, ...], Field(strict=False)]
IgnoredFields = Annotated[tuple[IgnoredField, ...], Field(strict=False)]
