"""Every mistake is said, at its place, with a remedy."""

from collections.abc import Mapping

import pytest

from proxy.config_check import check
from proxy.config_file import MAX_PROBLEMS, ConfigError, parse
from proxy.config_model import EncoderModel, File

UPSTREAM = "upstream: http://x\n"


def checked(text: str, given: Mapping[str, str] | None = None, **env: str) -> File:
    return check(parse(text.encode(), "f.yaml", env), given or {})


def mistakes(text: str, given: Mapping[str, str] | None = None, **env: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        checked(text, given, **env)
    return str(caught.value).splitlines()


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        ("ttl: {exakt: 24h}", '2:7: ttl.exakt: unknown key; did you mean "exact"?'),
        ("listne: x:1", '2:1: listne: unknown key; did you mean "listen"?'),
        ("jitter: 0.1", '2:1: jitter: unknown key; did you mean "ttl.jitter"?'),
        ("ttl: {zzz: 1}", "2:7: ttl.zzz: unknown key; known here: exact, semantic, jitter, "),
        ("zzz: {}", "2:1: zzz: unknown key; known here: version, listen, workers, "),
        ("persit: {}", '2:1: persit: unknown key; did you mean "persist"?'),
        ("version: 2", "2:10: version: must be at most 1"),
        ("version: true", "2:10: version: must be a whole number"),
        ("ttl: {exact: 30}", '2:14: ttl.exact: the duration 30 has no unit; write "30s"'),
        ("ttl: {exact: -1}", "2:14: ttl.exact: a duration cannot be negative"),
        ("ttl: {exact: none}", '2:14: ttl.exact: "none" is not a duration'),
        ("ttl: {jitter: 0.6}", "2:15: ttl.jitter: must be at most 0.5"),
        ("ttl: {jitter: -0.1}", "2:15: ttl.jitter: must be at least 0"),
        ("ttl: {jitter: high}", "2:15: ttl.jitter: must be a number"),
        ("ttl: 24h", "2:6: ttl: must be a mapping of keys to values; delete the line"),
        ("bypass:", "2:8: bypass: must be a mapping of keys to values; delete the line"),
        ("memory: {max_entries: 0}", "2:23: memory.max_entries: must be at least 1"),
        ("memory: {max_entries: 1.5}", "2:23: memory.max_entries: must be a whole number"),
        ("memory: {max_entries: true}", "2:23: memory.max_entries: must be a whole number"),
        ("memory: {max_bytes: x}", '2:21: memory.max_bytes: "x" is not a size'),
        ("timeouts: {total: 0}", "2:19: timeouts.total: no time at all lets nothing through"),
        ("tenancy: {scope: all}", '2:18: tenancy.scope: "all" is not a scope'),
        ("policy: {deterministic_only: yes}", "2:30: policy.deterministic_only: must be true"),
        ("policy: {on_client_gone: stay}", "2:26: policy.on_client_gone: must be 'finish'"),
        ("policy: {epoch: 5}", "2:17: policy.epoch: must be text; put it in quotes"),
        ("policy: {masks: ['a', '(']}", "2:23: policy.masks[1]: is not a regular expression"),
        ("policy: {ignore_fields: [model]}", "2:26: policy.ignore_fields[0]: without model"),
        ("bypass: {models: gpt-4}", "2:18: bypass.models: must be a list; put it in"),
        ("bypass: {keywords: ['']}", "2:21: bypass.keywords[0]: is empty"),
        ("bypass: {max_temperature: -1}", "2:27: bypass.max_temperature: must be at least 0"),
        ("bypass: {max_temperature: hot}", "2:27: bypass.max_temperature: must be a number"),
        ("log: {level: loud}", "2:14: log.level: must be 'debug', 'info', 'warning' or 'error'"),
        ("listen: 8080", '2:9: listen: "8080" does not name a host and a port'),
        ("admin: {listen: '127.0.0.1:8080'}", "2:17: admin.listen: is also the address"),
        ("listen: 127.0.0.1:8081", "2:9: listen: is also the address of the other listener"),
        ("admin: {token: a b}", "2:16: admin.token: has a space"),
        ("upstreams: [{url: http://y}]", "2:12: upstreams: stands beside upstream; keep one"),
        ("routes: {}", "2:9: routes: must be a list"),
        ("routes: [{}]", "2:10: routes[0].match: is missing; add it"),
        ("routes: [{match: {}}]", "2:18: routes[0].match: matches every request"),
        ("routes: [{match: {path: ''}}]", "2:18: routes[0].match: matches every request"),
        ("routes: [{match: {path: v1}}]", '2:25: routes[0].match.path: "v1" never matches a path'),
        ("routes: [{match: {model: 5}}]", "2:26: routes[0].match.model: must be text"),
        (
            "routes: [{match: {header: {a: b, c: d}}}]",
            "2:27: routes[0].match.header: names one header at most; write a route for each",
        ),
        ("routes: [{match: {header: x}}]", "2:27: routes[0].match.header: must be a mapping"),
        ("routes: [{match: {header: {a b: c}}}]", '2:33: routes[0].match.header.a b: "a b" is not'),
        (
            "routes: [{match: {model: a}, tenancy: {secret: x}}]",
            "2:40: routes[0].tenancy.secret: unknown key",
        ),
        (
            "routes: [{match: {model: a}, memory: {}}]",
            "2:30: routes[0].memory: unknown key; memory is for all routes: write it at the top",
        ),
        ("version: 0", "2:10: version: must be at least 1"),
        ("ttl: {exact: 1h, exact: 2h}", "2:18: ttl.exact: stands here twice; keep one"),
    ],
)
def test_mistake_is_said_at_its_place(text: str, mistake: str) -> None:
    (found,) = mistakes(UPSTREAM + text)
    assert found.startswith(f"f.yaml:{mistake}")


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        ("max_error_rate: 2", "max_error_rate: must be at most 0.5"),
        ("max_error_rate: 0", "max_error_rate: must be more than 0"),
        ("max_error_rate: low", "max_error_rate: must be a number"),
        ("min_similarity: 95", "min_similarity: must be at most 1"),
        ("max_temperature: -1", "max_temperature: must be at least 0"),
        ("max_temperature: 1e999", "max_temperature: must be a number"),
        ("max_temperature: null", "max_temperature: must be a number"),
        ("tools: both", "tools: must be true or false"),
        ("deadline: soon", 'deadline: "soon" is not a duration; write such as "250ms"'),
        ("deadline: 100", "deadline: the duration 100 has no unit; write "),
        ("deadline: 0", 'deadline: no time at all is enough for nothing; write such as "100ms"'),
        ("deadline: none", 'deadline: there has to be a bound; write such as "100ms"'),
        ("languages: [fr]", "languages[0]: must be 'en', 'zh' or 'other'"),
        ("languages: en", "languages: must be a list; put it in brackets: [...]"),
        ("languages: []", "languages: is empty; name one at least"),
        ("bypass: [today]", "bypass: must be a mapping of keys to values; delete the line"),
        ("bypass: {keywords: ['']}", "bypass.keywords[0]: is empty; take it out of the list"),
        ("bypass: {patterns: ['(']}", "bypass.patterns[0]: is not a regular expression: "),
    ],
)
@pytest.mark.parametrize("prefix", ["semantic: {", "routes: [{match: {model: a}, semantic: {"])
def test_mistake_in_what_is_compared_is_said(prefix: str, text: str, mistake: str) -> None:
    (found,) = mistakes(
        UPSTREAM + prefix + text + "}" * prefix.count("semantic") + "}]" * ("[" in prefix)
    )
    where = "routes[0].semantic" if "[" in prefix else "semantic"
    assert found.partition(": ")[2].startswith(f"{where}.{mistake}")


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        (
            "semantic: false",
            '2:11: semantic: must be a mapping of keys to values; write "{enabled: ',
        ),
        ("semantic: true", "2:11: semantic: must be a mapping of keys to values; delete the line"),
        ("ttl: false", "2:6: ttl: must be a mapping of keys to values; delete the line"),
        ("semantic: {verifier: 5}", "2:22: semantic.verifier: must be text; put it in quotes"),
        ("semantic: {scan_below: 0}", "2:24: semantic.scan_below: must be at least 1"),
        ("semantic: {encoders: x}", "2:22: semantic.encoders: must be a list; put it in brackets"),
        ("privacy: {keep_prompts: 1}", "2:25: privacy.keep_prompts: must be true or false"),
        (
            "keep_prompts: true",
            '2:1: keep_prompts: unknown key; did you mean "privacy.keep_prompts"?',
        ),
        (
            "semantic: {keywords: [x]}",
            '2:12: semantic.keywords: unknown key; did you mean "semantic.bypass.keywords"?',
        ),
        (
            "semantic: {threshold: 0.9}",
            "2:12: semantic.threshold: unknown key; known here: enabled, max_error_rate, ",
        ),
        (
            "routes: [{match: {model: a}, semantic: {patterns: [x]}}]",
            '2:41: routes[0].semantic.patterns: unknown key; did you mean "semantic.bypass.pat',
        ),
        (
            "routes: [{match: {model: a}, semantic: {encoders: []}}]",
            "2:41: routes[0].semantic.encoders: unknown key; semantic.encoders is for all ",
        ),
        (
            "routes: [{match: {model: a}, privacy: {keep_prompts: true}}]",
            "2:30: routes[0].privacy: unknown key; privacy is for all routes: write it at the top",
        ),
    ],
)
def test_mistake_around_the_semantic_level_is_said(text: str, mistake: str) -> None:
    (found,) = mistakes(UPSTREAM + text)
    assert found.startswith(f"f.yaml:{mistake}")


