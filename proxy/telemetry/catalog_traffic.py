"""The metrics of requests: what the cache did, how long it took, what the upstreams had to do."""

from proxy.core.cache.outcome import MissReason
from proxy.core.cache.storable import Unstorable
from proxy.core.errors import codes
from proxy.core.exchange import Fwd, Level, Stage
from proxy.core.meaning.uncompared import Uncompared
from proxy.telemetry.described import Named, Rule, counter, gauge, histogram

OPERATIONS = ("chat", "text_completion", "embeddings")
OTHER = "other"
COLLAPSED = "collapsed"
NONE = "none"
HITS = tuple(Level)
CACHE = (*Level, COLLAPSED, *Fwd, NONE)
STATUS_CLASSES = ("0xx", "1xx", "2xx", "3xx", "4xx", "5xx")
"""0xx: the client left before there was a status."""
RESULTS = (
    *("1xx", "2xx", "3xx", "4xx", "429", "5xx"),
    *("upstream_unreachable", "upstream_timeout", "upstream_broken", "cut"),
)
"""What came of a call to an upstream."""
MATCH = "match"
MEANT = (MATCH, "absent", "repeated", "feedback", "similarity", "guard", "verifier")
"""What came of looking by meaning; further ones are those of Uncompared."""
GUARDS = (
    *("antonyms", "aspect", "code", "dates", "direction", "form", "lookalikes", "markers"),
    *("modality", "names", "negation", "numbers", "paths", "question", "quoted", "roles"),
    *("scope", "substitution", "surface", "versions", "written_language"),
)
UNKNOWN = "unknown"
_UPSTREAM = {"upstream": Named("names of upstreams in the configuration, or their URLs")}
_OF_REQUESTS = {
    "operation": (*OPERATIONS, OTHER),
    "cache": CACHE,
    "status_class": STATUS_CLASSES,
}

