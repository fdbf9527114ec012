"""Stores, changelogs and restores: S1 to S5 of the capabilities in docs/MATRIX.md."""

import random
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from heron_core import config as keys
from heron_core.errors import ComponentError
from heronpy_compat.samza.compacted_logs import ChangelogDamaged, FileLog
from heronpy_compat.samza.local_copies import DiskCopy, LocalCopy, MemoryCopy
from heronpy_compat.samza.serdes import BYTES, SERDES, STRING
from heronpy_compat.samza.stores import KeyValueStore, restore
from heronpy_compat.samza.task_checkpoints import FileCheckpoints
from tests.unit.heronpy_compat.samza.samza_support import (
    counts_of,
    expected,
    job,
    properties,
    to_the_end,
    write_lines,
)

EXACT = {keys.RELIABILITY_MODE: keys.EFFECTIVELY_ONCE}
INTEGER = SERDES["IntegerSerdeFactory"]
TRANSACTIONAL = {"task__transactional__state__restore__enabled": "true"}


def store_in(folder: Path, copy: LocalCopy | None = None) -> KeyValueStore:
    """A store with its changelog in a folder, restored."""
    log, local = FileLog(str(folder / "log")), copy or MemoryCopy()
    restore(log, local, None)
    return KeyValueStore("numbers", STRING, INTEGER, local, log)


def test_a_lost_store_is_restored_from_its_changelog(tmp_path: Path) -> None:
    """S1: the newest value of each key, without the deleted ones, at any point of a random life."""
    rng = random.Random(7)
    oracle: dict[str, int] = {}
    for _ in range(8):
        store = store_in(tmp_path)
        assert dict(store.all()) == oracle
        for _ in range(rng.randrange(1_000)):
            key = f"k{rng.randrange(300)}"
            if rng.random() < 0.2:
                store.delete(key)
                oracle.pop(key, None)
            else:
                oracle[key] = rng.randrange(1000)
                store.put(key, oracle[key])
            if rng.random() < 0.02:
                store.flush()
                store.compact(None)
        assert list(store.all()) == sorted(oracle.items())
        assert list(store.range("k1", "k2")) == sorted(
            (key, value) for key, value in oracle.items() if "k1" <= key < "k2"
        )
        store.flush()
        store.close()


def test_a_host_that_has_the_store_reads_only_the_tail(tmp_path: Path) -> None:
    """S2: of 10,000 entries the 5 of another host."""
    path = str(tmp_path / "here" / "0.sqlite")
    store = store_in(tmp_path, DiskCopy(path))
    store.put_all({f"{number:06d}": number for number in range(10_000)})
    store.flush()
    store.close()
    elsewhere = store_in(tmp_path)
    elsewhere.put_all((f"{number:06d}", -1) for number in range(4))
    elsewhere.delete("000009")
    elsewhere.flush()
    copy, log = DiskCopy(path), FileLog(str(tmp_path / "log"))
    found = restore(log, copy, None)
    assert (found.entries, found.size_bytes, found.is_tail) == (5, 4 * 10 + 6, True)
    assert restore(FileLog(str(tmp_path / "log")), MemoryCopy(), None).entries == 10_005
    assert copy.get(b"000009") is None
    copy.close()


def test_a_copy_that_compaction_has_overtaken_is_restored_as_a_whole(tmp_path: Path) -> None:
    """A base has no deletions: the copy's own key would stay."""
    path = str(tmp_path / "here" / "0.sqlite")
    store = store_in(tmp_path, DiskCopy(path))
    store.put("deleted elsewhere", 1)
    store.flush()
    store.close()
    elsewhere = store_in(tmp_path)
    elsewhere.delete("deleted elsewhere")
    elsewhere.put_all({f"{number}": number for number in range(1_000)})
    elsewhere.flush()
    elsewhere.compact(None)
    copy = DiskCopy(path)
    assert restore(FileLog(str(tmp_path / "log")), copy, None).is_tail is False
    assert copy.get(b"deleted elsewhere") is None
    copy.close()


