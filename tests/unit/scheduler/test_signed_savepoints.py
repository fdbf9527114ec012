"""A savepoint runs no code of a stranger: it is signed by its user, or its values are plain."""

import stat
from pathlib import Path
from typing import Any

import pytest

from heron_core.errors import HeronError, UsageError
from heron_core.state.description import opens_pickles
from heron_core.state.file_snapshot import as_bytes
from heron_engine.scheduler.packing import pack
from heron_engine.scheduler.savepoints import Savepoint, Taking, read_savepoint
from heron_io.checkpoint_store.signatures import Trust, key_of, savepoint_key, states_key
from tests.unit.scheduler.test_savepoints import BEFORE, World, counts, state

KEY, ANOTHER = b"k" * 32, b"a" * 32
opened = list[str]()


def tell() -> None:
    opened.append("opened")


class Trap:
    """Tells when it is opened."""

    def __reduce__(self) -> Any:
        return tell, ()


@pytest.fixture
def world(tmp_path: Path) -> World:
    """Its counts are traps."""
    made = World(tmp_path)
    for task in made.packing.tasks_of["count"]:
        counted = state("count")
        counts(counted).for_key("word").put((1, [Trap()]))
        made.save(task, counted)
    opened.clear()
    return made


def taken(world: World, key: bytes) -> str:
    for _ in Taking(BEFORE, world.packing, world.store, 7, 1e9, world.url, key).copied():
        pass
    return world.url


def read(url: str, trust: Trust) -> Savepoint:
    return read_savepoint(url, BEFORE, pack(BEFORE), False, trust)


def file_of(world: World, component: str) -> Path:
    return Path(world.url) / str(world.packing.tasks_of[component][0])


@pytest.mark.parametrize("key", [KEY, savepoint_key(states_key(KEY, BEFORE.name))])
def test_a_savepoint_of_ones_own_is_begun_with(world: World, key: bytes) -> None:
    """Signed with the key of its topology, or as earlier versions did it with the user's."""
    savepoint = read(taken(world, key), Trust(KEY))
    assert savepoint.write(world.store, "words", 9) > 0
    assert opened == []


@pytest.mark.parametrize(
    "key",
    [
        b"",
        ANOTHER,
        savepoint_key(states_key(ANOTHER, BEFORE.name)),
        savepoint_key(states_key(KEY, "another topology of ours")),
        states_key(KEY, BEFORE.name),
    ],
)
def test_a_strangers_savepoint_is_refused_before_a_value_is_opened(
    world: World, key: bytes
) -> None:
    url = taken(world, key)
    with pytest.raises(UsageError, match="of count may execute code of its author"):
        read(url, Trust(KEY))
    with pytest.raises(UsageError, match="use --trust-savepoint if you know the author"):
        read(url, Trust())
    assert opened == []
    read(url, Trust(KEY, trusts_all=True))


def test_a_savepoint_that_somebody_changed_is_refused(world: World) -> None:
    taken(world, KEY)
    counted = state("count")
    counts(counted).for_key("another word").put(Trap())
    world.store.save("words", 8, 1, as_bytes(counted.deferred_snapshot()))
    opened.clear()
    file_of(world, "count").write_bytes((world.path / "store" / "words" / "8" / "1").read_bytes())
    with pytest.raises(UsageError, match="is not signed by your key"):
        read(world.url, Trust(KEY))
    assert opened == []


def test_a_state_that_is_changed_after_it_was_looked_at_is_refused(world: World) -> None:
    savepoint = read(taken(world, KEY), Trust(KEY))
    one, another = (Path(world.url) / str(task) for task in world.packing.tasks_of["split"])
    assert one.read_bytes() == another.read_bytes()
    one.write_bytes(file_of(world, "lines").read_bytes())
    with pytest.raises(HeronError, match="changed while it was read"):
        savepoint.write(world.store, "words", 9)


def test_a_savepoint_is_for_its_owner_alone(world: World) -> None:
    folder = Path(taken(world, KEY))
    assert (folder / "signature").is_file()
    modes = {stat.S_IMODE(each.stat().st_mode) for each in (folder, *folder.rglob("*"))}
    assert modes == {0o700, 0o600}


def test_plain_values_need_no_signature(tmp_path: Path) -> None:
    plain = World(tmp_path)
    assert read(plain.take(), Trust(KEY)).plan.shares


@pytest.mark.parametrize(
    ("value", "is_pickled"),
    [
        ((1, "a", None, 2.5, b"x", {"k": [1]}, {1, 2}, frozenset({3})), False),
        (Trap(), True),
        ({"deep": [(1, {2, (3, frozenset({b"4"}))}), Trap()]}, True),
        (1 << 80, True),
    ],
)
def test_what_needs_pickle_is_found_without_opening_it(value: Any, is_pickled: bool) -> None:
    made = state("count")
    made.put("key", value)
    saved = as_bytes(made.deferred_snapshot())
    opened.clear()
    assert opens_pickles(saved) is is_pickled
    assert opened == []
    state("count").restore(saved)
    assert bool(opened) is ("Trap" in repr(value))


def test_what_is_no_state_may_be_anything() -> None:
    assert opens_pickles(b"HSTATE and more")


def test_the_key_is_made_once_and_is_its_users_alone(tmp_path: Path) -> None:
    home = tmp_path / "home"
    key = key_of(str(home))
    assert (len(key), key_of(str(home))) == (32, key)
    assert [each.name for each in home.iterdir()] == ["state.key"]
    assert stat.S_IMODE((home / "state.key").stat().st_mode) == 0o600
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
