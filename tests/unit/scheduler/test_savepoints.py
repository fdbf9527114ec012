"""Savepoints: a checkpoint is copied, and is that of another topology; or it is said why not."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from heron_api.state.component_state import ComponentState
from heron_core import config as keys
from heron_core.errors import HeronError, UsageError
from heron_core.plans import PackingPlan
from heron_core.state import memory
from heron_core.state.codec import StateCodec
from heron_core.state.current_key import CurrentKey
from heron_core.state.description import description_of
from heron_core.state.file_snapshot import as_bytes
from heron_core.state.keys import owner
from heron_core.state.memory import FILE_BYTES_MIN, MemoryBackend
from heron_core.state.named_states import NamedStates
from heron_core.topology import ComponentSpec, TopologySpec
from heron_core.typed_json import to_json
from heron_engine.scheduler.packing import pack
from heron_engine.scheduler.savepoints import Savepoint, Taking, check_is_free, read_savepoint
from heron_io.checkpoint_store.local_files import LocalFiles

EXACT = {keys.RELIABILITY_MODE: keys.EFFECTIVELY_ONCE}
WORDS = [f"word {n}" for n in range(40)]


def topology(config: dict[str, Any] | None = None, **parallelism: int) -> TopologySpec:
    """Its first component is the spout."""
    components = tuple(
        ComponentSpec(name, number == 0, f"module.{name}", count)
        for number, (name, count) in enumerate(parallelism.items())
    )
    return TopologySpec("words", components, EXACT if config is None else config)


BEFORE = topology(lines=1, split=2, count=2)


def state(component: str) -> ComponentState:
    named = NamedStates(MemoryBackend(StateCodec(component)), CurrentKey(component), lambda: 0.0)
    return ComponentState(named)


def counts(made: ComponentState) -> Any:
    return made.value_state("counts")


class World:
    """A checkpoint of BEFORE in a store, and places for others."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.store = LocalFiles(f"{path}/store")
        self.packing = pack(BEFORE)
        tasks = self.packing.tasks_of
        position = state("lines")
        position.put("at", 17)
        self.save(tasks["lines"][0], position)
        for task in tasks["split"]:
            self.save(task, state("split"))
        for index, task in enumerate(tasks["count"]):
            counted = state("count")
            for number, word in enumerate(WORDS):
                if owner(word, 2) == index:
                    counts(counted).for_key(word).put(number)
            self.save(task, counted)
        self.store.checkpoint("words", 7).describe(to_json(self.described()))

    def save(self, task: int, saved: ComponentState) -> None:
        self.store.save("words", 7, task, as_bytes(saved.deferred_snapshot()))

    def described(self) -> Any:
        return description_of(BEFORE, self.packing, 7, 1e9)

    @property
    def url(self) -> str:
        return f"{self.path}/savepoint"

    def take(self) -> str:
        for _ in Taking(BEFORE, self.packing, self.store, 7, 1e9, self.url).copied():
            pass
        return self.url

    def read(self, into: TopologySpec, url: str = "", allow: bool = False) -> Savepoint:
        return read_savepoint(url or self.take(), into, pack(into), allow)

    def restored(self, savepoint: Savepoint, packing: PackingPlan, name: str) -> ComponentState:
        """All instances of a component, in one state."""
        store, all_of_them = LocalFiles(f"{self.path}/another"), state(name)
        savepoint.write(store, "words", 3)
        for task in packing.tasks_of[name]:
            found = store.load("words", 3, task)
            if found:
                one = state(name)
                one.restore(found)
                for key, value in one:
                    all_of_them.put(key, value)
                for word, number in counts(one).all_items():
                    assert not counts(all_of_them).for_key(word).exists()
                    counts(all_of_them).for_key(word).put(number)
        return all_of_them


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_a_savepoint_describes_itself_and_needs_nothing_else(world: World) -> None:
    described = json.loads(Path(f"{world.take()}/description.json").read_text())
    assert described["topology"] == "words"
    assert (described["backend"], described["key_groups"], described["at"]) == ("memory", 128, 1e9)
    assert len(described["components"]["count"]["tasks"]) == 2
    assert described["components"]["count"]["states"] == [{"name": "counts", "kind": "value"}]
    assert described["components"]["lines"]["states"] == [{"name": "", "kind": "plain"}]
    assert described["components"]["split"]["states"] == []
    shutil.rmtree(world.path / "store")
    shutil.move(world.url, world.path / "moved")
    savepoint = world.read(BEFORE, f"{world.path}/moved")
    assert world.restored(savepoint, world.packing, "lines").get("at") == 17


@pytest.mark.parametrize(
    ("number", "file_bytes_min"), [(1, FILE_BYTES_MIN), (2, 10), (3, 10), (5, FILE_BYTES_MIN)]
)
def test_keyed_state_goes_on_with_any_parallelism(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, file_bytes_min: int
) -> None:
    """Also where chunks of it are files, which the savepoint has for itself."""
    monkeypatch.setattr(memory, "FILE_BYTES_MIN", file_bytes_min)
    world = World(tmp_path)
    url = world.take()
    shutil.rmtree(tmp_path / "store")
    assert (tmp_path / "savepoint/shared").exists() == (file_bytes_min == 10)
    after = topology(lines=1, split=4, count=number)
    savepoint = world.read(after, url)
    found = world.restored(savepoint, pack(after), "count")
    assert dict(counts(found).all_items()) == {word: n for n, word in enumerate(WORDS)}
    assert savepoint.plan.notes == ()
    assert savepoint.node(3, 100)["completed"][0]["number"] == 3