def test_a_million_updates_leave_two_entries_of_a_key(tmp_path: Path) -> None:
    """S3: of a thousand keys, with a commit each five thousand updates."""
    log = FileLog(str(tmp_path))
    store = KeyValueStore("numbers", STRING, INTEGER, MemoryCopy(), log)
    names = [f"k{number}" for number in range(1_000)]
    for number in range(1_000_000):
        store.put(names[number * 7 % 1_000], number)
        if number % 5_000 == 4_999:
            store.flush()
            store.compact(None)
            assert log.entries <= 2 * 1_000
    assert log.end == 200_000  # a flush has one entry of a key
    again = FileLog(str(tmp_path))
    assert again.entries <= 2 * 1_000
    assert dict(again.read(0, again.end)).keys() == {name.encode() for name in names}


class Killed(Exception):
    """The process ends here."""


def kill_before(monkeypatch: pytest.MonkeyPatch, kind: type, method: str, after: int) -> None:
    """Raise at a step of the commit after so many calls, and at later calls."""
    real, calls = getattr(kind, method), Counter[str]()

    def step(*arguments: Any) -> Any:
        calls[method] += 1
        if calls[method] > after:
            raise Killed
        return real(*arguments)

    monkeypatch.setattr(kind, method, step)


STEPS = [(FileLog, "append"), (DiskCopy, "apply"), (FileCheckpoints, "write")]
LINES = "a b a commit c a b commit d a commit e"


@pytest.mark.parametrize("config", [{}, TRANSACTIONAL], ids=["at least once", "transactional"])
@pytest.mark.parametrize("after", [0, 1, 2, 3, 4, 5])
@pytest.mark.parametrize(("kind", "method"), STEPS, ids=["store", "copy", "offsets"])
def test_kills_between_store_changelog_and_offsets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: type, method: str, after: int,
    config: dict[str, str],
) -> None:  # fmt: skip
    """S4: no word is lost; a transactional restore counts each once."""
    write_lines(tmp_path, LINES)
    local = {"job__host-affinity__enabled": "true",
             "job__logged__store__base__dir": str(tmp_path / "local")}  # fmt: skip
    given = properties(tmp_path, task__commit__ms="-1", **local, **config)
    with monkeypatch.context() as patched, suppress(Killed), job(given) as tester:
        kill_before(patched, kind, method, after)
        to_the_end(tester)
        tester.errors("tasks")  # the kill is an error
        raise Killed
    with job(given) as tester:
        to_the_end(tester)
        found, exact = counts_of(tester), expected(LINES.replace("commit", ""))
        assert all(found[word] >= exact[word] for word in exact)
        assert found.keys() == exact.keys()
        if config:
            assert found == exact


@pytest.mark.parametrize("seed", range(6))
def test_state_is_exact_under_checkpoints_whatever_crashes(tmp_path: Path, seed: int) -> None:
    """S4 with the engine's checkpoints: checkpoints take the place of commits."""
    rng = random.Random(seed)
    words = ["".join(rng.choice("abc")) for _ in range(60)]
    write_lines(tmp_path, " ".join(words[:30]), " ".join(words[30:]))
    local = {"job__host-affinity__enabled": "true",
             "job__logged__store__base__dir": str(tmp_path / "local")}  # fmt: skip
    with job(properties(tmp_path, **local), **EXACT) as tester:
        for _ in range(8):
            tester.run_spouts(rng.randrange(1, 4))
            steps: list[Callable[[], Any]] = [tester.checkpoint, lambda: tester.crash("tasks")]
            rng.choice(steps)()
        to_the_end(tester)
        tester.checkpoint()
        assert counts_of(tester) == Counter(words)
    written = Counter(
        line
        for path in (tmp_path / "counts").glob("part-*")
        for line in path.read_text().splitlines()
    )
    assert sum(written.values()) == 60


