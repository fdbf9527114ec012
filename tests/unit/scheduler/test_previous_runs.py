"""State of a run for the next run of its name, and the next run's use of the state."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from heron_api.state.component_state import ComponentState
from heron_core import config as keys
from heron_core.errors import HeronError
from heron_core.plans import PackingPlan, TopologyState
from heron_core.records import replace
from heron_core.state.codec import StateCodec
from heron_core.state.current_key import CurrentKey
from heron_core.state.description import description_of
from heron_core.state.file_snapshot import as_bytes
from heron_core.state.memory import MemoryBackend
from heron_core.state.named_states import NamedStates
from heron_core.state_tree import checkpoints_path, execution_path, physical_path, topology_path
from heron_core.topology import ComponentSpec, TopologySpec
from heron_core.typed_json import to_json
from heron_engine.scheduler.backends.local import LocalBackend
from heron_engine.scheduler.packing import pack
from heron_engine.scheduler.previous_runs import describe_own, leave, previous_run_of
from heron_engine.scheduler.registration import bring_states, forget, fresh_start, register, resumed
from heron_engine.scheduler.savepoints import run_of
from heron_engine.scheduler.submission import Submission
from heron_engine.scheduler.user_folder import Home
from heron_io.checkpoint_store.local_files import LocalFiles
from heron_io.state_store.opening import open_store

EFFECTIVELY_ONCE = {keys.RELIABILITY_MODE: keys.EFFECTIVELY_ONCE}


def topology(config: Mapping[str, Any] | None = None, **parallelism: int) -> TopologySpec:
    components = tuple(
        ComponentSpec(name, number == 0, f"module.{name}", count)
        for number, (name, count) in enumerate(parallelism.items())
    )
    return TopologySpec("words", components, EFFECTIVELY_ONCE if config is None else config)


def state(component: str) -> ComponentState:
    named = NamedStates(MemoryBackend(StateCodec(component)), CurrentKey(component), lambda: 0.0)
    return ComponentState(named)


EXACT = topology(lines=1, count=2)
AT_LEAST_ONCE = topology({keys.RELIABILITY_MODE: keys.ATLEAST_ONCE}, lines=1, count=2)
NODE = {"latest": 9, "completed": [{"number": 7, "at": 1e9, "secs": 1.0, "size_bytes": 3}]}


@pytest.fixture
def files(tmp_path: Path) -> LocalFiles:
    """A checkpoint store."""
    return LocalFiles(f"{tmp_path}/store")


def checkpoint(files: LocalFiles, number: int, of: TopologySpec = EXACT, at_end: str = "") -> None:
    packing = pack(of)
    for task, each in packing.instances.items():
        files.save("words", number, task, as_bytes(state(each.component).deferred_snapshot()))
    described = replace(description_of(of, packing, number, 1e9), at_end=at_end)
    files.checkpoint("words", number).describe(to_json(described))


def own_states(files: LocalFiles, run: str, packing: PackingPlan) -> None:
    """States saved by the instances of a run on their own."""
    for task in packing.instances:
        files.save(f"words/own/{run}/{task}", 3, task, b"state")


def test_a_run_that_was_stopped_leaves_its_newest_checkpoint(files: LocalFiles) -> None:
    checkpoint(files, 6)
    checkpoint(files, 7, at_end="committing")
    files.save("words", 9, 1, b"begun")
    previous = previous_run_of(EXACT, pack(EXACT), files, NODE)
    assert previous is not None
    assert previous.node is not None
    assert str(previous).startswith("checkpoint 7 of 2001-09-0")
    assert previous.savepoint is None
    (completed,) = previous.node["completed"]
    assert (completed["number"], completed["at_end"]) == (7, "committing")
    assert previous.node["latest"] == 9, "no number is used twice"


def test_without_the_state_store_the_newest_one_that_is_described_counts(files: LocalFiles) -> None:
    """ZooKeeper has lost its data, or was private to a run."""
    checkpoint(files, 7)
    checkpoint(files, 8)
    files.save("words", 9, 1, b"begun")
    for node in ({}, NODE):
        previous = previous_run_of(EXACT, pack(EXACT), files, node)
        assert previous is not None
        assert previous.checkpoint == 8


def test_a_run_never_begins_behind_what_sinks_have_committed(files: LocalFiles) -> None:
    """Its description could not be written: an older checkpoint would write lines twice."""
    checkpoint(files, 6)
    with pytest.raises(
        HeronError, match=r"/7 is neither .* completed checkpoint.*; --fresh starts from scratch"
    ):
        previous_run_of(EXACT, pack(EXACT), files, NODE)


def test_a_state_that_is_missing_is_told_before_anything_starts(files: LocalFiles) -> None:
    checkpoint(files, 7)
    os.unlink(f"{files.checkpoint('words', 7).path}/2")
    with pytest.raises(HeronError, match=r"the state of task 2 is missing: .*; --fresh starts"):
        previous_run_of(EXACT, pack(EXACT), files, NODE)


def test_runs_that_are_over_leave_nothing_to_resume(files: LocalFiles) -> None:
    """In a store of the user's own their checkpoints stay, for --from-savepoint."""
    checkpoint(files, 7)
    leave("words", files)
    assert previous_run_of(EXACT, pack(EXACT), files, NODE) is None
    assert files.numbers("words") == [7]
    checkpoint(files, 8)
    previous = previous_run_of(EXACT, pack(EXACT), files, NODE)
    assert previous is not None
    assert previous.checkpoint == 8


