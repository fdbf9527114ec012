"""A checkpoint with unprocessed input begins a topology of another parallelism."""

import json
from pathlib import Path
from typing import Any

import msgpack
import pytest

from heron_api.state.component_state import ComponentState
from heron_core import config as keys
from heron_core.errors import HeronError
from heron_core.plans import PackingPlan
from heron_core.state.codec import StateCodec
from heron_core.state.current_key import CurrentKey
from heron_core.state.description import description_of
from heron_core.state.divided_input import InputDivider
from heron_core.state.file_snapshot import as_bytes
from heron_core.state.keys import owner
from heron_core.state.memory import MemoryBackend
from heron_core.state.named_states import NamedStates
from heron_core.state.restore_plan import share_of
from heron_core.state.saved_input import InputSource, SavedInput, encode_input
from heron_core.topology import (
    ComponentSpec,
    GroupingKind,
    GroupingSpec,
    InputSpec,
    StreamSpec,
    TopologySpec,
)
from heron_core.typed_json import to_json
from heron_core.wire.batch import encode_batch
from heron_engine.scheduler.packing import pack
from heron_engine.scheduler.previous_runs import previous_run_of
from heron_engine.scheduler.savepoints import Savepoint, read_savepoint
from heron_instance.own_states import OwnStates
from heron_io.checkpoint_store.local_files import LocalFiles
from heron_io.checkpoint_store.signatures import Trust

WORDS = [f"word {n}" for n in range(40)]
NUMBER = 8
"""Of the checkpoint with which the next topology begins."""


def topology(grouping: GroupingSpec, sinks: int, lines: int = 1) -> TopologySpec:
    outputs = (StreamSpec("default", ("word",)),)
    components = (
        ComponentSpec("lines", True, "module.Lines", lines, outputs),
        ComponentSpec(
            "sink", False, "module.Sink", sinks, (), (InputSpec("lines", "default", grouping),)
        ),
    )
    return TopologySpec("words", components, {keys.RELIABILITY_MODE: keys.EFFECTIVELY_ONCE})


FIELDS = GroupingSpec(GroupingKind.FIELDS, ("word",))
SHUFFLE = GroupingSpec(GroupingKind.SHUFFLE)


def state(component: str) -> ComponentState:
    named = NamedStates(MemoryBackend(StateCodec(component)), CurrentKey(component), lambda: 0.0)
    return ComponentState(named)


OURS = Trust(trusts_all=True)


class Left:
    """A checkpoint of a topology with a partly processed message left at each sink."""

    def __init__(
        self, path: Path, grouping: GroupingSpec, sinks: int, has_state: bool = True
    ) -> None:
        self.files = LocalFiles(f"{path}/store")
        self.grouping = grouping
        before = topology(grouping, sinks)
        packing = pack(before)
        (line,) = packing.tasks_of["lines"]
        self.save(line, as_bytes(state("lines").deferred_snapshot()))
        for index, task in enumerate(packing.tasks_of["sink"]):
            words = [each for each in WORDS if owner(each, sinks) == index]
            counted = state("sink")
            for each in words if has_state else ():
                counted.value_state("counts").for_key(each).put(1)
            packed = [msgpack.packb([each]) for each in ["processed", *words]]
            message = encode_batch(1, line, task, packed, 0)
            saved = SavedInput((message,), 1, {line: InputSource("lines", 0, 1, ("default",))})
            self.save(task, encode_input(as_bytes(counted.deferred_snapshot()), saved))
        described = to_json(description_of(before, packing, 7, 1e9))
        self.files.checkpoint("words", 7).describe(described)
        self.url = self.files.checkpoint("words", 7).path

    def save(self, task: int, saved: bytes) -> None:
        self.files.save("words", 7, task, saved)

    def read(self, sinks: int, allow: bool = False) -> tuple[Savepoint, PackingPlan]:
        after = topology(self.grouping, sinks)
        return read_savepoint(self.url, after, pack(after), allow, OURS), pack(after)

    def begun(self, savepoint: Savepoint, packing: PackingPlan, number: int = NUMBER) -> Any:
        """First input of each sink, and the parts of its state, as restored by its instance."""
        savepoint.write(self.files, "words", number)
        (completed,) = savepoint.node(number, 1)["completed"]
        previous = {name: tuple(tasks) for name, tasks in completed.get("former", {}).items()}
        found = {}
        for task in packing.tasks_of["sink"]:
            share = share_of(task, packing, previous, completed.get("with_input", ()))
            load = lambda each, whose: self.files.load("words", each, whose)  # noqa: E731
            state_of_task, inputs = OwnStates(task, load).restore(number, share)
            divider = InputDivider("sink", topology(self.grouping, 1), msgpack.unpackb)
            whole = inputs[0].saved if share.is_whole else divider.share(inputs, share.key_range)
            rows = [row for each in whole.messages for row in msgpack.unpackb(each[1])]
            made = state("sink")
            if state_of_task:
                made.restore(state_of_task)
            counts = dict(made.value_state("counts").all_items())
            found[task] = [word for (word,) in rows[whole.first_row :]], set(counts)
        return found


