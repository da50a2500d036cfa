"""The shape of the configuration file: its keys, their types, defaults and meanings.

The JSON schema of config/ and the redacted view of the admin plane are made from these models.
"""

from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field
from pydantic.json_schema import GenerateJsonSchema

from proxy.config_types import (
    Count,
    Deadline,
    Duration,
    ErrorRate,
    Flag,
    HeaderGlob,
    Headers,
    HighTemperature,
    IgnoredFields,
    Languages,
    Listen,
    Masks,
    ModelName,
    OptionalDuration,
    OptionalUrl,
    PathGlob,
    Patterns,
    RedisPrefix,
    RedisUrl,
    Sample,
    Scope,
    Scripts,
    Secret,
    Share,
    Similarity,
    Size,
    Temperature,
    Timeout,
    TraceEndpoint,
    Url,
    Whole,
    Word,
    Words,
)

NOW_WORDS = (
    *("today", "tonight", "tomorrow", "yesterday", "now", "nowadays", "currently", "recently"),
    *("latest", "newest", "recent", "so far", "up to date", "at the moment", "this morning"),
    *("this afternoon", "this evening", "this weekend", "this week", "this month", "this year"),
    *("last night", "last week", "last month", "next week", "next month", "news"),
    *("what time is it", "what day is it", "what is the time", "what's the time"),
    *("今天", "今日", "今晚", "今早", "明天", "昨天", "昨晚", "前天", "后天"),
    *("现在", "目前", "当前", "如今", "此刻", "刚刚", "刚才", "实时", "最新", "现任"),
    *("最近", "近期", "本周", "这周", "上周", "下周", "本月", "这个月", "上个月", "下个月", "今年"),
    *("几点了", "新闻", "現在", "當前", "剛剛", "剛才", "實時", "本週", "這週", "這周", "這個月"),
)
"""Words by which a question asks about the time when it is asked: its answer does not keep."""

Model = TypeVar("Model", bound=BaseModel)


def setting(default: Any, description: str, *, restart: bool = False) -> Any:
    """A key of the file. `restart` marks one that a running process does not take over."""
    if not restart:
        return Field(default, description=description)
    return Field(
        default,
        description=f"{description} Needs a restart.",
        json_schema_extra={"x-needs-restart": True},
    )


def section(model: type[Model], description: str) -> Any:
    """A key with keys of its own, all of which have defaults."""
    return Field(default_factory=model, description=description)


