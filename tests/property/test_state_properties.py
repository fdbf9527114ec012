"""Keyed state: after any operation, save, restore, split and merge equal to plain dicts."""

import copy
from itertools import pairwise
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heron_core.algorithms.hashing import slot, stable_hash
from heron_core.state.keys import KEY_GROUPS, groups_of, key_group, key_of, owner
from heron_core.state.memory import MemoryBackend
from heron_core.state.parts import (
    KeyRange,
    Parts,
    StatePart,
    decode_parts,
    divided_groups,
    encode_parts,
    gather,
)
from heron_core.state.snapshot import decode
from tests.property.state_support import (
    KEYED_OPERATIONS,
    KEYS,
    TTL_SECS,
    Clock,
    Model,
    Real,
    random_operation,
)

STEPS = st.lists(
    st.one_of(
        *[KEYED_OPERATIONS] * 6,
        st.just("snapshot"),
        st.just("restore"),
        st.just("successor"),
        st.integers(1, 5).map(lambda tasks: ("split", tasks)),
    ),
    max_size=30,
)


def random_step(rng: Random) -> Any:
    """Mostly an operation."""
    chance = rng.random()
    if chance < 0.8:
        return random_operation(rng)
    if chance < 0.92:
        return "snapshot"
    return rng.choice(["restore", "successor", ("split", rng.randint(1, 4))])


class Run:
    """Both side by side."""

    def __init__(self) -> None:
        self.real, self.model = Real(MemoryBackend, in_place=True), Model()
        self.saved = self.real.backend.snapshot()
        self.saved_model = copy.deepcopy(self.model)

    def step(self, step: Any) -> None:
        """One step."""
        match step:
            case "snapshot":
                self.saved = self.real.backend.snapshot()
                self.saved_model = copy.deepcopy(self.model)
            case "restore":
                self.real.backend.restore(self.saved)
                self.model = copy.deepcopy(self.saved_model)
            case "successor":
                self.real = Real(MemoryBackend, in_place=True)
                self.step("restore")
            case ("split", int(tasks)):
                self.rescale(tasks)
            case (key, operation):
                self.real.do(key, copy.deepcopy(operation))
                self.model.do(key, copy.deepcopy(operation))

    def rescale(self, tasks: int) -> None:
        """To a number of tasks, to one more, and back; each key is at the grouping's task."""
        saved, key_range = [self.saved], KeyRange(0, 1)
        for number in (tasks, tasks + 1, 1):
            previous = [
                StatePart(KeyRange(at, key_range.tasks), each) for at, each in enumerate(saved)
            ]
            saved = []
            for index in range(number):
                key_range = KeyRange(index, number)
                parts = tuple(each for each in previous if each.key_range.overlaps(key_range))
                saved.append(self.gathered(Parts(key_range, parts)))
        (self.saved,) = saved

    @staticmethod
    def gathered(parts: Parts) -> bytes:
        """State of a task, after the way of its parts through a store."""
        task, key_range = Real(MemoryBackend), parts.key_range
        sent = decode_parts(encode_parts(parts))
        assert sent == parts
        gather(task.backend, sent, "count")
        for entries in task.contents().values():
            assert all(owner(key_of([key]), key_range.tasks) == key_range.index for key in entries)
        return task.backend.snapshot()


@settings(max_examples=80, derandomize=True)
@given(STEPS)
def test_states_are_what_plain_dicts_would_be(steps: list[Any]) -> None:
    run = Run()
    for step in steps:
        run.step(step)
        assert run.real.contents() == run.model.contents()


@pytest.mark.parametrize("seed", range(4))
def test_the_same_holds_for_long_runs(seed: int) -> None:
    """Enough steps for snapshots of many chunks, with full ones between."""
    rng, run = Random(seed), Run()
    for _ in range(400):
        run.step(random_step(rng))
    assert run.real.contents() == run.model.contents()
    run.step("successor")
    assert run.real.contents() == run.model.contents()


def test_more_tasks_than_key_groups_share_a_group_key_by_key() -> None:
    rng, run = Random(7), Run()
    for _ in range(150):
        run.step(random_step(rng))
    run.step("snapshot")
    run.step(("split", KEY_GROUPS + 22))
    run.step("successor")
    assert run.real.contents() == run.model.contents()


