"""A query of a key as of a checkpoint: with the owner's state alone, where it is known who that is.

A topology of 32 tasks with gigabytes of state each was read whole for one key.
"""

from pathlib import Path
from typing import Any

import pytest

from heron_core.records import replace
from heron_core.state.keys import owner
from heron_core.state.protocol import StateKind
from heron_io.saved_queries import query_saved
from heron_io.saved_states import StateOfCheckpoint, open_saved
from heron_io.savepoint_writer import NewEntry, NewState, SavepointPlan, write_savepoint
from heron_io.state_queries import WantedState

KEYS, TASKS = 40, 4


class WatchedFolder:
    """Says which tasks' states are read."""

    def __init__(self, folder: Any) -> None:
        self.loaded: list[int] = []
        self.path = folder.path
        self._folder = folder

    def load(self, task: int) -> bytes:
        self.loaded.append(task)
        state: bytes = self._folder.load(task)
        return state


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Of the user, whose key signs what is written."""
    monkeypatch.setenv("HERONPY_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture(params=["seen", "put"])
def saved(request: pytest.FixtureRequest, tmp_path: Path, home: Path) -> StateOfCheckpoint:
    """A state in a file for each task."""
    name = request.param
    kind = StateKind.PLAIN if name == "put" else StateKind.VALUE
    entries = [NewEntry(f"w{n}", None, n) for n in range(KEYS)]
    plan = SavepointPlan(topology="words", at=1000.0, tasks=TASKS)
    write_savepoint(str(tmp_path / "saved"), [NewState("count", name, kind, entries)], plan)
    return open_saved(str(tmp_path / "saved"), f"count.{name}", None, str(home))


def read(saved: StateOfCheckpoint, key: str) -> tuple[list[Any], list[int]]:
    folder: Any = WatchedFolder(saved.folder)
    answer = query_saved(replace(saved, folder=folder), WantedState(name=saved.name, key=key))
    return [each.value for each in answer.entries], folder.loaded


def test_the_state_of_the_owner_is_read_and_no_other(saved: StateOfCheckpoint) -> None:
    divided = replace(saved, is_divided_by_key=True)
    for number in range(KEYS):
        key = f"w{number}"
        values, tasks = read(divided, key)
        assert values == [number]
        if saved.state == "seen":
            assert tasks == [saved.tasks[owner(key, TASKS)]]
        else:  # any task may have put() a key
            assert tasks == list(saved.tasks)


def test_all_are_read_where_it_is_not_known(saved: StateOfCheckpoint) -> None:
    values, tasks = read(saved, "w7")
    assert values == [7]
    assert tasks == list(saved.tasks)
