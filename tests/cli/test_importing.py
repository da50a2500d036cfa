"""`reprise import`."""

from pathlib import Path

from proxy.cli.export import export
from proxy.cli.importing import importing
from tests.cli.asking import SETTINGS, json_of, run
from tests.conftest import StartProxy
from tests.fakes.client import ask, question
from tests.fakes.upstream import ScriptedUpstream

COMMON = SETTINGS + "tenancy: {secret: common-to-all-of-them}\n"


async def test_what_was_exported_is_found_elsewhere(proxy: StartProxy, tmp_path: Path) -> None:
    file = tmp_path / "top.set"
    async with proxy(COMMON) as one, proxy(COMMON) as other:
        for number in range(3):
            await ask(one.url, question(f"Q{number}"))
        await run(export, one, str(file))
        result = await run(importing, other, str(file))
        assert (result.exit_code, result.output) == (0, "3 entries imported, 0 left out\n")
        assert (await ask(other.url, question("Q1"))).is_hit
        assert json_of(await run(importing, other, str(file), "--json"))["left_out"] == 3


async def test_a_damaged_file_gives_what_came_before(
    proxy: StartProxy, upstream: ScriptedUpstream, tmp_path: Path
) -> None:
    file = tmp_path / "top.set"
    async with proxy(COMMON) as one, proxy(COMMON) as other, proxy(SETTINGS) as foreign:
        for number in range(3):
            await ask(one.url, question(f"Q{number}"))
        await run(export, one, str(file))
        data = file.read_bytes()
        file.write_bytes(data[:-100])
        result = await run(importing, other, str(file))
        assert result.exit_code == 1
        assert "2 entries imported" in result.output
        assert "is cut; copy or export it again" in result.output
        refused = await run(importing, foreign, str(file))
        assert refused.exit_code == 2
        assert "set tenancy.secret to the same value" in refused.output
        file.write_bytes(b"something else")
        assert "it is no exported set" in (await run(importing, other, str(file))).output
        missing = await run(importing, other, str(tmp_path / "missing"))
    assert missing.exit_code == 2


async def test_what_would_not_be_found_is_a_warning(proxy: StartProxy, tmp_path: Path) -> None:
    file = tmp_path / "top.set"
    async with proxy(COMMON) as one:
        named = f"upstreams: [{{name: other, url: '{one.url}'}}]"
        async with proxy(COMMON + named, upstream=None) as other:
            await ask(one.url)
            await run(export, one, str(file))
            result = await run(importing, other, str(file))
    assert result.exit_code == 0
    assert "warning: answers of the upstream 'http://127.0.0.1:" in result.output
