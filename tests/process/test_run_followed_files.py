"""A log that is rotated while the process that reads it is killed."""

import shutil

from tests.process.process_support import TOPOLOGIES, Place, Running
from tests.process.test_exact_counts import kill
from tests.process.test_recovery import title_of

TOPOLOGY = TOPOLOGIES / "followed_log.py"


class Log:
    """Numbers, and two ways to rotate them."""

    def __init__(self, place: Place) -> None:
        self.path = place.path / "app.log"
        self.written = 0

    def write(self, count: int) -> None:
        with self.path.open("a") as file:
            file.writelines(f"{self.written + each}\n" for each in range(count))
        self.written += count

    def older(self, number: int) -> None:
        """Make room for the newest one that is rotated."""
        for each in range(number, 0, -1):
            before = self.path.with_name(f"app.log.{each}")
            if before.exists():
                before.rename(self.path.with_name(f"app.log.{each + 1}"))


def copied(place: Place) -> list[int]:
    files = (place.path / "out").glob("part-*")
    return sorted(int(line) for each in files for line in each.read_text().splitlines())


def test_a_log_that_is_renamed_and_one_that_is_emptied_come_whole_once_through_kills(
    place: Place,
) -> None:
    log = Log(place)
    log.write(2000)
    running = place.start("run", TOPOLOGY)

    def wait(what: str) -> None:
        running.until(lambda: len(copied(place)) >= log.written, what)

    def killed(running: Running) -> None:
        kill(running, title_of(running, "heron: lines[0]"))

    wait("the first lines are there")
    log.write(1000)
    log.path.rename(log.path.with_name("app.log.1"))
    killed(running)  # between the two halves of a rotation
    log.write(1000)
    wait("a log that was renamed is there")
    log.write(1000)
    log.older(1)
    shutil.copyfile(log.path, log.path.with_name("app.log.1"))
    killed(running)
    with log.path.open("r+") as emptied:
        emptied.truncate()
    log.write(5000)  # longer than it was
    wait("a log that was copied and emptied is there")
    assert copied(place) == list(range(log.written))
    running.end()
    place.nothing_is_left()
