"""From a file and the command line to rules, limits and what needs a restart."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from proxy.config import STATIC_PATHS, Config, load, static_changes
from proxy.config_file import ConfigError
from proxy.config_model import NOW_WORDS, EncoderModel
from proxy.config_values import format_duration, format_size
from proxy.core.policy import (
    BypassRules,
    Deadlines,
    Match,
    OnClientGone,
    Policy,
    Pool,
    Route,
    Rules,
    ScopeKind,
    SemanticRules,
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "reprise.yaml"


def loaded(file: Path, text: str, **env: str) -> Config:
    file.write_text(text)
    return load(file, env=env)


def test_nothing_but_an_upstream_is_needed() -> None:
    config = load(None, upstream="http://127.0.0.1:11434/", env={})
    url = "http://127.0.0.1:11434"
    policy = Policy(semantic=SemanticRules(keywords=NOW_WORDS))
    assert config.rules(7) == Rules(7, (Pool(url, url),), policy)
    assert (str(config.static.listen), str(config.static.admin_listen)) == (
        "127.0.0.1:8080",
        "127.0.0.1:8081",
    )
    assert config.dynamic.memory_max_bytes == 256 << 20
    assert config.dynamic.shutdown_grace == 30
    assert not config.dynamic.keep_prompts
    assert [encoder.load for encoder in config.static.encoders] == ["eager", "lazy"]
    assert (config.static.scan_below, config.static.verifier) == (10_000, "")


def test_without_an_upstream_there_is_no_configuration() -> None:
    with pytest.raises(ConfigError, match=r"^upstream: is missing; write .* or give --upstream$"):
        load(None, env={})


def test_everything_arrives_where_it_belongs(file: Path) -> None:
    config = loaded(
        file,
        r"""
