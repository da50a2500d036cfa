"""A changed file is taken over, a bad one changes nothing."""

import asyncio
import contextlib
import os
import shutil
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from proxy.config import Config, load
from proxy.config_file import ConfigError
from proxy.reload import Reloader, ReloadResult, Trigger

NEVER = 3600.0
"""A poll interval that no test waits for."""
OFTEN = 0.02


def with_ttl(hours: int) -> str:
    return f"upstream: http://x\nttl: {{exact: {hours}h}}\n"


def write(file: Path, text: str) -> None:
    file.write_text(text)


class Process:
    """What the reloader works for: has configurations applied, hears of attempts."""

    def __init__(self, path: Path | None, poll_interval: float, upstream: str | None) -> None:
        self.path = path
        self.upstream = upstream
        self.applied: list[Config] = []
        self.reports: asyncio.Queue[tuple[Trigger, ReloadResult]] = asyncio.Queue()
        self.reloader = Reloader(
            path,
            self.load,
            self.applied.append,
            self.load(),
            report=lambda trigger, result: self.reports.put_nowait((trigger, result)),
            poll_interval=poll_interval,
        )

    def load(self) -> Config:
        return load(self.path, upstream=self.upstream, env={})

    @property
    def ttl(self) -> float:
        """Hours of the configuration in force."""
        current = self.reloader.current
        assert current in (self.applied or [current])
        return current.dynamic.policy.ttl / 3600

    async def report(self, seconds: float = 20) -> ReloadResult:
        async with asyncio.timeout(seconds):
            _, result = await self.reports.get()
        return result

    async def until(self, condition: Callable[[], bool]) -> ReloadResult:
        while True:
            result = await self.report()
            if condition():
                return result


async def running(
    path: Path | None, text: str = "", *, poll: float = NEVER, upstream: str | None = None
) -> Process:
    if path is not None:
        write(path, text)
    return await asyncio.to_thread(Process, path, poll, upstream)


@contextlib.asynccontextmanager
async def watching(process: Process) -> AsyncIterator[None]:
    async with asyncio.TaskGroup() as group:
        watch = group.create_task(process.reloader.watch())
        yield
        assert not watch.done()
        watch.cancel()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "reprise.yaml"


class TestReload:
    @pytest.mark.parametrize("trigger", ["signal", "admin", "file"])
    async def test_changed_file_is_applied(self, file: Path, trigger: Trigger) -> None:
        process = await running(file, with_ttl(1))
        write(file, with_ttl(2))
        result = await process.reloader.reload(trigger)
        assert result == ReloadResult(applied=True)
        assert process.ttl == 2
        assert process.reports.get_nowait() == (trigger, result)

    async def test_same_content_is_no_change(self, file: Path) -> None:
        process = await running(file, with_ttl(1))
        os.utime(file, (1, 1))
        assert await process.reloader.reload("admin") == ReloadResult(unchanged=True)
        assert process.applied == []
        assert process.reports.qsize() == 1

    async def test_no_change_is_told_only_to_who_asked(self, file: Path) -> None:
        process = await running(file, with_ttl(1))
        assert await process.reloader.reload("file") == ReloadResult(unchanged=True)
        assert process.reports.empty()

    async def test_bad_file_changes_nothing(self, file: Path) -> None:
        process = await running(file, with_ttl(1))
        before = process.reloader.current
        write(file, "upstream: http://x\nttl: {exact: high, jitter: 2}\n")
        result = await process.reloader.reload("signal")
        assert (result.applied, result.unchanged) == (False, False)
        assert [(p.path, p.line) for p in result.problems] == [("ttl.exact", 2), ("ttl.jitter", 2)]
        assert process.reloader.current is before
        assert process.applied == []

    @pytest.mark.parametrize(
        "bad",
        [
            "ttl: {exact: [",
            "",
            "semantic: {threshold: high}",
            "upstream: http://x\nttl: {exact: -1}",
            "upstream: http://x\nunknown: 1",
            "a: &a [1]\nb: [*a, *a]",
            "x" * (2 << 20),
            None,
        ],
        ids=["syntax", "empty", "type", "negative", "unknown", "bomb", "large", "gone"],
    )
    async def test_next_good_file_is_applied_whatever_came_before(
        self, file: Path, bad: str | None
    ) -> None:
        process = await running(file, with_ttl(1))
        os.remove(file) if bad is None else write(file, bad)
        assert (await process.reloader.reload("file")).problems
        write(file, with_ttl(2))
        assert (await process.reloader.reload("file")).applied
        assert process.ttl == 2

    async def test_good_file_that_comes_back_ends_the_failure(self, file: Path) -> None:
        process = await running(file, with_ttl(1))
        write(file, "?")
        assert (await process.reloader.reload("file")).problems
        write(file, with_ttl(1))
        assert await process.reloader.reload("file") == ReloadResult(unchanged=True)
        assert process.reports.qsize() == 2

    async def test_empty_file_is_refused_although_the_command_line_has_an_upstream(
        self, file: Path
    ) -> None:
        process = await running(file, "ttl: {exact: 1h}", upstream="http://x")
        write(file, "")
        result = await process.reloader.reload("file")
        assert "is empty" in str(result.problems[0])
        assert process.ttl == 1
        write(file, "version: 1\n")
        assert (await process.reloader.reload("file")).applied
        assert process.ttl == 24

    async def test_without_a_file_there_is_nothing_to_change(self) -> None:
        process = await running(None, upstream="http://x")
        assert await process.reloader.reload("signal") == ReloadResult(unchanged=True)
        async with asyncio.timeout(5):
            await process.reloader.watch()