@pytest.mark.parametrize(
    ("encoders", "mistake"),
    [
        ("{model: x}", "2:23: semantic.encoders[0].scripts: is missing; add it"),
        ("{scripts: [han]}", "2:23: semantic.encoders[0].model: is missing; add it"),
        ("{model: '', scripts: [han]}", "2:31: semantic.encoders[0].model: is empty; name a pre"),
        ("{model: 5, scripts: [han]}", "2:31: semantic.encoders[0].model: must be text; put it"),
        ("{model: x, scripts: []}", "2:43: semantic.encoders[0].scripts: is empty; name one"),
        ("{model: x, scripts: han}", "2:43: semantic.encoders[0].scripts: must be a list; put"),
        ("{model: x, scripts: [cjk]}", "2:44: semantic.encoders[0].scripts[0]: must be 'latin', "),
        ("{model: x, scripts: [5]}", "2:44: semantic.encoders[0].scripts[0]: must be 'latin', "),
        (
            "{model: x, scripts: [han], load: on}",
            "2:56: semantic.encoders[0].load: must be 'eager' or",
        ),
        (
            "{model: x, scripts: [han], threads: 0}",
            "2:59: semantic.encoders[0].threads: must be at",
        ),
        ("x", "2:23: semantic.encoders[0]: must be a mapping of keys to values"),
        (
            "{model: x, scripts: [latin]}, {model: y, scripts: [han, latin]}",
            '2:79: semantic.encoders[1].scripts[1]: "latin" is already served by encoders[0]; keep',
        ),
        (
            "{model: x, scripts: [han, latin, han]}",
            '2:56: semantic.encoders[0].scripts[2]: "han" is already served by encoders[0]; keep',
        ),
    ],
)
def test_mistake_in_encoders_is_said(encoders: str, mistake: str) -> None:
    (found,) = mistakes(f"{UPSTREAM}semantic: {{encoders: [{encoders}]}}")
    assert found.startswith(f"f.yaml:{mistake}")


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        ("", "f.yaml: upstream: is missing; write "),
        ("listen: 127.0.0.1:1", "f.yaml:1:1: upstream: is missing; write "),
        ("upstream:", "f.yaml:1:10: upstream: is missing; write "),
        ("upstreams: []", "upstream: is missing; write "),
        ("upstreams: x", "f.yaml:1:12: upstreams: must be a list"),
        ("upstream: x", "f.yaml:1:11: upstream: a URL begins with http"),
        ("upstreams: [x]", "f.yaml:1:13: upstreams[0]: must be a mapping"),
        ("upstreams: [{name: x}]", "f.yaml:1:13: upstreams[0].url: is missing; add it"),
        ("upstreams: [{url: 'http://a:b@x'}]", "f.yaml:1:19: upstreams[0].url: a URL carries"),
        (
            "upstreams: [{url: http://x}, {url: http://x/, models: [a]}]",
            'f.yaml:1:36: upstreams[1].url: "http://x" is the name of an upstream above; give each',
        ),
        (
            "upstreams: [{url: http://x, name: a}, {url: http://y, name: a}]",
            'f.yaml:1:61: upstreams[1].name: "a" is the name of an upstream above; give each',
        ),
        (
            "upstreams: [{url: http://x, headers: {Authorization: Bearer geheim}}]",
            "f.yaml:1:54: upstreams[0].headers.Authorization: looks like a secret; write ${NAME}",
        ),
        (
            "upstreams: [{url: http://x, api_key: k, headers: {Authorization: '${T}'}}]",
            "f.yaml:1:66: upstreams[0].headers.Authorization: stands beside api_key; keep one",
        ),
        (
            "upstreams: [{url: http://x, headers: {x-a: b, X-A: c}}]",
            "f.yaml:1:52: upstreams[0].headers.X-A: stands here twice; case does not count",
        ),
        (
            "upstreams: [{url: http://x, headers: {Content-Length: 5}}]",
            "upstreams[0].headers.Content-Length: belongs to the connection",
        ),
        ("upstreams: [{url: http://x, headers: x}]", "upstreams[0].headers: must be a mapping"),
        ("[]", "f.yaml:1:1: must be a mapping of keys to values; begin with"),
        ("upstream", "f.yaml:1:1: must be a mapping of keys to values; begin with"),
    ],
)
def test_mistake_in_upstreams_is_said(text: str, mistake: str) -> None:
    found = mistakes(text, T="x")
    assert any(mistake in line for line in found)
    assert not any("geheim" in line for line in found)