def test_another_parallelism_divides_what_was_kept(files: LocalFiles) -> None:
    checkpoint(files, 7)
    wider = topology(lines=1, count=3)
    previous = previous_run_of(wider, pack(wider), files, NODE)
    assert previous is not None
    assert previous.savepoint is not None
    assert set(previous.savepoint.plan.shares) == {1, 2, 3, 4}


def test_another_topology_of_the_same_name_is_refused(files: LocalFiles) -> None:
    packing = pack(EXACT)
    checkpoint(files, 7)
    position = state("lines")
    position.put("at", 17)
    task = packing.tasks_of["lines"][0]
    files.save("words", 7, task, as_bytes(position.deferred_snapshot()))
    other = topology(numbers=1, count=2)
    with pytest.raises(
        HeronError, match="has state of lines, which is missing in words"
    ) as refused:
        previous_run_of(other, pack(other), files, NODE)
    assert str(refused.value).endswith("; --fresh starts from scratch")


@pytest.mark.parametrize(
    ("mode", "left"),
    [
        (keys.ATMOST_ONCE, "checkpoint 7"),
        (keys.ATLEAST_ONCE, "checkpoint 7"),
    ],
)
def test_a_mode_that_does_not_use_what_is_kept_is_refused(
    files: LocalFiles, mode: str, left: str
) -> None:
    """A try with another -o: its counts must not vanish silently."""
    checkpoint(files, 7)
    made = topology({keys.RELIABILITY_MODE: mode}, lines=1, count=2)
    with pytest.raises(HeronError, match=f"left {left}, which {mode} does not use: -o "):
        previous_run_of(made, pack(made), files, NODE)


def test_what_instances_have_saved_is_for_the_same_tasks(files: LocalFiles) -> None:
    packing = pack(AT_LEAST_ONCE)
    own_states(files, "abc", packing)
    describe_own(AT_LEAST_ONCE, packing, files)
    previous = previous_run_of(AT_LEAST_ONCE, packing, files, {})
    assert previous is not None
    assert (previous.run, str(previous)) == ("abc", "the last saved states of its components")
    wider = topology(AT_LEAST_ONCE.config, lines=1, count=3)
    with pytest.raises(HeronError, match=r"the tasks of count have changed: .*; --fresh starts"):
        previous_run_of(wider, pack(wider), files, {})
    with pytest.raises(HeronError, match="the saved states of its components, which EFFECT"):
        previous_run_of(EXACT, pack(EXACT), files, {})


class World:
    def __init__(self, path: Path, config: Mapping[str, Any]) -> None:
        self.home = Home(str(path))
        self.topology = topology({**EXACT.config, **config}, lines=1, count=2)
        where = str(config.get(keys.CHECKPOINT_STORE, self.home.states("words")))
        self.files = LocalFiles(where)

    def submission(self) -> Submission:
        """A submission like the command line's."""
        packing = pack(self.topology)
        return Submission(self.topology, packing, self.home.store_url, self.home, True)

    def begin(self, submission: Submission) -> Any:
        """Register a run with its states; returns the state store's node of checkpoints."""
        register(submission, LocalBackend())
        self.home.clean_logs("words")
        bring_states(submission, is_here=True)
        with open_store(self.home.store_url) as store:
            return store.get(checkpoints_path("words"))

    def run(self, state: str = "RUNNING", *, is_over: bool = False, number: int = 4) -> None:
        """Complete a checkpoint, and remove the nodes."""
        checkpoint(self.files, number, self.topology)
        with open_store(self.home.store_url) as store:
            completed = [{"number": number, "at": 1e9, "secs": 1.0, "size_bytes": 3}]
            store.put(checkpoints_path("words"), {"latest": number, "completed": completed})
            store.put(execution_path("words"), {"state": state})
            forget(store, "words", is_over=is_over)
            assert store.get(topology_path("words")) is None


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's folder."""
    monkeypatch.setenv("HERONPY_HOME", str(tmp_path))
    return tmp_path


@pytest.fixture(params=["default", "own"])
def world(here: Path, request: pytest.FixtureRequest) -> World:
    """With checkpoints beside its logs, or in a store of the user's own."""
    own = {keys.CHECKPOINT_STORE: str(here / "kept")} if request.param == "own" else {}
    return World(here, own)


def test_the_next_run_has_the_checkpoint_of_one_that_was_lost(world: World) -> None:
    assert world.begin(resumed(world.submission())) is None
    checkpoint(world.files, 3, world.topology)
    world.run()
    again = resumed(world.submission())
    assert str(again.previous).startswith("checkpoint 4 of ")
    node = world.begin(again)
    assert [each["number"] for each in node["completed"]] == [4]
    assert world.files.numbers("words") == [4], "an older one is never restored"