class Section(BaseModel):
    """Keys that stand together: no others, no conversion between types, never changed."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, validate_default=True)


class Upstream(Section):
    """A server that answers, and the models that it answers for."""

    url: Url = Field(
        description="Scheme, host, port and path prefix. The path of a request is appended, "
        "so it usually ends before /v1."
    )
    name: str = setting(
        "", "Its name in keys, logs and metrics; the URL if empty. Keep it when the URL changes."
    )
    models: Words = setting((), "Globs of the models that it serves; empty serves every model.")
    api_key: Secret = setting("", "Sent as bearer token in place of the client's.")
    headers: Headers = setting(
        {}, "Further headers of requests to it. Secrets come from the environment."
    )
    reprise: Flag = setting(
        False, "It is a Reprise too: wishes of clients, feedback and purges go on to it."
    )
    admin_url: OptionalUrl = setting(None, "Its admin listener; purges and epochs go on to it too.")
    admin_token: Secret = setting("", "The token of its admin listener.")


class Admin(Section):
    """The second listener: health, metrics, entries, purge."""

    listen: Listen = setting("127.0.0.1:8081", "Address of the admin listener.", restart=True)
    token: Secret = setting(
        "",
        "Bearer token for what changes state or shows content; empty allows neither.",
        restart=True,
    )


class Ttl(Section):
    """How long a stored response is served."""

    exact: Duration = setting("24h", "Freshness lifetime of an entry that is found by its key.")
    semantic: OptionalDuration = setting(
        None, "The same of one that is found by meaning; null is the same as `exact`."
    )
    jitter: Share = setting(
        0.1, "Share of the lifetime by which it varies at random, so that not all expire at once."
    )
    stale_while_revalidate: Duration = setting(
        "0s", "How long after expiry a stale response is served while a fresh one is fetched."
    )
    stale_if_error: Duration = setting(
        "10m", "How long after expiry a stale response is served when the upstream fails."
    )
    errors: Duration = setting(
        "0s",
        "How long the upstream's refusal of a request (400, 404, 413, 415, 422 with an error "
        "object) is repeated without asking again.",
    )
    refresh_ahead: Share = setting(
        0.0,
        "Share of the lifetime, at its end, in which an entry that is asked for again and again "
        "is fetched anew in the background; 0 never.",
    )


class Memory(Section):
    """Bounds of the entries in memory."""

    max_bytes: Size = setting("256MiB", "All entries together.")
    max_entries: Count = setting(100_000, "Number of entries.")
    max_entry_bytes: Size = setting("4MiB", "The largest response that is stored.")
    doorkeeper: Flag = setting(
        False, "Store an answer only when its question comes for the second time."
    )


class Limits(Section):
    """Bounds of requests and connections."""

    max_body_bytes: Size = setting("64MiB", "The largest request body; above it: 413.")
    max_keyed_body_bytes: Size = setting(
        "8MiB", "The largest request body that is looked up; above it a request is passed on."
    )
    max_header_bytes: Size = setting(
        "64KiB", "The request line, and each header field of a request.", restart=True
    )
    max_connections: Count = setting(1024, "Connections to all upstreams.", restart=True)


class Timeouts(Section):
    """Deadlines of one upstream exchange; `none` is no bound."""

    connect: Timeout = setting("5s", "Until the connection is made.")
    first_byte: Timeout = setting("10m", "From the request's end to the first byte of the answer.")
    between_bytes: Timeout = setting("5m", "Between two pieces of the answer.")
    total: Timeout = setting("1h", "The whole exchange.")


class RouteTenancy(Section):
    """Who shares stored responses with whom."""

    scope: Scope = setting(
        "credential",
        "`credential`: nobody beyond one credential; `shared`: everybody of the route; "
        "`header:<name>`: who has the same value in a header that a trusted hop sets.",
    )


class Tenancy(RouteTenancy):
    """Who shares stored responses with whom."""

    secret: Secret = setting(
        "",
        "Key of the hash of credentials; empty makes one, and keeps it with what outlasts the "
        "process.",
        restart=True,
    )


class Conduct(Section):
    """What is looked up and stored, and what goes into the key."""

    deterministic_only: Flag = setting(
        False, "Only requests with `temperature: 0`, and embeddings, are looked up and stored."
    )
    on_client_gone: Literal["finish", "abort"] = setting(
        "finish",
        "What becomes of an upstream answer whose last reader has left: "
        "`finish` completes and stores it, `abort` ends it.",
    )
    finish_within: Duration = setting("30s", "How long `finish` may take.")
    ignore_fields: IgnoredFields = setting((), "Body members that do not count in the key.")
    masks: Masks = setting(
        (),
        "Regular expressions; what they match is taken out of the key's text, "
        "not out of the request.",
    )
    epoch: str = setting("", "Part of the key; a new value leaves everything stored before behind.")
    store: Flag = setting(
        True, "Whether new answers are stored; without, only what is there is served."
    )


class Bypass(Section):
    """Requests that the cache leaves alone."""

    models: Words = setting((), "Globs of model names.")
    keywords: Words = setting(
        (), "Words in the last user text; case does not count, Latin words match as a whole."
    )
    patterns: Patterns = setting((), "Regular expressions, searched in the last user text.")
    fields: Words = setting((), "Body members whose presence is enough.")
    max_temperature: Temperature = setting(None, "A given temperature above it; null is no bound.")
    tools: Flag = setting(False, "Requests that offer tools.")
    media: Flag = setting(False, "Requests with images, audio or files.")


class SemanticBypass(Section):
    """Questions that are not compared by meaning."""

    keywords: Words = setting(
        NOW_WORDS,
        "Words in the last user text, by default those that ask about now; "
        "case does not count, Latin words match as a whole.",
    )
    patterns: Patterns = setting((), "Regular expressions, searched in the last user text.")


class RouteSemantic(Section):
    """Answers to questions that mean the same."""

    enabled: Flag = setting(True, "Whether questions are compared by meaning.")
    max_error_rate: ErrorRate = setting(
        0.01, "Chooses how sure the verifier must be, by its calibration; see docs/quality.md."
    )
    min_similarity: Similarity = setting(
        0.0, "A similarity that is needed besides; 0 leaves it to the calibration."
    )
    deadline: Deadline = setting(
        "100ms", "How long a request waits for its question to be compared, at most."
    )
    max_temperature: HighTemperature = setting(
        1.0, "Requests with a given temperature above it are not compared."
    )
    tools: Flag = setting(False, "Compare requests that offer tools too.")
    languages: Languages = setting(
        ("en", "zh"),
        "Languages whose questions are compared: `en`, all in Latin letters; `zh`, Chinese; "
        "`other`, the rest, for which there are no guards.",
    )
    bypass: SemanticBypass = section(SemanticBypass, "Questions that are not compared.")


class EncoderModel(Section):
    """A sentence encoder and what it is for."""

    model: ModelName = Field(
        description="A prepared model by its name (`reprise models list`), or its directory."
    )
    scripts: Scripts = Field(description="The scripts of the texts that it serves.")
    load: Literal["eager", "lazy"] = setting(
        "eager", "`eager`: before the proxy is ready; `lazy`: when the first text needs it."
    )
    threads: Count = setting(1, "Threads of one forward pass.")


class Semantic(RouteSemantic):
    """Answers to questions that mean the same."""

    encoders: Annotated[tuple[EncoderModel, ...], Field(strict=False)] = setting(
        (
            EncoderModel(model="all-minilm-l6-v2", scripts=("latin",)),
            EncoderModel(
                model="multilingual-e5-small",
                scripts=(
                    *("han", "kana", "hangul", "cyrillic", "greek"),
                    *("arabic", "hebrew", "indic", "thai", "other"),
                ),
                load="lazy",
            ),
        ),
        "Sentence encoders; a text goes to the one that serves its script. "
        "Without any, answers are found by their key alone.",
        restart=True,
    )
    scan_below: Count = setting(
        10_000,
        "Entries that may be compared with each other up to which all are looked at; "
        "above, an HNSW graph is searched.",
        restart=True,
    )
    index: Literal["memory", "redis"] = setting(
        "memory",
        "Where vectors are searched: in this process, or in vector sets of the Redis (8.2 or "
        "newer) of `persist.redis.url`.",
        restart=True,
    )
    verifier: str = setting(
        "", "A file made by `reprise train`; empty is the one that is shipped.", restart=True
    )


class Privacy(Section):
    """What is kept and told of the text of requests."""

    keep_prompts: Flag = setting(
        False,
        "Keep questions that were not found, and show the text of questions on the admin "
        "listener and in the commands that ask it.",
    )
    record_requests: str = setting(
        "",
        "A file to which requests that are looked up are appended, bodies and all, one JSON object "
        "a line, for `reprise warm`; empty records none.",
        restart=True,
    )


class Disk(Section):
    """What is kept on local disk."""

    enabled: Flag = setting(
        True, "Keep what was learnt in a file, so that a restart loses nothing.", restart=True
    )
    path: str = setting(
        "", "Its directory; empty is `reprise` in $XDG_DATA_HOME (~/.local/share).", restart=True
    )
    max_bytes: Size = setting("1GiB", "The largest size of what it keeps.", restart=True)


class Redis(Section):
    """What replicas share."""

    url: RedisUrl = setting(
        "",
        "`redis://`, `rediss://` (TLS), `unix://`, `redis+sentinel://HOST,HOST/MASTER` or "
        "`redis+cluster://HOST,HOST`; empty shares nothing.",
        restart=True,
    )
    prefix: RedisPrefix = setting("reprise", "Begins the names of all keys.", restart=True)
    deadline: Deadline = setting(
        "20ms", "How long a request waits for Redis at most.", restart=True
    )
    max_connections: Count = setting(
        16, "Connections to each server; fewer than 5 count as 5.", restart=True
    )
    log_entries: Count = setting(
        100_000, "Changes that the log holds for replicas that are behind.", restart=True
    )
    snapshot_every: Duration = setting(
        "5m",
        "How often one of the replicas writes a snapshot of what is found by meaning.",
        restart=True,
    )
    collapse_wait: Duration = setting(
        "10s",
        "How long a request waits for the same call of another replica; 0 does not.",
        restart=True,
    )


class Persist(Section):
    """What outlasts the process."""

    disk: Disk = section(Disk, "What is kept on local disk.")
    redis: Redis = section(Redis, "What replicas share.")


class Background(Section):
    """Requests of the proxy's own making, and those marked `x-cache-priority: background`."""

    related: Flag = setting(
        False, "After a hit, ask what usually follows it, if that is not stored."
    )
    yield_above: Whole = setting(
        0, "They wait while more requests of clients than this are at the upstream."
    )
    max_concurrent: Count = setting(1, "How many are at the upstream at a time.")
    max_per_minute: Count = setting(60, "How many begin in a minute, related and refreshed ones.")
    max_tokens_per_hour: Count = setting(
        100_000, "Tokens that related and refreshed ones may take in an hour."
    )