def test_all_mistakes_are_said_in_the_order_of_the_file() -> None:
    text = """\
listen: nowhere
upstream: http://x?y
ttl:
  exakt: 1h
  jitter: 2
  jitter: 0.1
tenancy: {secret: "${NOPE}"}
routes:
  - match: {}
    ttl: {exact: 5}
  - ttl: {}
"""
    places = [line.split(": ")[0:2] for line in mistakes(text)]
    assert places == [
        ["f.yaml:1:9", "listen"],
        ["f.yaml:2:11", "upstream"],
        ["f.yaml:4:3", "ttl.exakt"],
        ["f.yaml:5:11", "ttl.jitter"],
        ["f.yaml:6:3", "ttl.jitter"],
        ["f.yaml:7:19", "tenancy.secret"],
        ["f.yaml:9:12", "routes[0].match"],
        ["f.yaml:10:18", "routes[0].ttl.exact"],
        ["f.yaml:11:5", "routes[1].match"],
    ]


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("upstream: ${NOPE}", "upstream"),
        ("upstreams: [{url: 'http://x', api_key: '${NOPE}'}]", "upstreams[0].api_key"),
        ("upstreams: [{url: '${NOPE}'}]", "upstreams[0].url"),
    ],
)
def test_missing_variable_is_the_only_mistake_of_its_value(text: str, path: str) -> None:
    (mistake,) = mistakes(text)
    assert f": {path}: " in mistake
    assert "not in the environment" in mistake