class TestStatic:
    async def test_static_change_waits_for_a_restart_and_the_rest_applies(self, file: Path) -> None:
        process = await running(file, with_ttl(1))
        write(file, with_ttl(2) + "listen: h:1\nlog: {format: json, level: error}\n")
        result = await process.reloader.reload("admin")
        assert result == ReloadResult(applied=True, restart_required=("listen", "log.format"))
        (applied,) = process.applied
        assert applied is process.reloader.current
        assert process.ttl == 2
        assert applied.dynamic.log_level == "error"
        assert str(applied.static.listen) == "127.0.0.1:8080"
        assert applied.redacted()["log"] == {"format": "auto", "level": "error"}
        assert applied.digest == (await asyncio.to_thread(process.load)).digest

    async def test_it_is_said_until_the_file_agrees_again(self, file: Path) -> None:
        process = await running(file, with_ttl(1))
        waiting = []
        for text in (
            with_ttl(1) + "listen: h:1\n",
            with_ttl(1) + "listen: h:1\n",
            "?",
            with_ttl(2) + "listen: h:1\n",
            with_ttl(2),
        ):
            write(file, text)
            waiting.append((await process.reloader.reload("admin")).restart_required)
        assert waiting == [("listen",)] * 4 + [()]


class TestOneAtATime:
    async def test_attempts_do_not_overlap(self, file: Path) -> None:
        process = await running(file, with_ttl(1))
        inside, most = 0, 0

        def load_slowly() -> Config:
            nonlocal inside, most
            inside += 1
            most = max(most, inside)
            entered.wait(0.05)
            inside -= 1
            return process.load()

        entered = threading.Event()
        current = process.reloader.current
        reloader = Reloader(
            file, load_slowly, process.applied.append, current, report=lambda *_: None
        )
        write(file, with_ttl(2))
        results = await asyncio.gather(*(reloader.reload("signal") for _ in range(3)))
        assert [result.applied for result in results] == [True, False, False]
        assert [result.unchanged for result in results] == [False, True, True]
        assert (most, len(process.applied)) == (1, 1)

    async def test_cancelled_attempt_does_not_hide_the_change(self, file: Path) -> None:
        process = await running(file, with_ttl(1), poll=OFTEN)
        entered, release = threading.Event(), threading.Event()

        def load_slowly() -> Config:
            entered.set()
            release.wait(20)
            return process.load()

        reloader = Reloader(
            file,
            load_slowly,
            process.applied.append,
            process.reloader.current,
            report=lambda trigger, result: process.reports.put_nowait((trigger, result)),
            poll_interval=OFTEN,
        )
        write(file, with_ttl(2))
        async with asyncio.TaskGroup() as group:
            attempt = group.create_task(reloader.reload("admin"))
            await asyncio.to_thread(entered.wait, 20)
            attempt.cancel()
        assert attempt.cancelled()
        release.set()
        process.reloader = reloader
        async with watching(process):
            assert (await process.report()).applied