class Log(Section):
    """What is written to stderr."""

    format: Literal["auto", "json", "console"] = setting(
        "auto", "`auto` is `console` on a terminal, else `json`.", restart=True
    )
    level: Literal["debug", "info", "warning", "error"] = setting("info", "The least that is said.")


class Tracing(Section):
    """Traces of requests, sent to an OpenTelemetry collector."""

    endpoint: TraceEndpoint = setting(
        "",
        "The collector's URL (OTLP over HTTP); `/v1/traces` is appended where it has no path. "
        "Empty traces nothing.",
        restart=True,
    )
    sample: Sample = setting(
        1.0,
        "Share of the traces that begin here which are recorded; a client's own trace says itself.",
        restart=True,
    )
    headers: Headers = setting(
        {},
        "Further headers of requests to the collector. Secrets come from the environment.",
        restart=True,
    )
    service_name: Word = setting("reprise", "The service's name in traces.", restart=True)


class Shutdown(Section):
    """What happens on SIGTERM."""

    grace: Duration = setting("30s", "How long requests in flight may take to end.")


class MatchModel(Section):
    """Which requests a route is for; what is left out matches everything."""

    path: PathGlob = setting("", "Glob of the request path.")
    model: str = setting("", "Glob of the model that is asked for.")
    header: HeaderGlob = setting(
        {}, 'One header and a glob of its value; "" is any value that is not empty.'
    )