REQUESTS = counter(
    "requests",
    "Requests that have ended, by operation, what the cache did, and class of status. Hits are "
    "`exact`, `alias` (the same words were answered by meaning before), `semantic`, `negative` (a "
    "refusal repeated). `collapsed` had part in a call that was under way. All others went to an "
    "upstream, or were answered by an error of our own; `none` ended before that was decided.",
    labels=_OF_REQUESTS,
)
DURATIONS = histogram(
    "request_duration_seconds",
    "From a request's head to the last byte of its response.",
    labels=_OF_REQUESTS,
)
FIRST_BYTES = histogram(
    "time_to_first_byte_seconds",
    "From a request's head to the first byte of its response.",
    labels=_OF_REQUESTS,
)
STALE_HITS = counter(
    "stale_hits",
    "Hits that were stale, as the client or the configuration allows it.",
    labels={"operation": (*OPERATIONS, OTHER)},
    starts_at_zero=True,
)
IN_FLIGHT = gauge(
    "in_flight_requests", "Requests of clients that are being answered.", united=Rule.SUM
)
CLIENT_GONE = counter(
    "client_gone",
    "Requests whose client left before the end of the response.",
    labels={"operation": (*OPERATIONS, OTHER)},
    starts_at_zero=True,
)
ERRORS = counter(
    "errors",
    "Errors of our own making by code; those that came after the head was sent, and those in whose "
    "place something stale was served, included.",
    labels={"code": codes()},
    starts_at_zero=True,
)
TOKENS = counter(
    "tokens",
    "Tokens of answers that say their usage: `cache` was served from here and so saved; `upstream` "
    "was made by an upstream for an answer that was stored.",
    labels={
        "operation": OPERATIONS,
        "direction": ("input", "output"),
        "source": ("cache", "upstream"),
    },
    starts_at_zero=True,
)
SAVED_SECONDS = counter(
    "saved_upstream_seconds",
    "How long upstreams had taken for the answers that were served from here.",
    labels={"operation": OPERATIONS},
    starts_at_zero=True,
)
STAGES = histogram(
    "lookup_duration_seconds",
    "Looking an answer up, by stage: `key` from the request's head until it was known whether "
    "there is one by key, reading and parsing included; `replicas` at Redis; `embed`, `search` "
    "and `gate` (guards and verifier) by meaning.",
    labels={"stage": tuple(Stage)},
)
MEANINGS = histogram(
    "semantic_lookup_duration_seconds",
    "Looking an answer up by meaning as a whole: a match, or why there was none.",
    labels={"result": tuple(dict.fromkeys((*MEANT, MissReason.REQUEST, *Uncompared)))},
)
OBJECTIONS = counter(
    "semantic_objections",
    "Look-ups by meaning that ended because a guard objected to the nearest entry.",
    labels={"guard": GUARDS},
    starts_at_zero=True,
)
SIMILARITIES = histogram(
    "semantic_similarity",
    "Similarity of questions: `served` to the one whose answer was served, `nearest` to the "
    "nearest one where nothing served.",
    labels={"result": ("served", "nearest")},
)
ANSWERS = counter(
    "answers",
    "Answers of upstreams to cacheable requests: stored, or why not.",
    labels={"verdict": ("stored", "bounds", "ttl", "overtaken", "purged", *Unstorable)},
    starts_at_zero=True,
)
UPSTREAM_REQUESTS = counter(
    "upstream_requests",
    "Calls to upstreams that have ended: the class of status of an answer that came whole (`429` "
    "by itself), what went wrong, or `cut` where we ended it.",
    labels={**_UPSTREAM, "result": RESULTS},
)
UPSTREAM_IN_FLIGHT = gauge(
    "upstream_in_flight_requests",
    "Calls to upstreams that are under way.",
    labels=_UPSTREAM,
    united=Rule.SUM,
)
UPSTREAM_DURATIONS = histogram(
    "upstream_duration_seconds",
    "From the beginning of a call to an upstream, waiting for a connection included, to its end.",
    labels=_UPSTREAM,
)
UPSTREAM_FIRST_BYTES = histogram(
    "upstream_time_to_first_byte_seconds",
    "From the beginning of a call to an upstream to the head of its answer.",
    labels=_UPSTREAM,
)
RETRIES = counter(
    "upstream_retries",
    "Calls made again because a pooled connection had died.",
    labels=_UPSTREAM,
)
FEEDBACK = counter(
    "feedback",
    "Opinions of clients and operators on answers that were served, by how the answer was found: "
    "`unknown` where no question was told and the entry was given for several.",
    labels={"verdict": ("right", "wrong"), "level": (Level.EXACT, Level.SEMANTIC, UNKNOWN)},
    starts_at_zero=True,
)
FORWARDED = counter(
    "feedback_forwarded",
    "Opinions of clients that upstreams of our kind were told.",
    labels={"result": ("taken", "unknown", "failed", "dropped")},
    starts_at_zero=True,
)
_KINDS = {"kind": ("client", "refresh", "related")}
BACKGROUND = counter(
    "background_requests",
    "Requests of low priority, by why they are made and what came of them.",
    labels={**_KINDS, "result": ("asked", "spared", "busy", "over-budget", "stored", "failed")},
    starts_at_zero=True,
)
BACKGROUND_TOKENS = counter(
    "background_tokens",
    "Tokens of answers to requests of low priority that were stored.",
    labels=_KINDS,
    starts_at_zero=True,
)

TRAFFIC = (
    *(REQUESTS, DURATIONS, FIRST_BYTES, STALE_HITS, IN_FLIGHT, CLIENT_GONE, ERRORS),
    *(TOKENS, SAVED_SECONDS, STAGES, MEANINGS, OBJECTIONS, SIMILARITIES, ANSWERS),
    *(UPSTREAM_REQUESTS, UPSTREAM_IN_FLIGHT, UPSTREAM_DURATIONS, UPSTREAM_FIRST_BYTES, RETRIES),
    *(FEEDBACK, FORWARDED, BACKGROUND, BACKGROUND_TOKENS),
    gauge(
        "background_requests_waiting",
        "Requests of low priority that wait for their turn.",
        united=Rule.SUM,
    ),
    gauge("flights", "Calls to upstreams that others may join.", united=Rule.SUM),
    gauge("connections", "Connections of clients.", united=Rule.SUM),
)
