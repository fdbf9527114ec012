"""A checkpoint changed or written by another user is refused before a value is opened."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from heron_core.errors import HeronError, UsageError
from heron_core.state.file_snapshot import FileSnapshot, as_bytes
from heron_core.state.memory import FILE_BYTES_MIN
from heron_core.typed_json import to_json
from heron_core.wire.messages import RestoreTrouble
from heron_engine.scheduler.packing import pack
from heron_engine.scheduler.previous_runs import previous_run_of
from heron_engine.scheduler.savepoints import read_savepoint
from heron_io.checkpoint_store.local_files import LocalFiles
from heron_io.checkpoint_store.protocol import CheckpointStoreError
from heron_io.checkpoint_store.signatures import Trust, states_key
from heron_io.checkpoint_store.signer import SIGNATURE_BYTES
from heron_io.checkpoint_store.state_file import header_of
from heron_io.security import Keys
from tests.unit.scheduler.test_savepoints import BEFORE, World, counts, state, topology
from tests.unit.scheduler.test_signed_savepoints import Trap, opened

USERS_KEY, ANOTHER = b"k" * 32, b"a" * 32
KEY = states_key(USERS_KEY, "words")
COUNT = pack(BEFORE).tasks_of["count"][0]
PADDING = "x" * FILE_BYTES_MIN
"""Makes a state large enough for a separate file."""


def trapped(key: str = "word") -> bytes:
    """The state of a count, with a report of each opened value."""
    counted = state("count")
    counts(counted).for_key(key).put((PADDING, [Trap()]))
    saved = as_bytes(counted.deferred_snapshot())
    assert isinstance(saved, FileSnapshot)
    opened.clear()
    return saved


@pytest.fixture
def world(tmp_path: Path) -> World:
    """Its checkpoint is signed, and counts are traps."""
    made = World(tmp_path)
    made.store = LocalFiles(f"{tmp_path}/store", KEY)
    for component, tasks in made.packing.tasks_of.items():
        for task in tasks:
            made.save(task, state(component))
    for task in made.packing.tasks_of["count"]:
        made.store.save("words", 7, task, trapped())
    made.store.save("words", 6, COUNT, trapped())
    return made


def file(world: World, number: int = 7, task: int = COUNT) -> Path:
    return world.path / "store" / "words" / str(number) / str(task)


def by_a_run_of_another_user(world: World) -> None:
    LocalFiles(f"{world.path}/store", states_key(ANOTHER, "words")).save(
        "words", 7, COUNT, trapped()
    )


def by_another_topology_of_the_user(world: World) -> None:
    another = LocalFiles(f"{world.path}/store", states_key(USERS_KEY, "other"))
    another.save("words", 7, COUNT, trapped())


def without_a_signature(world: World) -> None:
    LocalFiles(f"{world.path}/store").save("words", 7, COUNT, trapped("another"))


def with_the_signature_of_the_state_before(world: World) -> None:
    """The file is whole, by its maker."""
    signature = file(world).read_bytes()[-SIGNATURE_BYTES:]
    saved = trapped("another")
    file(world).write_bytes(header_of(saved, signature) + saved + signature)


def of_an_older_checkpoint(world: World) -> None:
    shutil.copy(file(world, 6), file(world))


def of_another_task(world: World) -> None:
    shutil.copy(file(world, task=world.packing.tasks_of["split"][0]), file(world))


def with_another_file(world: World) -> None:
    """The file of the state has another content, and a matching name."""
    other = LocalFiles(f"{world.path}/other")
    other.save("words", 7, COUNT, trapped("another"))
    listed = world.path / "other" / "words" / "7" / f"{COUNT}.files"
    shutil.copy(listed, file(world).with_name(listed.name))
    ((name, _),) = json.loads(listed.read_text())
    shared = f"words/shared/{COUNT}/{name}"
    shutil.copy(world.path / "other" / shared, world.path / "store" / shared)


def without_its_files(world: World) -> None:
    file(world).with_name(f"{COUNT}.files").unlink()


CHANGES = [
    by_a_run_of_another_user,
    by_another_topology_of_the_user,
    without_a_signature,
    with_the_signature_of_the_state_before,
    of_an_older_checkpoint,
    of_another_task,
    with_another_file,
    without_its_files,
]


@pytest.mark.parametrize("change", CHANGES)
def test_a_checkpoint_that_somebody_changed_is_refused_before_a_value_is_opened(
    world: World, change: Callable[[World], None]
) -> None:
    change(world)
    with pytest.raises(CheckpointStoreError, match="is not signed with the key of") as raised:
        world.store.load("words", 7, COUNT)
    assert raised.value.trouble is RestoreTrouble.DAMAGED
    assert "\n" not in str(raised.value)
    with pytest.raises(HeronError, match=r"not signed .*; --fresh starts from scratch"):
        previous_run_of(BEFORE, world.packing, world.store, {})
    assert opened == []


def test_a_changed_file_of_a_state_is_refused_before_a_value_is_opened(world: World) -> None:
    """The signed name fixes the content."""
    ((name, size),) = json.loads(file(world).with_name(f"{COUNT}.files").read_text())
    (world.path / "store" / "words" / "shared" / str(COUNT) / name).write_bytes(bytes(size))
    with pytest.raises(HeronError, match="does not match its checksum"):
        state("count").restore(world.store.load("words", 7, COUNT))
    assert opened == []


def test_a_checkpoint_of_ones_own_is_resumed_and_begun_with(world: World) -> None:
    kept = previous_run_of(BEFORE, world.packing, world.store, {})
    assert kept is not None
    assert kept.checkpoint == 7
    folder = str(file(world).parent)
    read_savepoint(folder, BEFORE, world.packing, False, Trust(USERS_KEY))
    assert opened == []
    state("count").restore(world.store.load("words", 7, COUNT))
    assert opened == ["opened"]


@pytest.mark.parametrize("trust", [Trust(ANOTHER), Trust()])
def test_a_strangers_checkpoint_begins_nothing(world: World, trust: Trust) -> None:
    with pytest.raises(UsageError, match="is not signed by your key"):
        read_savepoint(str(file(world).parent), BEFORE, world.packing, False, trust)
    assert opened == []


def test_a_savepoint_that_says_it_is_a_checkpoint_needs_a_signature_all_the_same(
    world: World,
) -> None:
    """The description is under the writer's control."""
    without_a_signature(world)
    described = {**to_json(world.described()), "is_savepoint": False}
    world.store.checkpoint("words", 7).describe(described)
    with pytest.raises(UsageError, match="is not signed by your key"):
        read_savepoint(str(file(world).parent), BEFORE, world.packing, False, Trust(USERS_KEY))
    assert opened == []


def test_states_that_are_divided_among_other_tasks_have_to_be_signed_too(world: World) -> None:
    more = topology(lines=1, split=2, count=3)
    kept = previous_run_of(more, pack(more), world.store, {})
    assert kept is not None
    assert kept.savepoint is not None
    without_a_signature(world)
    with pytest.raises(HeronError, match=r"not signed .*; --fresh starts from scratch"):
        previous_run_of(more, pack(more), world.store, {})
    with pytest.raises(HeronError, match="is not signed"):
        kept.savepoint.write(world.store, "words", 9)
    assert opened == []


def test_keys_of_a_topology_carry_the_key_of_its_states() -> None:
    pair = Keys.new("run", KEY)
    assert Keys.stored(to_json(pair)) == pair
    assert pair.states_key == KEY
    before = to_json(Keys.new())
    assert "states" not in before
    assert Keys.stored(before).states_key == b"", "one of an earlier version signs nothing"
