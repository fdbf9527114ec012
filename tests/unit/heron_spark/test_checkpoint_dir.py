"""The checkpoint folder: outcomes written once, whose it is, whether it is whole."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from heron_core.errors import HeronError, UsageError
from heron_core.topology import ComponentSpec, TopologySpec
from heron_spark.batch_log import checkpoint_dir
from heron_spark.batch_log.checkpoint_dir import CheckpointDir, TaskOutcome


def outcome(state: bytes = b"state", finished: bool = False) -> TaskOutcome:
    blocks = [(1, 0, b"first"), (1, 1, b""), (2, 0, b"third")]
    return TaskOutcome({"finished": finished}, blocks, state)


def topology(name: str = "t", **parallelism: int) -> TopologySpec:
    found = parallelism or {"words": 1, "count": 2}
    return TopologySpec(
        name, tuple(ComponentSpec(each, False, "m.C", par) for each, par in found.items())
    )


def test_an_outcome_is_read_as_it_was_written(tmp_path: Path) -> None:
    folder = CheckpointDir(str(tmp_path))
    assert not folder.has(3, 7)
    assert folder.keep(3, 7, outcome())
    assert folder.has(3, 7)
    assert list(folder.blocks(3, 7)) == outcome().blocks
    assert folder.state(3, 7) == b"state"
    assert folder.results(3, 7) == {"finished": False}


def test_the_first_attempt_wins(tmp_path: Path) -> None:
    folder = CheckpointDir(str(tmp_path))
    assert folder.keep(3, 7, outcome(b"first"))
    assert not folder.keep(3, 7, outcome(b"second"))
    assert folder.state(3, 7) == b"first"
    assert os.listdir(tmp_path / "tasks" / "3") == ["000000007"]


def test_without_hard_links_a_file_is_still_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EOPNOTSUPP, "not supported")

    monkeypatch.setattr(os, "link", refuse)
    folder = CheckpointDir(str(tmp_path))
    assert folder.keep(3, 7, outcome())
    assert os.listdir(tmp_path / "tasks" / "3") == ["000000007"]


def test_three_batches_are_kept(tmp_path: Path) -> None:
    folder = CheckpointDir(str(tmp_path))
    for batch in range(5):
        folder.keep(1, batch, outcome())
    assert [batch for batch in range(5) if folder.has(1, batch)] == [2, 3, 4]


def test_where_batches_are_left_out_the_three_newest_are_kept(tmp_path: Path) -> None:
    folder = CheckpointDir(str(tmp_path))
    assert folder.newest_before(1, 7) == -1
    for batch in (0, 2, 4, 6, 8):
        folder.keep(1, batch, outcome())
    assert [batch for batch in range(9) if folder.has(1, batch)] == [4, 6, 8]
    assert [folder.newest_before(1, batch) for batch in (9, 8, 7)] == [8, 6, 6]


def test_a_missing_state_is_told_in_a_line(tmp_path: Path) -> None:
    with pytest.raises(HeronError, match="state of task 4 after batch 2 is missing"):
        CheckpointDir(str(tmp_path)).state(4, 2)


def test_a_full_disk_leaves_nothing_half_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = CheckpointDir(str(tmp_path))

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(HeronError, match=r"No space left on device; no data is lost"):
            folder.keep(1, 0, outcome())
    assert os.listdir(tmp_path / "tasks" / "1") == []
    assert folder.keep(1, 0, outcome())


def test_a_checkpoint_is_claimed_and_continued(tmp_path: Path) -> None:
    folder = CheckpointDir(str(tmp_path / "new"))
    folder.claim(topology())
    folder.claim(topology())


@pytest.mark.parametrize(
    ("other", "told"),
    [
        (topology("other"), "is of topology 't', not 'other'"),
        (topology(words=1, count=3), "has 2 tasks of 'count', the topology 3"),
        (topology(words=1, sum=2), "has the components words, count, the topology words, sum"),
        (topology(count=2, words=1), "has the components in another order"),
    ],
)
def test_a_checkpoint_of_another_topology_is_refused(
    tmp_path: Path, other: TopologySpec, told: str
) -> None:
    folder = CheckpointDir(str(tmp_path))
    folder.claim(topology())
    with pytest.raises(UsageError, match=told):
        folder.claim(other)


def test_of_another_layout_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = CheckpointDir(str(tmp_path))
    folder.claim(topology())
    monkeypatch.setattr(checkpoint_dir, "VERSION", 2)
    with pytest.raises(UsageError, match=r"layout 1, not 2"):
        folder.claim(topology())


def test_a_folder_with_other_things_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(UsageError, match="other content"):
        CheckpointDir(str(tmp_path)).claim(topology())
    assert os.listdir(tmp_path) == ["thesis.txt"]


def test_a_checkpoint_without_its_query_is_not_whole(tmp_path: Path) -> None:
    folder = CheckpointDir(str(tmp_path))
    folder.claim(topology())
    (tmp_path / "query" / "offsets").mkdir(parents=True)
    (tmp_path / "query" / "offsets" / "0").touch()
    folder.keep(1, 0, outcome())
    folder.claim(topology())
    folder.keep(1, 1, outcome())
    with pytest.raises(UsageError, match="its tasks have batch 1, its query only 0"):
        folder.claim(topology())


def test_the_end_is_decided_once_and_reached_later(tmp_path: Path) -> None:
    folder = CheckpointDir(str(tmp_path))
    assert folder.ending() is None
    folder.end_with(4)
    assert folder.ending() == 4
    assert not folder.ended
    commits = tmp_path / "query" / "commits"
    commits.mkdir(parents=True)
    for name in ("3", ".4.crc", "4"):
        (commits / name).touch()
    assert folder.ended


def hold(path: Path, spec: TopologySpec) -> None:
    """Have a checkpoint, for a moment."""
    with CheckpointDir(str(path)).locked(spec):
        pass


def test_a_checkpoint_is_for_one_run_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint"
    program = (
        "import sys\n"
        "from heron_spark.batch_log.checkpoint_dir import CheckpointDir\n"
        "from heron_core.topology import ComponentSpec, TopologySpec\n"
        "spec = TopologySpec('t', (ComponentSpec('words', False, 'm.C', 1),))\n"
        f"with CheckpointDir({str(path)!r}).locked(spec):\n"
        "    print('held', flush=True)\n"
        "    sys.stdin.read()\n"
    )
    spec = topology(words=1)
    with subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[3],
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        with pytest.raises(UsageError, match=f"is in use by pid {other.pid} on "):
            hold(path, spec)
        other.kill()
    (path / "runs").mkdir()
    hold(path, spec)
    assert sorted(os.listdir(path)) == ["lock", "topology.json"]


def test_a_folder_that_cannot_be_written_to_is_told_in_a_line(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    for path in (file, file / "below"):
        with pytest.raises(UsageError, match="Not a directory"):
            hold(path, topology())


def test_what_is_refused_stays_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(UsageError, match="other content"):
        hold(tmp_path, topology())
    assert os.listdir(tmp_path) == ["thesis.txt"]
