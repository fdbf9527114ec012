"""States of monoids: saved, restored, divided and merged, they are what plain dicts would be."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from heron_core.algorithms.hashing import slot, stable_hash
from heron_core.errors import StateError
from heron_core.state import mergeable_table
from heron_core.state.codec import StateCodec
from heron_core.state.current_key import CurrentKey
from heron_core.state.memory import MemoryBackend
from heron_core.state.monoid import MeanOf, Monoid, SumOf
from heron_core.state.named_states import NamedStates
from heron_core.state.parts import KeyRange, Parts, StatePart, decode_parts, encode_parts, gather
from heron_core.state.protocol import StateBackend

KEYS = ["a", "b", ("p", 1), 7]
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.sampled_from(KEYS), st.integers(-9, 9)),
        st.tuples(st.just("add"), st.sampled_from(KEYS), st.integers(-9, 9)),
        st.tuples(st.just("merge"), st.sampled_from(KEYS), st.integers(-9, 9)),
        st.tuples(st.just("change"), st.sampled_from(KEYS), st.integers(-9, 9)),
        st.tuples(st.just("clear"), st.sampled_from(KEYS), st.just(0)),
        st.tuples(st.just("save"), st.just(None), st.just(0)),
        st.tuples(st.just("restore"), st.just(None), st.just(0)),
        st.tuples(st.just("rescale"), st.just(None), st.integers(1, 5)),
    ),
    max_size=30,
)
MakeBackend = Callable[[StateCodec], StateBackend]


class Elements(Monoid[list[int]]):
    """A value that changes in place: the elements themselves, sorted when they are shown."""

    def zero(self) -> list[int]:
        return []

    def add(self, value: list[int], element: int) -> list[int]:
        value.append(element)
        return value

    def merge(self, left: list[int], right: list[int]) -> list[int]:
        left.extend(right)
        return left

    def estimate(self, value: list[int]) -> list[int]:
        return sorted(value)


class Task:
    """One task's states."""

    def __init__(self, make: MakeBackend) -> None:
        self.backend = make(StateCodec("sums"))
        self.named = NamedStates(self.backend, CurrentKey("sums"), lambda: 0.0)
        self.by_key = self.named.mergeable_state("by_key", Elements())
        self.part = self.named.partial_state("part", Elements())

    def saved(self) -> bytes:
        self.named.flush()
        return self.backend.snapshot()

    def restore(self, saved: bytes) -> None:
        parts = decode_parts(saved)
        if parts is None:
            self.backend.restore(saved)
        else:
            gather(self.backend, parts, "sums")
        self.named.restored()


class Component:
    """Its tasks: keys are where fields grouping sends them, parts anywhere."""

    def __init__(self, make: MakeBackend) -> None:
        self._make = make
        self.tasks = [Task(make)]
        self.dealt = 0

    def _keyed(self, key: Any) -> Any:
        return self.tasks[slot(stable_hash([key]), len(self.tasks))].by_key.for_key(key)

    def _dealt(self) -> Any:
        self.dealt += 1
        return self.tasks[self.dealt % len(self.tasks)].part

    def do(self, name: str, key: Any, number: int) -> None:
        """An operation of a key, and the same of one of the parts."""
        state, part = self._keyed(key), self._dealt()
        if name == "clear":
            state.clear()
        elif name == "merge":
            state.merge([number, number])
            part.merge([number, number])
        elif name == "change":
            state.merge([])
            state.get().append(number)
            part.add(number)
        else:
            state.add(number)
            part.add(number)

    def rescale(self, number: int) -> None:
        """To so many tasks."""
        before = [
            StatePart(KeyRange(index, len(self.tasks)), task.saved())
            for index, task in enumerate(self.tasks)
        ]
        self.tasks = [Task(self._make) for _ in range(number)]
        for index, task in enumerate(self.tasks):
            own = KeyRange(index, number)
            parts = tuple(each for each in before if each.key_range.overlaps(own))
            task.restore(encode_parts(Parts(own, parts)))

    def contents(self) -> tuple[dict[Any, Any], list[int]]:
        """What each key has, and what the parts have together."""
        keyed = {key: found for task in self.tasks for key, found in task.by_key.all_estimates()}
        whole: list[int] = []
        for task in self.tasks:
            whole += task.part.estimate()
        return keyed, sorted(whole)


def run(make: MakeBackend, steps: list[tuple[str, Any, int]]) -> None:
    """The steps on tasks and on dicts."""
    component, model, whole = Component(make), dict[Any, list[int]](), list[int]()
    saved: Any = [task.saved() for task in component.tasks], {}, [], 0
    for name, key, number in steps:
        match name:
            case "save":
                copied = {key: list(found) for key, found in model.items()}
                saved = [t.saved() for t in component.tasks], copied, list(whole), component.dealt
            case "restore" if len(saved[0]) == len(component.tasks):
                for task, data in zip(component.tasks, saved[0], strict=True):
                    task.restore(data)
                model = {key: list(found) for key, found in saved[1].items()}
                whole, component.dealt = list(saved[2]), saved[3]
            case "restore":
                pass
            case "rescale":
                component.rescale(number)
            case "clear":
                component.do(name, key, number)
                model.pop(key, None)
            case _:
                component.do(name, key, number)
                more = [number, number] if name == "merge" else [number]
                model.setdefault(key, []).extend(more)
                whole += more
        expected = {key: sorted(found) for key, found in model.items()}
        assert component.contents() == (expected, sorted(whole))


@settings(max_examples=60, derandomize=True)
@given(STEPS)
def test_states_of_monoids_are_what_dicts_would_be(steps: list[tuple[str, Any, int]]) -> None:
    run(MemoryBackend, steps)


@settings(
    max_examples=12, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(STEPS)
def test_the_same_in_rocksdb_and_with_few_objects_in_memory(
    tmp_path: Path, steps: list[tuple[str, Any, int]]
) -> None:
    pytest.importorskip("rocksdict")
    from heron_io.state_backends.rocksdb import RocksBackend

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mergeable_table, "LIVE_MAX", 2)
        patch.setattr(mergeable_table, "EVICTED", 2)
        run(lambda codec: RocksBackend(codec, str(tmp_path)), steps)


def test_a_value_of_other_parameters_is_refused_by_name() -> None:
    task = Task(MemoryBackend)
    task.by_key.for_key("a").add(1)
    saved, other = task.saved(), MemoryBackend(StateCodec("sums"))
    other.restore(saved)
    named = NamedStates(other, CurrentKey("sums"), lambda: 0.0)
    state = named.mergeable_state("by_key", MeanOf())
    with pytest.raises(StateError, match=r"'by_key', key 'a': .* saved by Elements, .* MeanOf now"):
        state.for_key("a").add(1)
    with pytest.raises(StateError, match="declared twice, of MeanOf and of SumOf"):
        named.mergeable_state("by_key", SumOf())


def test_objects_are_packed_by_a_snapshot_and_not_by_each_element() -> None:
    packed: list[int] = []

    class Watched(Elements):
        def to_bytes(self, value: list[int]) -> bytes:
            packed.append(len(value))
            return super().to_bytes(value)

    backend = MemoryBackend(StateCodec("sums"))
    named = NamedStates(backend, CurrentKey("sums"), lambda: 0.0)
    state = named.mergeable_state("watched", Watched()).for_key("a")
    for number in range(100):
        state.add(number)
    assert packed == [1]  # the first one says whether it can be saved
    named.flush()
    named.flush()
    assert packed == [1, 100]