def test_a_store_on_disk_is_larger_than_its_memory(tmp_path: Path) -> None:
    """S5: 40 MiB of values, with 8 MiB of pages in memory."""
    import tracemalloc

    copy = DiskCopy(str(tmp_path / "here" / "0.sqlite"))
    store = KeyValueStore("large", STRING, BYTES, copy, FileLog(str(tmp_path / "log")))
    value = b"x" * 8_192
    tracemalloc.start()
    try:
        for number in range(5_120):
            store.put(f"{number:08d}", value + b"%d" % number)
            if number % 128 == 127:
                store.flush()
        store.compact(None)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < 12 * 1024 * 1024
    assert store.get("00000007") == value + b"7"
    assert sum(1 for _ in store.all()) == 5_120
    store.close()
    again = DiskCopy(str(tmp_path / "elsewhere" / "0.sqlite"))
    assert restore(FileLog(str(tmp_path / "log")), again, None).entries == 5_120
    again.close()


def test_a_changed_file_and_a_missing_one_are_named(tmp_path: Path) -> None:
    log = FileLog(str(tmp_path))
    log.append([(b"a", b"1")])
    log.append([(b"b", b"2")])
    first, second = sorted(tmp_path.iterdir())
    second.write_bytes(second.read_bytes()[:-1] + b"x")
    with pytest.raises(ChangelogDamaged, match="is truncated or modified"):
        list(log.read(0, 2))
    first.unlink()
    with pytest.raises(ChangelogDamaged, match="entries up to 0 and from 1 on"):
        FileLog(str(tmp_path))


def test_a_base_that_was_not_finished_is_left_aside(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    store.put_all({f"{number}": number for number in range(1_500)})
    store.flush()
    store.compact(None)
    (complete,) = (tmp_path / "log").glob("base-*/complete")
    assert complete.read_text() == '{"parts": 1, "entries": 1500}'
    (tmp_path / "log" / f"base-{9999:020d}").mkdir()
    (tmp_path / "log" / f"base-{9999:020d}" / "000000").write_bytes(b"half")
    assert len(dict(store_in(tmp_path).all())) == 1_500


def test_a_checkpoint_before_the_base_is_refused(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    store.put("first", 1)
    store.flush()
    store.put_all({f"{number}": number for number in range(1_500)})
    store.flush()
    store.compact(None)
    with pytest.raises(ChangelogDamaged, match="compacted beyond position 1"):
        restore(FileLog(str(tmp_path / "log")), MemoryCopy(), 1)


def test_two_processes_do_not_write_one_local_copy(tmp_path: Path) -> None:
    path = str(tmp_path / "0.sqlite")
    one, other = DiskCopy(path), DiskCopy(path)
    other.apply([(b"k", b"v")], 5)
    with pytest.raises(ComponentError, match="another process has written into this store"):
        one.apply([(b"k", b"w")], 6)
    assert other.get(b"k") == b"v"
    one.close()
    other.close()
    (tmp_path / "1.sqlite").write_bytes(b"text" * 1000)
    with pytest.raises(ComponentError, match="is not a local store"):
        DiskCopy(str(tmp_path / "1.sqlite"))


def test_keys_and_values_that_the_serdes_do_not_take_name_the_store(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    with pytest.raises(ComponentError, match=r"stores.numbers.msg.serde: 'x'"):
        store.put("k", "x")
    with pytest.raises(ComponentError, match=r"stores.numbers.key.serde: 1 is not a text"):
        store.get(1)
    with pytest.raises(ComponentError, match="a key is not None"):
        store.put(None, 1)
    store.put("k", 1)
    store.put("k", None)
    assert store.get_all(["k", "l"]) == {"k": None, "l": None}
    store.put_all({"a": 1, "b": 2})
    store.delete_all(["a"])
    assert list(store.all()) == [("b", 2)]
