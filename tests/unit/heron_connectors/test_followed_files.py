"""FileSpout as `tail -F`: lines that are added, files that are rotated, emptied, and new."""

from pathlib import Path
from typing import Any

import pytest
from test_source_positions import EXACT, Collect

from heron_frontends.components import FileSpout
from heronpy_compat import Topology
from heronpy_compat.testing import TopologyTester


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


def test_a_topology_that_goes_back_to_its_start_finds_its_first_lines(tmp_path: Path) -> None:
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
        assert "the file that was read is gone" in str(problem)


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