version: 1
listen: 0.0.0.0:80
upstreams:
  - {name: a, url: http://a/, models: [x*], api_key: "${KEY}", headers: {X-Team: "b c"}}
  - {url: http://b}
admin: {listen: "[::1]:81", token: t}
ttl: {exact: 1h, semantic: 30m, jitter: 0, stale_while_revalidate: 2s, stale_if_error: 0}
memory: {max_bytes: 1GiB, max_entries: 5, max_entry_bytes: 6}
limits: {max_body_bytes: 7, max_keyed_body_bytes: 8, max_header_bytes: 9, max_connections: 10}
timeouts: {connect: 1s, first_byte: 2s, between_bytes: 3s, total: none}
tenancy: {scope: "header:x-tenant", secret: s}
policy:
  deterministic_only: true
  on_client_gone: abort
  finish_within: 11s
  ignore_fields: [trace]
  masks: ['\d+']
  epoch: e
bypass:
  models: [m]
  keywords: [k]
  patterns: [p+]
  fields: [f]
  max_temperature: 1
  tools: true
  media: true
semantic:
  enabled: false
  max_error_rate: 0.05
  min_similarity: 0.9
  deadline: 13ms
  max_temperature: 0
  tools: true
  languages: [zh, other]
  bypass: {keywords: [price], patterns: [q+]}
  encoders: [{model: /srv/ours, scripts: [thai, latin], load: lazy, threads: 2}]
  scan_below: 14
  verifier: ours.json
privacy: {keep_prompts: true}
log: {format: json, level: debug}
shutdown: {grace: 12s}
""",
        KEY="sk",
    )
    static, dynamic = config.static, config.dynamic
    assert [str(static.listen), str(static.admin_listen)] == ["0.0.0.0:80", "[::1]:81"]
    assert (static.admin_token, static.secret) == ("t", "s")
    assert (static.max_header_bytes, static.max_connections, static.log_format) == (9, 10, "json")
    assert static.encoders == (
        EncoderModel(model="/srv/ours", scripts=("thai", "latin"), load="lazy", threads=2),
    )
    assert (static.scan_below, static.verifier) == (14, "ours.json")
    assert dynamic.keep_prompts
    assert dynamic.pools == (
        Pool("a", "http://a", ("x*",), "sk", ((b"X-Team", b"b c"),)),
        Pool("http://b", "http://b"),
    )
    assert (dynamic.memory_max_bytes, dynamic.memory_max_entries) == (1 << 30, 5)
    assert dynamic.memory_max_entry_bytes == 6
    assert (dynamic.max_body_bytes, dynamic.max_keyed_body_bytes) == (7, 8)
    assert (dynamic.log_level, dynamic.shutdown_grace) == ("debug", 12)
    assert dynamic.policy == Policy(
        scope=ScopeKind.HEADER,
        scope_header="x-tenant",
        epoch="e",
        ttl=3600,
        ttl_jitter=0,
        stale_while_revalidate=2,
        stale_if_error=0,
        deterministic_only=True,
        on_client_gone=OnClientGone.ABORT,
        finish_within=11,
        ignore_fields=frozenset({"trace"}),
        masks=(re.compile(r"\d+"),),
        bypass=BypassRules(("m",), ("k",), (re.compile("p+"),), ("f",), 1.0, True, True),
        semantic=SemanticRules(
            enabled=False,
            ttl=1800,
            max_error_rate=0.05,
            min_similarity=0.9,
            deadline=0.013,
            max_temperature=0,
            tools=True,
            languages=frozenset({"zh", "other"}),
            keywords=("price",),
            patterns=(re.compile("q+"),),
        ),
        deadlines=Deadlines(1, 2, 3, None),
    )


def test_route_overrides_what_it_names(file: Path) -> None:
    config = loaded(
        file,
        """
upstream: http://x
ttl: {exact: 1h, stale_if_error: 2h}
bypass: {keywords: [a, b], tools: true}
policy: {epoch: e}
tenancy: {scope: shared}
routes:
  - match: {path: /v1/embeddings, model: "m*", header: {x-team: "s-*"}}
    ttl: {stale_if_error: 0}
    bypass: {keywords: [c]}
    timeouts: {total: none}
    policy: {deterministic_only: true}
    tenancy: {scope: credential}
  - match: {model: n}
""",
    )
    default = config.dynamic.policy
    first, second = config.dynamic.routes
    assert first.match == Match("/v1/embeddings", "m*", "x-team", "s-*")
    assert first.policy == replace(
        default,
        stale_if_error=0,
        bypass=replace(default.bypass, keywords=("c",)),
        deadlines=replace(default.deadlines, total=None),
        deterministic_only=True,
        scope=ScopeKind.CREDENTIAL,
    )
    assert second == Route(Match(model="n"), default)


def test_route_overrides_the_semantic_level_key_by_key(file: Path) -> None:
    config = loaded(
        file,
        """
upstream: http://x
ttl: {semantic: 1h}
semantic: {max_error_rate: 0.02, languages: [en], bypass: {patterns: [p]}}
routes:
  - match: {model: a}
    ttl: {semantic: 2h}
    semantic: {tools: true, bypass: {keywords: [price]}}
  - match: {model: b}
    semantic: {enabled: false, languages: [zh], bypass: {patterns: []}}
  - match: {model: c}
    semantic: {bypass: {}}
""",
    )
    default = config.dynamic.policy
    assert (default.semantic.ttl, default.semantic.keywords) == (3600, NOW_WORDS)
    first, second, third = (route.policy.semantic for route in config.dynamic.routes)
    assert first == replace(default.semantic, ttl=7200, tools=True, keywords=("price",))
    assert second == replace(
        default.semantic, enabled=False, languages=frozenset({"zh"}), patterns=()
    )
    assert third == default.semantic


def test_unless_said_an_answer_is_found_by_meaning_as_long_as_by_key(file: Path) -> None:
    config = loaded(
        file,
        """
upstream: http://x
ttl: {exact: 1h}
routes:
  - {match: {model: m}, ttl: {exact: 2h}}
""",
    )
    assert config.dynamic.policy.semantic.ttl == 3600
    assert config.dynamic.routes[0].policy.semantic.ttl == 7200
    assert config.redacted()["ttl"]["semantic"] is None


def test_first_route_that_matches_decides(file: Path) -> None:
    rules = loaded(
        file,
        """
upstream: http://x
routes:
  - {match: {header: {x-team: ""}}, ttl: {exact: 1s}}
  - {match: {model: "m*"}, ttl: {exact: 2s}}
""",
    ).rules(0)
    teams: list[str | None] = ["blue", None]
    assert [rules.policy_for("/", "m1", lambda _, team=team: team).ttl for team in teams] == [1, 2]  # type: ignore[misc]
    assert rules.policy_for("/", "n", lambda _: None).ttl == 86400


def test_command_line_wins(file: Path) -> None:
    file.write_text("upstream: http://x\nlisten: h:1\nadmin: {listen: 'h:2', token: t}\n")
    config = load(
        file,
        upstream="http://y",
        listen="h:3",
        admin_listen="h:4",
        log_level="error",
        env={},
    )
    assert config.dynamic.pools[0].url == "http://y"
    assert config.dynamic.log_level == "error"
    assert (config.static.listen.port, config.static.admin_listen.port) == (3, 4)
    assert config.static.admin_token == "t"


def test_content_that_is_given_takes_the_place_of_the_file(file: Path) -> None:
    raw = b"upstream: http://given"
    given = load(file.with_name("not-there.yaml"), env={}, raw=raw)
    assert given.dynamic.pools[0].url == "http://given"
    file.write_bytes(raw)
    assert load(file, env={}).digest == given.digest


def test_empty_file_needs_the_command_line(file: Path) -> None:
    with pytest.raises(ConfigError, match=r"reprise\.yaml: upstream: is missing"):
        loaded(file, "")
    assert load(file, upstream="http://x", env={}).dynamic.pools[0].url == "http://x"


def test_digest_stands_for_file_and_command_line(file: Path) -> None:
    text = "upstream: http://x\n"
    digest = loaded(file, text).digest
    assert len(digest) == 64
    assert loaded(file, text).digest == digest
    assert loaded(file, text + "# \n").digest != digest
    file.write_text(text)
    assert load(file, listen="h:1", env={}).digest != digest


STATIC_TEXT = """
upstream: http://x
listen: h:1
admin: {listen: "h:2", token: t}
tenancy: {secret: s}
limits: {max_header_bytes: 1, max_connections: 1}
log: {format: json}
semantic: {encoders: [], scan_below: 1, verifier: v.json, index: redis}
workers: 2
privacy: {record_requests: f}
persist:
  disk: {enabled: false, path: p, max_bytes: 1}
  redis:
    url: redis://user:geheim@h/0
    prefix: p
    deadline: 1s
    max_connections: 1
    log_entries: 1
    snapshot_every: 1s
    collapse_wait: 1s
tracing:
  endpoint: http://collector:4318
  sample: 0.5
  headers: {x-team: search}
  service_name: llm-cache
"""


def test_every_static_change_is_named(file: Path) -> None:
    old, new = loaded(file, "upstream: http://y"), loaded(file, STATIC_TEXT)
    assert static_changes(old, new) == list(STATIC_PATHS)
    assert static_changes(old, old) == []
    assert static_changes(old, loaded(file, "upstream: http://x")) == []


def test_static_part_of_a_running_process_stays(file: Path) -> None:
    running = loaded(file, STATIC_TEXT)
    new = loaded(
        file,
        "upstream: http://new\nttl: {exact: 1h}\nlog: {level: error}\nsemantic: {deadline: 1s}",
    )
    merged = new.with_static_of(running)
    assert (merged.static, merged.dynamic, merged.digest) == (
        running.static,
        new.dynamic,
        new.digest,
    )
    shown = merged.redacted()
    assert (shown["listen"], shown["admin"]) == ("h:1", {"listen": "h:2", "token": "***"})
    assert shown["log"] == {"format": "json", "level": "error"}
    assert (shown["upstream"], shown["ttl"]["exact"]) == ("http://new", "1h")
    assert (shown["semantic"]["encoders"], shown["semantic"]["scan_below"]) == ([], 1)
    assert shown["semantic"]["deadline"] == "1s"
    assert shown["persist"]["redis"]["url"] == "redis://***@h/0"
    assert running.static.trace_endpoint == "http://collector:4318/v1/traces"
    assert shown["tracing"]["headers"] == {"x-team": "***"}
    assert new.redacted()["listen"] == "127.0.0.1:8080"


def test_secrets_are_never_shown(file: Path) -> None:
    config = loaded(
        file,
        """
upstreams:
  - {url: http://x, api_key: geheim, headers: {x-a: geheim, x-token: "${T}"}}
admin: {token: geheim}
tenancy: {secret: geheim}
""",
        T="geheim",
    )
    shown = config.redacted()
    assert shown["upstreams"][0]["api_key"] == "***"
    assert shown["upstreams"][0]["headers"] == {"x-a": "***", "x-token": "***"}
    assert (shown["admin"]["token"], shown["tenancy"]["secret"]) == ("***", "***")
    assert "geheim" not in f"{shown} {config} {config.rules(1)}"


def test_shown_routes_say_only_what_they_override(file: Path) -> None:
    text = "upstream: http://x\nroutes: [{match: {model: m}, ttl: {exact: 90m}}]"
    shown = loaded(file, text).redacted()
    assert shown["routes"] == [{"match": {"model": "m"}, "ttl": {"exact": "1h30m"}}]


def test_shown_configuration_can_be_changed_without_harm(file: Path) -> None:
    config = loaded(file, "upstream: http://x")
    config.redacted()["ttl"]["exact"] = "1s"
    assert config.redacted()["ttl"]["exact"] == "1d"


DURATIONS = st.integers(min_value=1, max_value=10**9).map(lambda ms: format_duration(ms / 1000))
SIZES = st.integers(min_value=1, max_value=2**40).map(format_size)
WORDS = st.lists(st.text("ab*#: '\"é今", min_size=1).filter(str.strip), max_size=2)
SECTIONS: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {},
    optional={
        "ttl": st.fixed_dictionaries({"exact": DURATIONS, "jitter": st.floats(0, 0.5)}),
        "memory": st.fixed_dictionaries({"max_bytes": SIZES}),
        "timeouts": st.fixed_dictionaries({"total": DURATIONS | st.just("none")}),
        "bypass": st.fixed_dictionaries({"models": WORDS, "keywords": WORDS}),
        "semantic": st.fixed_dictionaries(
            {
                "max_error_rate": st.floats(0, 0.5, exclude_min=True),
                "deadline": DURATIONS,
                "languages": st.lists(st.sampled_from(["en", "zh"]), min_size=1),
            },
            optional={"bypass": st.fixed_dictionaries({"keywords": WORDS})},
        ),
        "policy": st.fixed_dictionaries({"epoch": st.text("ab1 $", max_size=4)}),
        "tenancy": st.fixed_dictionaries({"scope": st.sampled_from(["shared", "header:x"])}),
    },
)


@given(SECTIONS, st.lists(SECTIONS, max_size=2))
def test_shown_configuration_reads_the_same(
    tmp_path_factory: pytest.TempPathFactory,
    sections: dict[str, Any],
    routes: list[dict[str, Any]],
) -> None:
    file = tmp_path_factory.getbasetemp() / "shown.yaml"
    values: dict[str, Any] = {"upstream": "http://x", **sections}
    values["routes"] = [
        {"match": {"model": f"m{position}"}, **{k: v for k, v in route.items() if k != "memory"}}
        for position, route in enumerate(routes)
    ]

    def load_written(document: dict[str, Any]) -> Config:
        return loaded(file, yaml.safe_dump(document, allow_unicode=True).replace("$", "$$"))

    config = load_written(values)
    shown = config.redacted()
    del shown["upstreams"]
    again = load_written(shown)
    assert (again.static, again.dynamic) == (config.static, config.dynamic)
    assert again.redacted() == config.redacted()


def test_what_is_found_by_meaning_may_outlive_what_is_found_by_key(tmp_path: Path) -> None:
    file = tmp_path / "reprise.yaml"
    file.write_text("upstream: http://u\nttl: {exact: 1h, semantic: 7d}")
    config = load(file, env={})
    assert config.dynamic.policy.ttl == 3600
    assert config.dynamic.policy.semantic.ttl == 7 * 86400
