"""A folder that is removed while a sink writes into it: what is not complete is written again, what
was complete is told as lost."""

import shutil
from pathlib import Path

import pytest

from heron_connectors.files.sink import FileSink
from heron_frontends.components import FileSpout
from heronpy_compat import Topology
from heronpy_compat.testing import TopologyTester
from tests.unit.heron_connectors.test_source_positions import EXACT

LINES = [str(number) for number in range(9)]


def copying(folder: Path) -> TopologyTester:
    (folder / "lines.txt").write_text("".join(f"{each}\n" for each in LINES))

    class Copying(Topology):
        config = EXACT
        lines = FileSpout.spec(config={"library.file.path": str(folder / "lines.txt")})
        copy = FileSink.spec(
            inputs=[lines], config={"file.folder": str(folder / "out"), "file.bytes.per.file": 1}
        )

    return TopologyTester(Copying)


def lines_in(folder: Path) -> list[str]:
    files = (folder / "out").glob("part-*")
    return sorted(line for each in files for line in each.read_text().splitlines())


def test_lines_of_hidden_files_that_are_removed_are_written_again(tmp_path: Path) -> None:
    with copying(tmp_path) as tester:
        tester.run_spouts(3)
        assert tester.checkpoint()
        tester.run_spouts(3)
        shutil.rmtree(tmp_path / "out")
        tester.checkpoint()
        tester.run_spouts()
        assert tester.checkpoint()
        tester.finish()
        assert any("was removed before its checkpoint" in e.text for e in tester.errors("copy"))
    assert lines_in(tmp_path) == LINES[3:]


def test_a_file_that_is_removed_between_its_checkpoint_and_its_commit_is_told_as_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = FileSink.commit

    def removing(self: FileSink, prepared: list[list[str]], transaction_id: object) -> None:
        where, name, _ = prepared[0]
        (tmp_path / "out" / where / name).unlink()
        commit(self, prepared, transaction_id)  # type: ignore[arg-type]

    with copying(tmp_path) as tester:
        tester.run_spouts(3)
        monkeypatch.setattr(FileSink, "commit", removing)
        assert tester.checkpoint()
        monkeypatch.setattr(FileSink, "commit", commit)
        tester.run_spouts()
        assert tester.checkpoint()
        tester.finish()
        (problem,) = tester.errors("copy")
        assert "its rows are lost" in problem.text
    assert lines_in(tmp_path) == LINES[1:]