class TestWatch:
    async def test_written_file_is_noticed_by_the_watcher(self, file: Path) -> None:
        process = await running(file, with_ttl(1))
        async with watching(process):
            # the watcher may not stand yet when the first change comes, so change again
            for hours in range(2, 100):
                write(file, with_ttl(hours))
                with contextlib.suppress(TimeoutError):
                    assert (await process.report(0.5)).applied
                    break
            assert process.ttl == hours

    async def test_config_map_swap_is_noticed_by_the_watcher(self, tmp_path: Path) -> None:
        mount = tmp_path / "mount"
        mount.mkdir()

        def swap(hours: int) -> None:
            """As kubelet does it: a new directory, a link to it, renamed over `..data`."""
            (mount / f"..2026_{hours}").mkdir()
            (mount / f"..2026_{hours}" / "reprise.yaml").write_text(with_ttl(hours))
            (mount / "..data_tmp").symlink_to(f"..2026_{hours}")
            (mount / "..data_tmp").rename(mount / "..data")

        swap(1)
        (mount / "reprise.yaml").symlink_to("..data/reprise.yaml")
        process = await asyncio.to_thread(Process, mount / "reprise.yaml", NEVER, None)
        async with watching(process):
            noticed = []
            for hours in range(2, 100):
                swap(hours)
                with contextlib.suppress(TimeoutError):
                    assert (await process.report(0.5)).applied
                    noticed.append(hours)
                    assert process.ttl == hours
                if len(noticed) == 3:
                    break
            assert len(noticed) == 3

    async def test_change_that_the_system_does_not_tell_is_noticed(self, tmp_path: Path) -> None:
        elsewhere = tmp_path / "elsewhere" / "reprise.yaml"
        elsewhere.parent.mkdir()
        write(elsewhere, with_ttl(1))
        file = tmp_path / "here" / "reprise.yaml"
        file.parent.mkdir()
        file.symlink_to(elsewhere)
        process = await asyncio.to_thread(Process, file, OFTEN, None)
        async with watching(process):
            for hours in (2, 3):
                write(elsewhere, with_ttl(hours))
                await process.until(lambda hours=hours: process.ttl == hours)  # type: ignore[misc]

    async def test_change_between_start_and_watching_is_noticed(self, file: Path) -> None:
        process = await running(file, with_ttl(1))
        write(file, with_ttl(2))
        async with watching(process):
            assert (await process.report()).applied

    async def test_touch_and_other_files_are_not_reported(self, file: Path) -> None:
        process = await running(file, with_ttl(1), poll=OFTEN)
        async with watching(process):
            os.utime(file, (1, 1))
            (file.parent / "other.yaml").write_text("?")
            write(file, with_ttl(1))
            write(file, with_ttl(2))
            await process.until(lambda: process.ttl == 2)
        assert len(process.applied) == 1

    async def test_bad_file_is_reported_once(self, file: Path) -> None:
        process = await running(file, with_ttl(1), poll=OFTEN)
        async with watching(process):
            half_way = file.with_suffix(".new")
            half_way.write_text("?")
            half_way.rename(file)
            assert (await process.report()).problems
            with pytest.raises(TimeoutError):
                await process.report(20 * OFTEN)
            write(file, with_ttl(2))
            await process.until(lambda: process.ttl == 2)

    async def test_half_written_file_heals_by_itself(self, file: Path) -> None:
        process = await running(file, with_ttl(1), poll=OFTEN)
        async with watching(process):
            with file.open("w") as half:
                half.flush()
                assert "is empty" in str((await process.report()).problems[0])
                half.write(with_ttl(2))
            await process.until(lambda: process.ttl == 2)

    @pytest.mark.parametrize("moved", [False, True])
    async def test_directory_may_vanish_and_come_back(self, tmp_path: Path, moved: bool) -> None:
        directory = tmp_path / "etc"
        directory.mkdir()
        process = await running(directory / "reprise.yaml", with_ttl(1), poll=OFTEN)
        async with watching(process):
            for hours in (2, 3):
                if moved:
                    directory.rename(tmp_path / f"gone{hours}")
                else:
                    shutil.rmtree(directory)
                result = await process.until(lambda hours=hours: process.ttl < hours)  # type: ignore[misc]
                assert "No such file" in str(result.problems[0])
                directory.mkdir()
                (directory / "reprise.yaml").write_text(with_ttl(hours))
                await process.until(lambda hours=hours: process.ttl == hours)  # type: ignore[misc]

    def test_cancelled_watch_leaves_no_thread(self, file: Path) -> None:
        before = set(threading.enumerate())

        async def watch_for_a_moment() -> None:
            process = await running(file, with_ttl(1))
            write(file, with_ttl(2))
            async with watching(process):
                await process.report()

        asyncio.run(watch_for_a_moment())
        for thread in set(threading.enumerate()) - before:
            thread.join(20)
            assert not thread.is_alive()

    async def test_error_of_the_check_is_the_error_of_the_reload(self, file: Path) -> None:
        process = await running(file, with_ttl(1))
        write(file, "nonsense: 1\n")
        result = await process.reloader.reload("admin")
        with pytest.raises(ConfigError) as caught:
            await asyncio.to_thread(process.load)
        assert result.problems == caught.value.problems