def test_value_from_the_environment_has_the_type_that_is_wanted() -> None:
    file = checked(
        """
upstreams: [{url: "${URL}", api_key: "${KEY}", headers: {x-api-key: "${KEY}"}}]
memory: {max_entries: "${N}", max_bytes: "${N}"}
ttl: {jitter: "${SHARE}", exact: "${TIME}"}
policy: {deterministic_only: "${FLAG}", epoch: "${N}", on_client_gone: "${GONE}"}
bypass: {max_temperature: "${NO:-null}", tools: "${FLAG}", keywords: ["${N}"]}
semantic:
  max_error_rate: "${SHARE}"
  deadline: "${TIME}"
  languages: ["${LANGUAGE}"]
  encoders: [{model: "${N}", scripts: ["${SCRIPT}"], load: "${LOAD}", threads: "${N}"}]
""",
        URL="http://x",
        KEY="4711",
        N="500",
        SHARE="0.25",
        TIME="1h",
        FLAG="true",
        GONE="abort",
        LANGUAGE="zh",
        SCRIPT="han",
        LOAD="lazy",
    )
    assert file.upstreams[0].api_key == "4711"
    assert file.upstreams[0].headers == {"x-api-key": "4711"}
    assert (file.memory.max_entries, file.memory.max_bytes) == (500, 500)
    assert (file.ttl.jitter, file.ttl.exact) == (0.25, 3600)
    assert (file.policy.deterministic_only, file.policy.epoch) == (True, "500")
    assert file.policy.on_client_gone == "abort"
    assert (file.bypass.max_temperature, file.bypass.keywords) == (None, ("500",))
    assert (file.semantic.max_error_rate, file.semantic.deadline) == (0.25, 3600)
    assert file.semantic.languages == ("zh",)
    (encoder,) = file.semantic.encoders
    assert encoder == EncoderModel(model="500", scripts=("han",), load="lazy", threads=500)


