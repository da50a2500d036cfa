"""`reprise export`."""

from pathlib import Path

from proxy.cli.export import export
from tests.cli.asking import SETTINGS, json_of, run
from tests.conftest import StartProxy
from tests.fakes.client import ask, question


def names(directory: Path) -> list[str]:
    """The files that were made there."""
    return [path.name for path in directory.glob("top*")]


async def test_entries_are_written_to_a_file(proxy: StartProxy, tmp_path: Path) -> None:
    file = tmp_path / "top.set"
    async with proxy(SETTINGS) as app:
        for number in range(3):
            await ask(app.url, question(f"Q{number}"))
        whole = json_of(await run(export, app, str(file), "--json"))
        assert whole == {"file": str(file), "bytes": file.stat().st_size}
        assert b'"entries":3,' in file.read_bytes()
        result = await run(export, app, str(file), "--top", "1")
        assert result.output == f"{file}: {file.stat().st_size} bytes\n"
    assert file.stat().st_size < whole["bytes"]
    assert file.stat().st_mode & 0o777 == 0o600
    assert names(tmp_path) == ["top.set"]


async def test_a_file_that_cannot_be_written_is_told(proxy: StartProxy, tmp_path: Path) -> None:
    async with proxy(SETTINGS) as app:
        result = await run(export, app, str(tmp_path / "missing" / "top.set"))
        refused = await run(export, app, str(tmp_path / "top.set"), "--token", "wrong")
    assert (result.exit_code, refused.exit_code) == (2, 2)
    assert "No such file or directory" in result.output
    assert "admin.token" in refused.output
    assert names(tmp_path) == []