@settings(max_examples=60, derandomize=True)
@given(
    st.one_of(st.sampled_from(KEYS), st.text(), st.integers(), st.lists(st.text(), max_size=3)),
    st.integers(1, 300),
    st.integers(1, 300),
)
def test_a_key_is_in_a_group_of_the_task_that_its_tuples_go_to(
    value: Any, tasks: int, groups: int
) -> None:
    key = key_of([value])
    index = slot(stable_hash([value]), tasks)  # as fields grouping does it
    assert owner(key, tasks) == index
    assert key_group(key, groups) in groups_of(index, tasks, groups)


@settings(max_examples=30, derandomize=True)
@given(st.one_of(st.text(), st.integers()), st.integers(1, 200), st.integers(1, 200))
def test_a_group_that_moves_as_a_whole_has_keys_of_no_other_task(
    key: Any, before: int, now: int
) -> None:
    group, previous = key_group(key), KeyRange(owner(key, before), before)
    for index in {owner(key, now), 0, now - 1}:
        whole, others = divided_groups(previous, KeyRange(index, now))
        assert group not in whole or index == owner(key, now)
        assert index != owner(key, now) or group in whole | others
        stranger = KeyRange((previous.index + 1) % before, before)
        if before > 1:  # where the key should not be it is found all the same
            assert group not in divided_groups(stranger, KeyRange(index, now))[0]


@settings(max_examples=30, derandomize=True)
@given(st.integers(1, 300), st.integers(1, 300))
def test_the_groups_of_all_tasks_are_all_groups(tasks: int, groups: int) -> None:
    ranges = [groups_of(index, tasks, groups) for index in range(tasks)]
    assert ranges[0].start == 0
    assert ranges[-1].stop == groups
    for left, right in pairwise(ranges):
        assert right.start in (left.stop, left.stop - 1)


@settings(max_examples=30, derandomize=True)
@given(
    st.lists(st.one_of(KEYED_OPERATIONS, st.floats(0.0, TTL_SECS), st.just("save")), max_size=40)
)
def test_what_has_lived_its_time_is_never_seen(steps: list[Any]) -> None:
    """Against plain dicts with entries removed at their time."""
    clock = Clock()
    real = Real(MemoryBackend, TTL_SECS, clock)
    written: dict[Any, tuple[float, Any]] = {}
    for step in steps:
        match step:
            case float(secs):
                clock.now += secs
            case "save":
                saved = real.backend.snapshot()
                real = Real(MemoryBackend, TTL_SECS, clock)
                real.backend.restore(saved)
            case (key, ("put", value)):
                real.do(key, ("put", value))
                written[key] = (clock.now + TTL_SECS, value)
            case (key, ("clear_value",)):
                real.do(key, ("clear_value",))
                written.pop(key, None)
        alive = {key: value for key, (until, value) in written.items() if clock.now < until}
        assert real.contents()["value"] == alive


def test_a_snapshot_after_a_small_change_is_small_work() -> None:
    real = Real(MemoryBackend)
    for number in range(2000):
        real.do(f"key {number}", ("put", number))
    full = real.backend.snapshot()
    real.do("key 5", ("put", "changed"))
    changed = real.backend.snapshot()
    assert changed[-200:].find(b"changed") > 0
    assert len(changed) - len(full) < 200
    assert len(decode(changed, "memory", "count").chunks) == 2


def test_what_is_changed_in_place_after_reading_is_saved() -> None:
    real = Real(MemoryBackend)
    real.do("key", ("put", [1]))
    real.do("key", ("append", [1]))
    real.do("key", ("put_entry", "x", [1]))
    real.backend.snapshot()
    real.value.for_key("key").get().append(2)
    real.list.for_key("key").get()[0].append(2)
    real.map.for_key("key")["x"].append(2)
    successor = Real(MemoryBackend)
    successor.backend.restore(real.backend.snapshot())
    expected = {"value": {"key": [1, 2]}, "sum": {}, "list": {"key": [[1, 2]]},
                "map": {"key": {"x": [1, 2]}}}  # fmt: skip
    assert successor.contents() == expected
