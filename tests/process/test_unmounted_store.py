"""The disk with a topology's states is not mounted: that is no first run."""

from pathlib import Path

from heron_core.exit_codes import ExitCode
from heron_io.checkpoint_store.run_marker import AWAIT_SECS
from tests.process.process_support import TOPOLOGIES, Master, Place, Running
from tests.process.test_recovery import processes, title_of
from tests.process.test_resume import arguments, check_exact, completed, end

NAME = "Remembering"
SPOUT = "heron: numbers[0]"
ABSENT = f"/store/{NAME} has none of the states that {NAME} saved: mount its disk"


def test_states_on_a_disk_that_is_not_mounted_are_waited_for(place: Place) -> None:
    """At least once: a killed spout waits for its state, and so does the next run."""
    disk, unmounted = place.path / "disk", place.path / "unmounted"
    settings = (f"remembered.folder={place.path}", f"topology.checkpoint.store={disk / 'store'}")
    options = [word for each in settings for word in ("-o", each)]
    command = ("run", TOPOLOGIES / "remembering.py", *options)
    first = place.start(*command)
    with Master(place.store_url, NAME) as master:
        first.until(lambda: master.processed("taken"), "the spout is behind its beginning")
    # A tuple may have been taken before, and wait for its acks.
    before = wait_for_states(first, disk, wait_for_states(first, disk) + 1)
    disk.rename(unmounted)
    processes(first)[title_of(first, SPOUT)].kill()
    # Sooner than the first process of an instance would look for the disk.
    first.until(
        lambda: ABSENT in place.log(NAME, "events"), "it says what it waits for", AWAIT_SECS
    )
    assert not disk.exists(), "nothing is saved where the disk is to be"
    unmounted.rename(disk)
    first.until(lambda: len(begun(place)) == 2, "it begins when the disk is there")
    wait_for_states(first, disk, before)
    assert first.end().code != 0

    disk.rename(unmounted)
    refused = place.heronpy(*command)
    assert refused.code == ExitCode.FAILED
    assert [line for line in refused.errors if ABSENT in line and "--fresh" in line]
    assert len(begun(place)) == 2
    unmounted.rename(disk)
    again = place.start(*command)
    again.until(lambda: len(begun(place)) == 3, "the next run begins")
    assert "resumes from the last saved states of its components" in again.err
    (place.path / "enough").touch()
    again.wait().succeeded()
    at = begun(place)
    assert at[0] == 0 < at[1] <= at[2], "each process goes on where the one before was"


def test_a_checkpoint_is_not_saved_where_a_disk_is_to_be(place: Place) -> None:
    """Effectively once: the folder of the disk is there, and empty. Each count is exact."""
    disk, unmounted = place.path / "disk", place.path / "unmounted"
    running = place.start("run", *arguments(place, "-o", f"topology.checkpoint.store={disk}"))
    running.until(completed(place), "a checkpoint is complete")
    disk.rename(unmounted)
    disk.mkdir()
    absent = f"{disk}/{place.name} has none of the states that {place.name} saved"
    running.until(lambda: absent in place.log(place.name, "events"), "it says what is missing")
    before = completed(place)() or 0
    assert list(disk.iterdir()) == []
    disk.rmdir()
    unmounted.rename(disk)
    running.until(completed(place, before), "a checkpoint is complete on the disk")
    end(place)
    running.wait().succeeded()
    check_exact(place)


def wait_for_states(running: Running, disk: Path, before: int = 0) -> int:
    """Until the spout has saved a state behind that number; the newest one's."""

    def newest() -> int | None:
        numbers = (int(each.name) for each in disk.glob(f"store/{NAME}/own/*/1/*"))
        return max((each for each in numbers if each > before), default=None)

    return running.until(newest, "a state is saved")


def begun(place: Place) -> list[int]:
    """Where each process of the spout has begun."""
    file = place.path / "begun"
    return [int(line) for line in file.read_text().split()] if file.exists() else []