@pytest.mark.parametrize(
    "how", [{"is_over": True}, {"state": TopologyState.ENDED}], ids=["killed", "ended"]
)
def test_a_kill_and_the_end_leave_nothing_to_resume(world: World, how: dict[str, Any]) -> None:
    world.begin(resumed(world.submission()))
    world.run(**how)
    again = resumed(world.submission())
    assert again.previous is None
    node = world.begin(again)
    assert node is None or node["completed"] == []


def test_fresh_says_what_it_leaves_and_starts_anew(world: World) -> None:
    world.begin(resumed(world.submission()))
    world.run()
    fresh = world.submission()
    folder = world.files.checkpoint("words", 4).path
    words = fresh_start(fresh)
    assert words.startswith("words starts from scratch")
    is_own = keys.CHECKPOINT_STORE in world.topology.config
    assert (f"keeps {folder}: start from it with --from-savepoint {folder}" in words) is is_own
    assert words.endswith(" is removed") is not is_own
    node = world.begin(fresh)
    assert (node or {}).get("completed", []) == []
    assert os.path.exists(folder) is is_own
    world.run(number=5)
    assert str(resumed(world.submission()).previous).startswith("checkpoint 5 of ")


def test_a_first_run_has_nothing_to_say(world: World) -> None:
    assert fresh_start(world.submission()) == ""


def test_one_that_runs_is_left_to_register(world: World) -> None:
    submission = world.submission()
    world.begin(submission)
    with open_store(world.home.store_url) as store:
        store.put("/schedulers/words", {"host": "another", "pid": 1, "started": 2.0})
    assert resumed(world.submission()).previous is None
    with open_store(world.home.store_url) as store:
        assert store.get(topology_path("words")) is not None


def test_divided_states_come_behind_the_numbers_of_before(world: World) -> None:
    world.begin(resumed(world.submission()))
    world.run()
    world.topology = topology({**world.topology.config}, lines=1, count=3)
    node = world.begin(resumed(world.submission()))
    assert [each["number"] for each in node["completed"]] == [5]
    world.files.checkpoint("words", 5).check_presence([1, 2, 3, 4])
    assert world.files.checkpoint("words", 5).is_described


def test_a_disk_that_is_not_mounted_is_no_first_run(here: Path) -> None:
    """Refused until the disk is mounted, or until --fresh."""
    world = World(here, {keys.CHECKPOINT_STORE: str(here / "disk" / "kept")})
    world.begin(resumed(world.submission()))
    world.run()
    (here / "disk").rename(here / "unmounted")
    with pytest.raises(
        HeronError, match=r"disk/kept/words has none of .*; --fresh starts from scratch"
    ):
        resumed(world.submission())
    fresh = world.submission()
    assert "disk/kept/words has none of" in fresh_start(fresh)
    assert world.begin(fresh)["latest"] == 4, "no number is used twice when both are there"
    with open_store(world.home.store_url) as store:
        forget(store, "words")
    (here / "disk").rename(here / "under the mount point")
    (here / "unmounted").rename(here / "disk")
    assert resumed(world.submission()).previous is not None


def test_own_states_on_a_disk_that_is_not_mounted_are_missed(here: Path) -> None:
    """Not if the run has never been up, or without saves."""
    config = {**AT_LEAST_ONCE.config, keys.CHECKPOINT_STORE: str(here / "kept")}
    world = World(here, config)
    for is_up, has_saved in ((False, False), (True, False), (True, True)):
        first = resumed(world.submission())
        world.begin(first)
        if has_saved:
            own_states(world.files, run_of(first.keys), first.packing)
        with open_store(world.home.store_url) as store:
            if is_up:
                store.put(physical_path("words"), {"epoch": 1})
            forget(store, "words")
        (here / "kept").rename(here / "unmounted")
        if has_saved:
            with pytest.raises(HeronError, match=r"kept/words has none of .*; --fresh starts"):
                resumed(world.submission())
        else:
            assert resumed(world.submission()).previous is None
        (here / "unmounted").rename(here / "kept")
    assert run_of(resumed(world.submission()).keys) == run_of(first.keys)


def test_a_run_goes_on_with_the_states_that_instances_have_saved(here: Path) -> None:
    world = World(here, AT_LEAST_ONCE.config)
    first = resumed(world.submission())
    world.begin(first)
    own_states(world.files, run_of(first.keys), first.packing)
    with open_store(world.home.store_url) as store:
        forget(store, "words")
    second = resumed(world.submission())
    assert second.keys.public != first.keys.public
    assert run_of(second.keys) == run_of(first.keys)
    world.begin(second)
    assert world.files.runs("words") == [run_of(first.keys)]
    with open_store(world.home.store_url) as store:
        forget(store, "words", is_over=True)
    assert world.files.runs("words") == []
