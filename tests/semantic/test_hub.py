"""Models come from a hub by repository and commit; here the hub is on loopback."""

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest

from proxy.semantic import hub
from proxy.semantic.manifest import ModelError
from tests.fakes.hub import COMMIT, REPOSITORY, FakeHub, running_hub


@pytest.fixture
async def fake_hub(tmp_path: Path) -> AsyncIterator[FakeHub]:
    async with running_hub(tmp_path / "source") as found:
        yield found


async def fetch(fake: FakeHub, into: Path, revision: str = COMMIT) -> str:
    return await asyncio.to_thread(
        partial(hub.fetch, REPOSITORY, revision, into, endpoint=fake.url)
    )


async def test_graph_and_tokenizer_are_fetched(fake_hub: FakeHub, tmp_path: Path) -> None:
    assert await fetch(fake_hub, tmp_path / "in") == "mean"
    for name, content in fake_hub.files.items():
        assert await asyncio.to_thread((tmp_path / "in" / name).read_bytes) == content


@pytest.mark.parametrize(
    ("told", "pooling"),
    [
        (b'{"pooling_mode_cls_token": true}', "first"),
        (b'{"pooling_mode_cls_token": false}', "mean"),
        (b"[]", "mean"),
        (b"{", "mean"),
    ],
)
async def test_pooling_is_what_the_repository_tells(
    fake_hub: FakeHub, tmp_path: Path, told: bytes, pooling: str
) -> None:
    fake_hub.files["1_Pooling/config.json"] = told
    assert await fetch(fake_hub, tmp_path / "in") == pooling


@pytest.mark.parametrize("name", ["tokenizer.json", "onnx/model.onnx"])
async def test_missing_file_is_named(fake_hub: FakeHub, tmp_path: Path, name: str) -> None:
    del fake_hub.files[name]
    with pytest.raises(ModelError, match=rf"some-encoder@0123.*: {name} cannot be fetched: .*404"):
        await fetch(fake_hub, tmp_path / "in")


async def test_unknown_commit_is_told(fake_hub: FakeHub, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"cannot be fetched: .*; where the hub is out of reach"):
        await fetch(fake_hub, tmp_path / "in", "f" * 40)


async def test_hub_that_cannot_serve_is_told(fake_hub: FakeHub, tmp_path: Path) -> None:
    fake_hub.status = 501  # others are asked again, for half a minute
    with pytest.raises(ModelError, match=r"tokenizer.json cannot be fetched: .*; where the hub"):
        await fetch(fake_hub, tmp_path / "in")
