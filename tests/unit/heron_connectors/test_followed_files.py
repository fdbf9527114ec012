"""FileSpout as `tail -F`: lines that are added, files that are rotated, emptied, and new."""

import gzip
from pathlib import Path
from typing import Any

import pytest

from heron_connectors.files import followed
from heron_frontends.components import FileSpout
from heronpy_compat import Topology
from heronpy_compat.testing import TopologyTester
from tests.unit.heron_connectors.test_source_positions import EXACT, Collect


class Log:
    """A log of numbers, and what rotates it."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "app.log"
        self.written: list[int] = []

    def write(self, count: int) -> None:
        with self.path.open("a") as file:
            for _ in range(count):
                file.write(f"{len(self.written)}\n")
                self.written.append(len(self.written))

    def rotate(self) -> None:
        for number in range(20, 0, -1):
            older = self.path.with_name(f"app.log.{number}")
            if older.exists():
                older.rename(self.path.with_name(f"app.log.{number + 1}"))
        self.path.rename(self.path.with_name("app.log.1"))


def following(pattern: Path, **config: Any) -> TopologyTester:
    given = {"library.file.path": str(pattern), "library.file.follow": True}
    given["library.file.follow.secs"] = 0

    class Following(Topology):
        config = EXACT
        items = FileSpout.spec(par=2, config=given)
        collect = Collect.spec(inputs=[items])

    return TopologyTester(Following)


def items(tester: TopologyTester) -> list[int]:
    (collect,) = tester.component("collect")
    return list(collect.items)


@pytest.mark.parametrize("pattern", ["app.log", "app.log*", "*.log"])
def test_each_line_of_a_log_that_is_rotated_comes_once(tmp_path: Path, pattern: str) -> None:
    log = Log(tmp_path)
    with following(tmp_path / pattern) as tester:
        tester.run_spouts(2)
        for _ in range(4):
            log.write(3)
            tester.run_spouts(2)
            log.write(2)
            log.rotate()
            log.write(1)
            tester.run_spouts(20)
        assert items(tester) == log.written


def test_each_line_comes_once_though_the_spout_is_killed_between_rotations(
    tmp_path: Path,
) -> None:
    log = Log(tmp_path)
    log.write(5)
    with following(log.path) as tester:
        for turn in range(5):
            tester.run_spouts(3)
            if turn % 2 == 0:
                assert tester.checkpoint()
            log.write(2)
            tester.run_spouts(1)
            log.rotate()
            log.write(2)
            if turn == 2:  # twice while it is away
                log.rotate()
                log.write(3)
            tester.crash("items")
        tester.run_spouts(60)
        assert items(tester) == log.written


def test_a_topology_that_restarts_from_its_beginning_finds_its_first_lines(tmp_path: Path) -> None:
    log = Log(tmp_path)
    log.write(4)
    with following(log.path) as tester:
        tester.run_spouts(6)
        for _ in range(2):
            log.rotate()
            log.write(3)
            tester.crash("items")  # there is no checkpoint
            tester.run_spouts(2)
        log.rotate()  # and the new one is not there yet
        tester.run_spouts(30)
        assert items(tester) == log.written


def test_a_line_is_whole_or_not_there_yet(tmp_path: Path) -> None:
    log = Log(tmp_path)
    log.path.write_text("1")
    with following(log.path) as tester:
        tester.run_spouts(4)
        assert items(tester) == []
        with log.path.open("a") as file:
            file.write("2\n3\n4")
        tester.run_spouts(4)
        assert items(tester) == [12, 3]
        log.path.rename(tmp_path / "app.log.1")
        log.path.write_text("5\n")
        tester.run_spouts(8)
        assert items(tester) == [12, 3, 4, 5]


def test_a_file_that_is_emptied_is_read_from_its_beginning(tmp_path: Path) -> None:
    path = tmp_path / "app.log"
    path.write_text("1\n2\n3\n")
    with following(path) as tester:
        tester.run_spouts(6)
        with path.open("r+") as file:
            file.truncate()
            file.write("4\n")
        tester.run_spouts(6)
        assert items(tester) == [1, 2, 3, 4]


def test_lines_that_are_gone_unread_are_told(tmp_path: Path) -> None:
    log = Log(tmp_path)
    log.write(2)
    with following(log.path) as tester:
        tester.run_spouts(4)
        assert tester.checkpoint()
        (tmp_path / "app.log").rename(tmp_path / "elsewhere")
        log.write(2)
        tester.crash("items")
        tester.run_spouts(8)
        assert items(tester) == [0, 1, 2, 3]
        (problem,) = tester.errors("items")
        assert "the file was removed or truncated" in str(problem)


def test_a_damaged_file_is_named_and_nothing_of_it_is_emitted(tmp_path: Path) -> None:
    (tmp_path / "x.gz").write_bytes(b"no gzip")

    class Reading(Topology):
        config = EXACT
        items = FileSpout.spec(config={"library.file.path": str(tmp_path / "x.gz")})
        collect = Collect.spec(inputs=[items])

    with TopologyTester(Reading) as tester:
        tester.run_spouts(2)
        assert items(tester) == []
        assert all("x.gz cannot be read: Not a gzipped" in str(e) for e in tester.errors("items"))
        assert tester.errors("items")


def copied_and_emptied(log: Log) -> None:
    """What logrotate does with `copytruncate`, numbers and all."""
    for number in range(20, 0, -1):
        older = log.path.with_name(f"app.log.{number}")
        if older.exists():
            older.rename(log.path.with_name(f"app.log.{number + 1}"))
    log.path.with_name("app.log.1").write_bytes(log.path.read_bytes())
    with log.path.open("r+") as file:
        file.truncate()


@pytest.mark.parametrize("is_killed", [False, True])
def test_a_log_that_is_copied_and_emptied_comes_whole_once(tmp_path: Path, is_killed: bool) -> None:
    log = Log(tmp_path)
    log.write(20)
    with following(log.path) as tester:
        for turn in range(4):
            tester.run_spouts(7)
            assert tester.checkpoint()
            tester.run_spouts(2)
            log.write(3)
            copied_and_emptied(log)
            # The second time it is longer than what was read before anybody looks.
            log.write(200 if turn == 1 else 2)
            if turn == 2:
                copied_and_emptied(log)
                log.write(1)
            if is_killed:
                tester.crash("items")
        tester.run_spouts(400)
        assert items(tester) == log.written


def test_a_log_that_is_emptied_and_grows_longer_before_the_next_look_is_read_from_its_beginning(
    tmp_path: Path,
) -> None:
    path = tmp_path / "app.log"
    path.write_text("1\n2\n3\n")
    with following(path) as tester:
        tester.run_spouts(6)
        with path.open("r+") as file:
            file.truncate()
            file.write("4\n5\n6\n7\n8\n")
        tester.run_spouts(12)
        assert items(tester) == [1, 2, 3, 4, 5, 6, 7, 8]


def test_what_of_an_emptied_log_was_seen_and_not_read_is_told(tmp_path: Path) -> None:
    path = tmp_path / "app.log"
    path.write_text("1\n2\n3")
    with following(path) as tester:
        tester.run_spouts(6)
        with path.open("r+") as file:
            file.truncate()
            file.write("4\n")
        tester.run_spouts(6)
        assert items(tester) == [1, 2, 4]
        (problem,) = tester.errors("items")
        assert "was truncated: reading from its start: at least 1 bytes" in str(problem)


def test_another_file_with_the_inode_of_the_one_that_was_read_is_read_from_its_beginning(
    tmp_path: Path,
) -> None:
    path = tmp_path / "app.log"
    path.write_text("1\n2\n3\n")
    with following(path) as tester:
        tester.run_spouts(6)
        assert tester.checkpoint()
        path.write_text("4\n5\n6\n7\n")  # the same inode
        tester.crash("items")
        tester.run_spouts(8)
        assert items(tester) == [1, 2, 3, 4, 5, 6, 7]
        (problem,) = tester.errors("items")
        assert "was removed or truncated" in str(problem)


def test_a_log_that_is_put_back_from_a_copy_goes_on_where_it_was(tmp_path: Path) -> None:
    """Another volume, another inode: what is in it is the same."""
    log = Log(tmp_path)
    log.write(5)
    with following(log.path) as tester:
        tester.run_spouts(8)
        assert tester.checkpoint()
        data = log.path.read_bytes()
        log.path.rename(tmp_path / "elsewhere")
        log.path.write_bytes(data)
        log.write(3)
        tester.crash("items")
        tester.run_spouts(10)
        assert items(tester) == log.written


def test_a_log_that_vanishes_and_comes_back_goes_on(tmp_path: Path) -> None:
    log = Log(tmp_path)
    log.write(3)
    with following(log.path) as tester:
        tester.run_spouts(6)
        log.path.unlink()
        tester.run_spouts(6)
        log.write(2)
        tester.run_spouts(12)
        assert items(tester) == log.written
        tester.run_spouts(2)
        assert tester.checkpoint()
        log.path.rename(tmp_path / "away")
        tester.crash("items")
        tester.run_spouts(6)
        (tmp_path / "away").rename(log.path)
        log.write(2)
        tester.run_spouts(12)
        assert items(tester) == log.written


def test_the_writer_goes_on_in_the_old_file_until_it_writes_into_the_new_one(
    tmp_path: Path,
) -> None:
    """logrotate makes the new one, and tells the writer of it later."""
    log = Log(tmp_path)
    log.write(2)
    with following(log.path) as tester:
        tester.run_spouts(6)
        with log.path.open("a") as writer:
            log.rotate()
            log.path.touch()
            tester.run_spouts(6)
            writer.write("2\n3")
            writer.flush()
            tester.run_spouts(6)
            writer.write("\n")
        log.written += [2, 3]
        log.write(2)
        tester.run_spouts(12)
        assert items(tester) == log.written


def test_generations_that_are_gone_unread_are_told_and_the_next_one_is_read(tmp_path: Path) -> None:
    log = Log(tmp_path)
    log.write(3)
    with following(log.path) as tester:
        tester.run_spouts(6)
        assert tester.checkpoint()
        for _ in range(3):
            log.write(1)
            log.rotate()
        (tmp_path / "app.log.3").unlink()  # with line 3
        tester.crash("items")
        tester.run_spouts(12)
        assert items(tester) == [0, 1, 2, 4, 5]
        (problem,) = tester.errors("items")
        assert "was removed" in str(problem)


@pytest.mark.parametrize("is_cut", [False, True])
def test_a_compressed_file_that_grows_is_read_on(tmp_path: Path, is_cut: bool) -> None:
    path = tmp_path / "app.log.gz"
    first, second = (gzip.compress(each) for each in (b"1\n2\n", b"3\n4\n"))
    path.write_bytes(first)
    with following(path) as tester:
        tester.run_spouts(6)
        assert items(tester) == [1, 2]
        if is_cut:
            with path.open("ab") as file:
                file.write(second[:-6])
            tester.run_spouts(6)
            assert tester.checkpoint()
            tester.crash("items")
            tester.run_spouts(6)
            second = second[-6:]
        with path.open("ab") as file:
            file.write(second)
        tester.run_spouts(12)
        assert items(tester) == [1, 2, 3, 4]


def test_files_that_are_being_renamed_are_looked_at_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(tmp_path / "app.log")
    listed = followed._generations
    for name in ("app.log", "app.log.1"):
        (tmp_path / name).write_text("1\n")

    def renaming(name: str) -> list[followed.Generation]:
        found = listed(name)
        if (tmp_path / "app.log.1").exists():
            (tmp_path / "app.log.1").rename(tmp_path / "app.log.2")
        return found

    monkeypatch.setattr(followed, "_generations", renaming)
    assert followed.generations(path) is None
    found = followed.generations(path)
    assert found is not None
    assert [each.path for each in found] == [f"{path}.2", path]