class RouteModel(Section):
    """Other settings for some requests. Keys that are left out keep the value of the top level."""

    match: MatchModel = Field(description="Which requests. The first route that matches wins.")
    ttl: Ttl = section(Ttl, "Overrides of `ttl`, key by key.")
    policy: Conduct = section(Conduct, "Overrides of `policy`, key by key.")
    bypass: Bypass = section(Bypass, "Overrides of `bypass`, key by key; a list replaces a list.")
    semantic: RouteSemantic = section(
        RouteSemantic,
        "Overrides of `semantic`, key by key, those of `bypass` too; a list replaces a list.",
    )
    timeouts: Timeouts = section(Timeouts, "Overrides of `timeouts`, key by key.")
    tenancy: RouteTenancy = section(RouteTenancy, "Overrides of `tenancy.scope`.")


class File(Section):
    """Configuration of Reprise."""

    version: Annotated[int, Field(ge=1, le=1)] = setting(1, "Version of this format.")
    listen: Listen = setting("127.0.0.1:8080", "Address of the proxy.", restart=True)
    workers: Count = setting(
        1, "Processes that share the address, and through disk what they learn.", restart=True
    )
    upstream: Url | None = setting(None, "The only upstream; or else `upstreams`.")
    upstreams: Annotated[tuple[Upstream, ...], Field(strict=False)] = setting(
        (), "Several upstreams. A request goes to the first that names its model."
    )
    admin: Admin = section(Admin, "The admin listener.")
    ttl: Ttl = section(Ttl, "How long a stored response is served.")
    memory: Memory = section(Memory, "Bounds of the entries in memory.")
    persist: Persist = section(Persist, "What outlasts the process.")
    background: Background = section(Background, "Requests of the proxy's own making.")
    limits: Limits = section(Limits, "Bounds of requests and connections.")
    timeouts: Timeouts = section(Timeouts, "Deadlines of one upstream exchange.")
    tenancy: Tenancy = section(Tenancy, "Who shares stored responses with whom.")
    policy: Conduct = section(Conduct, "What is looked up and stored, and under which key.")
    bypass: Bypass = section(Bypass, "Requests that the cache leaves alone.")
    semantic: Semantic = section(Semantic, "Answers to questions that mean the same.")
    privacy: Privacy = section(Privacy, "What is kept and told of the text of requests.")
    log: Log = section(Log, "What is written to stderr.")
    tracing: Tracing = section(Tracing, "Traces of requests.")
    shutdown: Shutdown = section(Shutdown, "What happens on SIGTERM.")
    routes: Annotated[tuple[RouteModel, ...], Field(strict=False)] = setting(
        (), "Other settings for some requests; the first match wins."
    )


class _Untitled(GenerateJsonSchema):
    """Without the titles that only repeat a key."""

    def field_title_should_be_set(self, schema: object) -> bool:
        return False


def json_schema() -> dict[str, Any]:
    """The JSON schema of the file, for editors."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **File.model_json_schema(schema_generator=_Untitled),
        "title": "Reprise",
        "not": {"required": ["upstream", "upstreams"]},
    }
