"""The checkpoint store is away, or has a damaged file, when a sink restores: nothing twice."""

import stat
from contextlib import suppress
from pathlib import Path

from heron_core.stats import CheckpointStats
from tests.process.process_support import TOPOLOGIES, Master, Place
from tests.process.test_recovery import processes, title_of

NAME = "LinesToFiles"
LINES = 60_000
TEXT = "".join(f"line {number}\n" for number in range(LINES))
"""At one a millisecond they outlast all that is done here."""
SINK = "heron: written[0]"


def test_a_sink_that_dies_while_the_checkpoint_store_is_away_writes_each_line_once(
    place: Place,
) -> None:
    """And so when its state in the newest checkpoint has one bit flipped, until it is put back."""
    (place.path / "lines.txt").write_text(TEXT)
    store, there, nowhere = (place.path / name for name in ("store", "there", "nowhere"))
    there.mkdir()
    nowhere.write_text("a file is not a folder: nothing can be read or saved")
    point(store, there)
    settings = (
        f"lines.folder={place.path}",
        f"file.folder={place.path / 'out'}",
        f"topology.checkpoint.store={store}",
    )
    options = [word for each in settings for word in ("-o", each)]
    running = place.start("run", TOPOLOGIES / "lines_to_files.py", *options)
    with Master(place.store_url, NAME) as master:

        def checkpoints() -> CheckpointStats | None:
            stats = master.stats()
            return None if stats is None else stats.checkpoints

        def goes_on_after(number: int) -> bool:
            now = checkpoints()
            return now is not None and now.released and now.completed > number

        def waits_because_of(reason: str) -> CheckpointStats | None:
            now = checkpoints()
            return now if now is not None and reason in now.restore_failure else None

        running.until(lambda: goes_on_after(1), "two checkpoints are complete")
        assert open_to_others(place.home) == open_to_others(there / NAME) == []
        point(store, nowhere)
        processes(running)[title_of(running, SINK)].kill()
        waiting = running.until(lambda: waits_because_of("cannot be read from"), "it waits")
        assert "make the checkpoint store reachable" in waiting.restore_remedy
        newest = waiting.restored
        assert newest == waiting.completed

        damaged = state_of_the_sink(there, newest)
        whole = damaged.read_bytes()
        damaged.write_bytes(whole[:5])
        point(store, there)
        running.until(lambda: waits_because_of("truncated after 5 bytes"), "the cut is found")
        damaged.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
        waiting = running.until(
            lambda: waits_because_of("does not match its checksum"), "the bit is found"
        )
        assert waiting.restored == newest
        assert "or restore an older checkpoint with `heronpy restore" in waiting.restore_remedy
        refused = place.heronpy("restore", NAME, "--checkpoint", newest)
        assert refused.code == 1
        assert all("is not a retained older" in line for line in refused.errors)

        damaged.write_bytes(whole)
        running.until(lambda: goes_on_after(newest), "it goes on when the file is put back")
    (place.path / "enough").touch()
    running.wait().succeeded()
    parts = sorted((place.path / "out").glob("part-*"))  # by the numbers of their checkpoints
    assert "".join(each.read_text() for each in parts) == TEXT


def open_to_others(folder: Path) -> list[str]:
    """What of a run's files and folders anybody but their owner may read, write or enter."""
    found = []
    for path in (folder, *folder.rglob("*")):
        with suppress(FileNotFoundError):  # it was a temporary one, or a checkpoint of before
            if path.lstat().st_mode & 0o077 and not path.is_symlink():
                found.append(f"{stat.filemode(path.lstat().st_mode)} {path}")
    return found


def point(link: Path, target: Path) -> None:
    """Have the link lead there, from one moment to the next."""
    fresh = link.with_name("fresh")
    fresh.symlink_to(target)
    fresh.rename(link)


def state_of_the_sink(store: Path, checkpoint: int) -> Path:
    """Its file: the second task's."""
    return store / NAME / str(checkpoint) / "2"