def test_the_folder_of_a_retained_checkpoint_will_do(world: World) -> None:
    savepoint = world.read(BEFORE, f"{world.path}/store/words/7")
    assert world.restored(savepoint, world.packing, "lines").get("at") == 17


def test_a_component_that_is_new_begins_without_state(world: World) -> None:
    after = topology(lines=1, split=2, count=2, top=1)
    savepoint = world.read(after)
    assert savepoint.plan.notes == (
        (f"{world.url} has no state of top: the component starts without state"),
    )
    assert not dict(world.restored(savepoint, pack(after), "top"))


def test_state_of_a_component_that_is_no_more_is_dropped_only_on_purpose(world: World) -> None:
    after = topology(lines=1, tally=2)
    with pytest.raises(
        HeronError, match=r"state of count, which is missing in words .it has tally"
    ):
        world.read(after)
    shutil.rmtree(world.url)
    savepoint = world.read(after, allow=True)
    assert "count was removed: its state is dropped" in savepoint.plan.notes


def test_what_belongs_to_an_instance_keeps_its_parallelism(world: World) -> None:
    with pytest.raises(HeronError, match=r"lines had 1 instances and has 2 now.*keep 1 instances"):
        world.read(topology(lines=2, split=2, count=2))


def test_keys_that_are_not_where_the_grouping_sends_them_are_not_divided(world: World) -> None:
    strayed = state("count")
    counts(strayed).for_key(next(word for word in WORDS if owner(word, 2) == 1)).put(1)
    world.save(world.packing.tasks_of["count"][0], strayed)
    after = topology(lines=1, split=2, count=3)
    savepoint = world.read(after)
    with pytest.raises(HeronError, match=r"'counts' cannot be divided among 3 instances: the key"):
        world.restored(savepoint, pack(after), "count")


def test_nothing_begins_with_a_mode_that_takes_no_checkpoints(world: World) -> None:
    with pytest.raises(UsageError, match=r"-o topology.reliability.mode=EFFECTIVELY_ONCE"):
        world.read(topology({}, lines=1, split=2, count=2))


def test_nothing_begins_with_another_backend(world: World) -> None:
    config = {**EXACT, keys.STATE_BACKEND: keys.ROCKSDB}
    with pytest.raises(HeronError, match=r"saved by the backend 'memory'.*'rocksdb' now"):
        world.read(topology(config, lines=1, split=2, count=2))


def test_a_file_that_is_missing_or_damaged_is_named(world: World) -> None:
    path = Path(world.take()) / str(world.packing.tasks_of["count"][1])
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(HeronError, match=rf"{path} is damaged"):
        world.read(BEFORE, world.url)
    path.unlink()
    with pytest.raises(HeronError, match=rf"cannot be read from {path}: No such file"):
        world.read(BEFORE, world.url)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"topology": 5}'])
def test_a_description_that_is_none_is_named(world: World, text: str) -> None:
    (Path(world.take()) / "description.json").write_text(text)
    with pytest.raises(HeronError, match=r"description(\.json| of) "):
        world.read(BEFORE, world.url)


def test_a_later_format_is_for_a_later_version(world: World) -> None:
    path = Path(world.take()) / "description.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "format": 2, "version": "9"}))
    with pytest.raises(HeronError, match=r"written by heronpy 9 in format 2.*use version 9"):
        world.read(BEFORE, world.url)


def test_a_folder_that_is_no_savepoint_is_named(world: World) -> None:
    with pytest.raises(
        HeronError, match=r"nowhere is neither a savepoint nor a completed checkpoint"
    ):
        world.read(BEFORE, f"{world.path}/nowhere")


def test_a_savepoint_is_never_written_over_another(world: World) -> None:
    check_is_free(world.url)
    with pytest.raises(UsageError, match=r"savepoint is not empty: name a folder that is new"):
        check_is_free(world.take())


def test_a_savepoint_that_cannot_be_written_whole_leaves_nothing(world: World) -> None:
    (world.path / "store/words/7" / str(world.packing.tasks_of["count"][1])).unlink()
    with pytest.raises(HeronError, match=r"cannot be read"):
        world.take()
    assert not list(Path(world.url).iterdir())
    check_is_free(world.url)


def test_where_a_folder_is_not_one_it_is_said(world: World) -> None:
    (world.path / "savepoint").write_text("a file")
    with pytest.raises(HeronError, match=r"savepoint cannot be used: Not a directory"):
        check_is_free(world.url)


def test_each_key_is_read_by_the_tasks_that_may_own_it_alone(world: World) -> None:
    after = topology(lines=1, split=2, count=4)
    plan = world.read(after).plan
    read = [len(plan.shares[task].sources) for task in pack(after).tasks_of["count"]]
    assert read == [1, 1, 1, 1]
