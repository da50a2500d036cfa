"""Certificates from files that are swapped as Kubernetes does it."""

import asyncio
import os
import ssl
from pathlib import Path

import pytest

from proxy.k8s.certificate_files import CertificateFiles
from proxy.k8s.tls import ServedCertificate
from proxy.tasks import Tasks
from tests.fakes.lines import Lines
from tests.k8s.certificates import NAME, Issued, issued
from tests.k8s.handshakes import shown

DEADLINE = 10.0


class Mounted:
    """A directory like that of a Secret's volume."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._count = 0
        self.certificate = place / "tls.crt"
        self.key = place / "tls.key"
        for file in (self.certificate, self.key):
            file.symlink_to(Path("..data") / file.name)

    def swap(self, certificate: bytes, key: bytes) -> None:
        """Put new content in the place of the old, at once."""
        self._count += 1
        folder = self._place / f"..{self._count}"
        folder.mkdir()
        (folder / "tls.crt").write_bytes(certificate)
        (folder / "tls.key").write_bytes(key)
        new = self._place / "..data_tmp"
        new.symlink_to(folder.name)
        new.rename(self._place / "..data")


class Watched:
    """The source at work, and what it took."""

    def __init__(self, mounted: Mounted) -> None:
        self.taken: asyncio.Queue[float] = asyncio.Queue()
        self.looks: asyncio.Queue[None] = asyncio.Queue()
        self.log = Lines()
        self.served = ServedCertificate(self.taken.put_nowait)
        self._died: list[str] = []
        self._tasks = Tasks(lambda name, error: self._died.append(f"{name}: {error!r}"))
        self._source = CertificateFiles(mounted.certificate, mounted.key, log=self.log, every=0.01)

    async def __aenter__(self) -> "Watched":
        looks = self.looks
        self._tasks.spawn(self._source.run(self.served, lambda: looks.put_nowait(None)), "files")
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self._tasks.drain(0)
        assert not self._died

    async def look(self) -> None:
        """Until it has looked at what is there now."""
        for _ in range(2 + self.looks.qsize()):
            async with asyncio.timeout(DEADLINE):
                await self.looks.get()


@pytest.fixture
def mounted(tmp_path: Path) -> Mounted:
    return Mounted(tmp_path)


@pytest.fixture(scope="module")
def pairs() -> tuple[Issued, Issued]:
    return issued(), issued()


async def test_each_swap_is_taken_over(mounted: Mounted, pairs: tuple[Issued, Issued]) -> None:
    async with Watched(mounted) as watched:
        await watched.look()
        assert watched.served.not_after is None
        for each in (*pairs, pairs[0]):
            mounted.swap(each.certificate, each.key)
            async with asyncio.timeout(DEADLINE):
                assert await watched.taken.get() == each.not_after
        await watched.look()
        assert watched.taken.empty()
    assert [event for _, event, _ in watched.log.lines] == [
        "certificate not taken",
        *["certificate taken"] * 3,
    ]


async def test_a_swap_between_the_two_files_is_not_seen(
    tmp_path: Path, pairs: tuple[Issued, Issued]
) -> None:
    old, new = pairs
    mounted = Mounted(tmp_path)
    mounted.swap(b"", old.key)
    certificate = tmp_path / "..1" / "tls.crt"
    certificate.unlink()
    os.mkfifo(certificate)

    def give_the_old_one_and_swap_before_its_end() -> None:
        with certificate.open("wb") as pipe:
            pipe.write(old.certificate)
            pipe.flush()
            mounted.swap(new.certificate, new.key)

    async with Watched(mounted) as watched:
        await asyncio.to_thread(give_the_old_one_and_swap_before_its_end)
        async with asyncio.timeout(DEADLINE):
            assert await watched.taken.get() == new.not_after
    assert [event for _, event, _ in watched.log.lines] == ["certificate taken"]


async def test_no_handshake_fails_while_the_files_are_swapped(
    mounted: Mounted, pairs: tuple[Issued, Issued]
) -> None:
    one, other = pairs
    both = b"".join(each.authority.cert_pem.bytes() for each in pairs)
    mounted.swap(one.certificate, one.key)
    async with Watched(mounted) as watched:
        async with asyncio.timeout(DEADLINE):
            await watched.taken.get()
        server = await asyncio.start_server(
            lambda _, writer: writer.close(), "127.0.0.1", 0, ssl=watched.served.context
        )
        async with server, asyncio.timeout(DEADLINE):
            port = server.sockets[0].getsockname()[1]
            for each in (other, one, other):
                mounted.swap(each.certificate, each.key)
                der = ssl.PEM_cert_to_DER_cert(each.certificate.decode("ascii"))
                while await shown(port, both, NAME) != der:
                    pass


async def test_what_cannot_be_used_is_told_once_and_the_last_good_one_stays(
    mounted: Mounted, pairs: tuple[Issued, Issued]
) -> None:
    one, other = pairs
    mounted.swap(one.certificate, one.key)
    async with Watched(mounted) as watched:
        await watched.look()
        mounted.swap(other.certificate, one.key)
        await watched.look()
        await watched.look()
    assert watched.served.not_after == one.not_after
    assert [event for _, event, _ in watched.log.lines] == [
        "certificate taken",
        "certificate not taken",
    ]