def test_environment_is_checked_like_the_file() -> None:
    text = UPSTREAM + 'memory: {max_entries: "${N}"}'
    assert mistakes(text, N="many") == ["f.yaml:2:23: memory.max_entries: must be a whole number"]


def test_command_line_stands_in_for_the_file() -> None:
    given = {"upstream": "http://y", "listen": "h:1", "admin.listen": "h:2"}
    file = checked("upstreams: [{url: http://x}]\nadmin: {token: t}\n", given)
    assert (file.upstream, file.upstreams) == ("http://y", ())
    assert (str(file.listen), str(file.admin.listen), file.admin.token) == ("h:1", "h:2", "t")
    assert checked("", given).upstream == "http://y"


def test_mistakes_of_the_command_line_are_its_own() -> None:
    given = {"upstream": "y", "listen": "z", "admin.listen": "h:2"}
    assert [line.split("; ")[0] for line in mistakes("upstream: http://x\nadmin: 5", given)] == [
        'command line: listen: "z" does not name a host and a port',
        "command line: upstream: a URL begins with http:// or https://",
        "f.yaml:2:8: admin: must be a mapping of keys to values",
    ]
    given = {"listen": "127.0.0.1:8081"}
    (mistake,) = mistakes(UPSTREAM, given)
    assert mistake.startswith("command line: listen: is also the address of the other")


def test_no_end_of_mistakes_has_an_end() -> None:
    unknown = "".join(f"key{number}: ${{NOPE}}\n" for number in range(10_000))
    assert len(mistakes(unknown)) == MAX_PROBLEMS
    assert len(mistakes(unknown, NOPE="")) == MAX_PROBLEMS


def test_there_may_be_no_encoder() -> None:
    assert checked(UPSTREAM + "semantic: {encoders: []}").semantic.encoders == ()


def test_listeners_may_both_take_any_port() -> None:
    assert checked(UPSTREAM + "listen: h:0\nadmin: {listen: 'h:0'}").listen.port == 0
