"""A file with a line that no bolt can process: it is replayed rarely, and all others go on."""

from pathlib import Path
from typing import Any

from heron_frontends.components import FileSpout
from heronpy_compat import Bolt, Topology
from heronpy_compat.testing import TopologyTester


class Picky(Bolt):
    def process(self, tup: Any) -> None:
        if tup.values[0] == "poison":
            raise ValueError("what is that")
        self.ack(tup)


class Lines(Topology):
    config = {"topology.reliability.mode": "ATLEAST_ONCE"}
    lines = FileSpout.spec()
    picky = Picky.spec(inputs=[lines])


def emitted(path: Path, calls: int, **config: Any) -> tuple[list[str], list[Any]]:
    """What the file's lines come to: the lines emitted, and the errors of the spout."""
    path.write_text("one\npoison\nthree\n")
    with TopologyTester(Lines, config={"library.file.path": str(path), **config}) as tester:
        for _ in range(calls):
            tester.run_spouts(1)
        lines = [each.values[0] for each in tester.emitted("lines")]
        assert len(tester.errors("picky")) == 2
        return lines, tester.errors("lines")


def test_a_poison_line_is_replayed_once_at_once_and_then_waits(tmp_path: Path) -> None:
    lines, errors = emitted(tmp_path / "lines", 200, **{"topology.replay.backoff.ms": 3_600_000})
    assert sorted(lines) == ["one", "poison", "poison", "three"]
    assert errors == []  # it waits for the next replay


def test_a_poison_line_is_abandoned_by_its_number_and_the_file_ends(tmp_path: Path) -> None:
    config = {"topology.replay.max": 1}
    lines, errors = emitted(tmp_path / "lines", 20, **config)
    assert sorted(lines) == ["one", "poison", "poison", "three"]
    assert "line 2" in str(errors)
    assert "topology.replay.max" in str(errors)
