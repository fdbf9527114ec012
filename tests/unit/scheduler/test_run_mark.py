"""Which container says in a checkpoint store that a run has begun there."""

from pathlib import Path

import pytest

from heron_core import config as keys
from heron_core.plans import MASTER_CONTAINER
from heron_core.topology import ComponentSpec, TopologySpec
from heron_engine.scheduler.container.run_mark import RunMark, begin_states
from heron_engine.scheduler.savepoints import run_of
from heron_io.checkpoint_store.local_files import LocalFiles
from heron_io.security import Keys

PAIR = Keys.new()
SAVING = TopologySpec("words", (ComponentSpec("lines", True, "words.Lines", 1),)).with_config(
    {keys.RELIABILITY_MODE: keys.EFFECTIVELY_ONCE}
)


def begun(
    store: Path, container: int, *, is_shared: bool = True, was_here: bool = False
) -> RunMark:
    config = {keys.CHECKPOINT_STORE: str(store)} if is_shared else {}
    return begin_states(SAVING.with_config(config), PAIR, container, str(store), was_here)


def is_marked(store: Path) -> bool:
    return LocalFiles(str(store)).has_begun("words", run_of(PAIR))


def test_a_container_that_begins_without_the_shared_disk_does_not_take_the_folder_for_it(
    tmp_path: Path,
) -> None:
    bare, disk = tmp_path / "bare", tmp_path / "disk"
    bare.mkdir()
    assert begun(bare, 1) is RunMark.AWAITED
    assert list(bare.iterdir()) == []
    assert begun(disk, MASTER_CONTAINER) is RunMark.THERE
    assert is_marked(disk)


def test_a_store_that_is_away_when_the_masters_container_begins_is_marked_later(
    tmp_path: Path,
) -> None:
    disk = tmp_path / "disk"
    disk.write_text("no folder yet")
    assert begun(disk, MASTER_CONTAINER) is RunMark.OWED


@pytest.mark.parametrize("container", [MASTER_CONTAINER, 1])
def test_a_container_that_begins_again_looks_for_the_mark_of_before(
    tmp_path: Path, container: int
) -> None:
    assert begun(tmp_path / "disk", container, was_here=True) is RunMark.THERE
    assert list(tmp_path.iterdir()) == []


def test_each_container_marks_the_folder_beside_its_own_logs(tmp_path: Path) -> None:
    assert begun(tmp_path / "logs", MASTER_CONTAINER, is_shared=False) is RunMark.THERE
    assert not is_marked(tmp_path / "logs")
    assert begun(tmp_path / "logs", 1, is_shared=False) is RunMark.THERE
    assert is_marked(tmp_path / "logs")