@pytest.mark.parametrize("sinks", [1, 3, 5])
def test_a_folder_with_saved_input_begins_more_and_fewer_sinks_and_each_tuple_counts_once(
    tmp_path: Path, sinks: int
) -> None:
    left = Left(tmp_path, FIELDS, 2)
    savepoint, packing = left.read(sinks)
    found = left.begun(savepoint, packing)
    for index, task in enumerate(packing.tasks_of["sink"]):
        words, counted = found[task]
        ours = {each for each in WORDS if owner(each, sinks) == index}
        assert set(words) == counted == ours
        assert len(words) == len(ours)


def test_a_sink_without_state_loses_none_of_its_input(tmp_path: Path) -> None:
    """Its only state is unprocessed input: earlier dropped silently."""
    left = Left(tmp_path, SHUFFLE, 2, has_state=False)
    savepoint, packing = left.read(3)
    words = [each for words, _ in left.begun(savepoint, packing).values() for each in words]
    assert sorted(words) == sorted(WORDS)


def test_as_many_sinks_take_the_input_as_it_was(tmp_path: Path) -> None:
    left = Left(tmp_path, SHUFFLE, 2)
    savepoint, packing = left.read(2)
    assert savepoint.previous == {}
    words = [each for words, _ in left.begun(savepoint, packing).values() for each in words]
    assert sorted(words) == sorted(WORDS)


def test_a_run_that_dies_before_its_first_checkpoint_leaves_the_input_to_the_next(
    tmp_path: Path,
) -> None:
    """The next run may have another parallelism, and the state store may have been emptied."""
    left = Left(tmp_path, FIELDS, 2)
    savepoint, packing = left.read(3)
    left.begun(savepoint, packing)
    plain = description_of(topology(FIELDS, 3), packing, NUMBER, 1e9)
    described = to_json(savepoint.described(plain))
    left.files.checkpoint("words", NUMBER).describe(json.loads(json.dumps(described)))
    again = topology(FIELDS, 4)
    kept = previous_run_of(again, pack(again), left.files, {})
    assert kept is not None
    assert kept.savepoint is not None
    found = left.begun(kept.savepoint, pack(again), NUMBER + 1)
    words = [each for words, _ in found.values() for each in words]
    assert sorted(words) == sorted(WORDS)


def test_what_put_keeps_is_not_divided_with_or_without_input(tmp_path: Path) -> None:
    left = Left(tmp_path, FIELDS, 2)
    position = state("sink")
    position.put("at", 17)
    packing = pack(topology(FIELDS, 2))
    left.save(packing.tasks_of["sink"][0], as_bytes(position.deferred_snapshot()))
    with pytest.raises(HeronError, match="sink had 2 instances and has 3 now"):
        left.read(3)


def test_input_of_a_component_that_is_no_more_is_not_dropped_in_silence(tmp_path: Path) -> None:
    left = Left(tmp_path, SHUFFLE, 2, has_state=False)
    lines = topology(SHUFFLE, 2).components[:1]
    after = TopologySpec("words", lines, {keys.RELIABILITY_MODE: keys.EFFECTIVELY_ONCE})
    with pytest.raises(HeronError, match="has state and unprocessed input of sink"):
        read_savepoint(left.url, after, pack(after), False, OURS)
    savepoint = read_savepoint(left.url, after, pack(after), True, OURS)
    assert savepoint.plan.notes == (
        "sink was removed: its state and unprocessed input are dropped",
    )
