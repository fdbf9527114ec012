"""Effectively once in real processes: whatever is killed, every count is exact."""

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from heron_core.stats import CheckpointStats
from heron_core.version import VERSION
from tests.process.process_support import DEADLINE_SECS, TOPOLOGIES, Master, Place, Running
from tests.process.test_recovery import processes, title_of

TOPOLOGY = TOPOLOGIES / "exact.py"
KEYS = 97
LINES = 20_000
TEXT = "".join(f"line {number}\n" for number in range(LINES))
"""At a hundred a second the numbers outlast all kills."""
MIGRATION = """
    state_version = 1
    seen = value_state(default=0)

    def migrate(self, old):
        before = old.value_state("count", 0)
        for key, number in list(before.all_items()):
            self.seen.for_key(key).put(number)
        before.clear_all()
"""
BROKEN = "        raise ValueError('not yet')\n"
STREAM_MANAGER = ("stream manager 1",)
MASTER = "heron: topology master (Exact)"
CONTAINERS = ("heron: container 0 (Exact)", "heron: container 1 (Exact)")


def kill(running: Running, *victims: str) -> dict[str, int]:
    """Kill -9; title -> pid of all processes except the killed ones and their children."""
    before = processes(running)
    dying = {before[victim].pid for victim in victims}
    dying |= {child.pid for victim in victims for child in before[victim].children()}
    for victim in victims:
        before[victim].kill()
    return {title: each.pid for title, each in before.items() if each.pid not in dying}


class Watched:
    """The topology while processes of it die."""

    def __init__(self, running: Running, master: Master) -> None:
        self._running, self._master = running, master

    def _checkpoints(self) -> CheckpointStats | None:
        stats = self._master.stats()
        return None if stats is None else stats.checkpoints

    def latest(self) -> int:
        """The highest number of a checkpoint."""
        return self._running.until(self._checkpoints, "the master answers").latest

    def epoch(self) -> int:
        """Epoch of the active plan."""
        return self._running.until(self._master.stats, "the master answers").epoch

    def goes_on_after(self, number: int, what: str) -> None:
        """Data flows, and a checkpoint with a higher number is complete."""

        def has_gone_on() -> bool:
            now = self._checkpoints()
            return now is not None and now.released and now.completed > number

        self._running.until(has_gone_on, what)

    def restores_and_continues(self, epoch: int) -> None:
        """The epoch is newer, and a checkpoint of the epoch completes."""

        def latest() -> int | None:
            stats = self._master.stats()
            if stats is None or stats.checkpoints is None or stats.epoch <= epoch:
                return None
            return stats.checkpoints.latest

        self.goes_on_after(self._running.until(latest, "the topology is restored"), "it goes on")


def test_counts_are_exact_whatever_is_killed(place: Place) -> None:
    """The machine room of a bank: instances, stream manager, master; then heronpy is upgraded, and
    after that all containers are killed; then more and fewer counting instances, while a further
    one dies, and new code with its counts in a renamed state. Finally an upgrade, by a savepoint,
    to a topology with a further counting instance, and a further one with windows. Lines of a file
    are copied into files without a changed byte."""
    (place.path / "lines.txt").write_text(TEXT)
    folders = ("-o", f"exact.folder={place.path}", "-o", f"file.folder={place.path / 'out'}")
    arguments = (TOPOLOGY, "--containers", 2, *folders)
    running = place.start("run", *arguments)
    with Master(place.store_url, "Exact") as master:
        watched = Watched(running, master)
        watched.goes_on_after(0, "a checkpoint is complete")
        asked = place.heronpy("checkpoint", "Exact")
        assert "of Exact is complete" in asked.succeeded().out
        for victims in (("count[0]", "written[0]"), ("numbers[1]", "lines[0]"), STREAM_MANAGER):
            before = watched.epoch()
            titles = [title_of(running, f"heron: {victim}") for victim in victims]
            survivors = kill(running, *titles)
            watched.restores_and_continues(before)
            now = processes(running)
            assert {title: now[title].pid for title in survivors} == survivors
        before_death = watched.latest()
        kill(running, MASTER)
        watched.goes_on_after(before_death, "the next master goes on")
        upgrade_engine(place, running)
        before = watched.epoch()
        kill(running, *CONTAINERS)
        watched.restores_and_continues(before)
        scale(place, running)
        arguments = (change_code(place, running), *arguments[1:])
        watched.goes_on_after(watched.latest(), "it goes on")
    upgrade(place, running, arguments)
    check_results(place)
    place.nothing_is_left()


def check_results(place: Place) -> None:
    """Each number once in the counts and in both windows, each line once in the files."""
    assert len(list(place.path.glob("counted-*"))) == 3
    assert counted(place.path) == emitted(place.path)
    in_windows = json.loads((place.path / "in_windows").read_text())
    assert {int(key): 2 * number for key, number in in_windows.items()} == emitted(place.path)
    parts = sorted((place.path / "out").glob("part-*"))  # by the numbers of their checkpoints
    assert "".join(each.read_text() for each in parts) == TEXT


def upgrade_engine(place: Place, running: Running) -> None:
    """Container by container, the master last. All processes are new, but for the scheduler's own
    two; what is started again later is so by the new engine."""
    before = {title: each.pid for title, each in processes(running).items()}
    out = place.heronpy("update", "Exact", "--engine", secs=4 * DEADLINE_SECS).succeeded()
    told = [line for line in out.err.splitlines() if " runs heronpy " in line]
    version = f"runs heronpy {VERSION}"
    assert told == [
        f"container 1 {version} (1 of 3)",
        f"container 2 {version} (2 of 3)",
        f"the topology master {version} (3 of 3)",
    ]
    now = {title: each.pid for title, each in processes(running).items()}
    same = {title for title, pid in now.items() if before.get(title) == pid}
    assert {title for title in now if "container" in title or "[" in title}.isdisjoint(same)
    later = place.heronpy("update", "Exact", "--component-parallelism", "count:3", "--at", "+1d")
    assert "Exact will be updated at " in later.succeeded().out
    place.heronpy("update", "Exact", "--cancel").succeeded()


def scale(place: Place, running: Running) -> None:
    """A counting instance more, then a counting instance less, while another instance dies: all
    further processes stay. State without keys stays unchanged."""

    def update(component: str) -> Running:
        return place.start("update", "Exact", "--component-parallelism", component)

    def pids() -> dict[str, int]:
        return {title: each.pid for title, each in processes(running).items()}

    before = pids()
    update("count:3").wait().succeeded()
    more = pids()
    (added,) = more.keys() - before.keys()
    assert added.startswith("heron: count[2]")
    assert {title: more[title] for title in before} == before
    fewer = update("count:2")
    survivors = kill(running, title_of(running, "heron: left[0]"))
    fewer.wait().succeeded()
    survivors.pop(added, None)
    running.until(lambda: added not in pids(), "the instance that was removed ends")
    now = pids()
    assert {title: now.get(title) for title in survivors} == survivors
    refused = update("numbers:3").wait()
    assert refused.code == 1
    assert "numbers had 2 instances and has 3 now" in refused.err
    after = pids()
    assert {title: after.get(title) for title in survivors} == survivors


def change_code(place: Place, running: Running) -> Path:
    """The counting component is renamed and takes over the counts. All further processes stay,
    beside those killed meanwhile; code with a failing start is without effect. Returns the new
    file."""
    old = TOPOLOGY.read_text().replace("self.count.", "self.seen.")
    new, broken = place.path / "exact_2.py", place.path / "exact_3.py"
    new.write_text(old.replace("    count = value_state(default=0)\n", MIGRATION))
    version_2 = MIGRATION.replace("state_version = 1", "state_version = 2") + BROKEN
    broken.write_text(old.replace("    count = value_state(default=0)\n", version_2))

    def update(file: Path) -> Running:
        return place.start("update", "Exact", "--code", file)

    changing = update(new)
    survivors = kill(running, title_of(running, "heron: left[1]"))
    out = changing.wait().succeeded().out
    assert "replaced: count, totals; untouched: numbers, left, right, windows" in out
    staying = {
        title: pid
        for title, pid in survivors.items()
        if not title.startswith(("heron: count", "heron: totals"))
    }
    assert len(staying) < len(survivors)
    refused = update(broken).wait()
    assert (refused.code, "ValueError: not yet" in refused.err) == (1, True), refused.err
    now = {title: each.pid for title, each in processes(running).items()}
    assert {title: now.get(title) for title in staying} == staying
    return new


def upgrade(place: Place, running: Running, arguments: Sequence[object]) -> None:
    """To a further counting instance, by a savepoint; runs to the end."""
    savepoint = place.path / "before the upgrade"
    killed = place.heronpy("kill", "Exact", "--savepoint", savepoint).succeeded()
    assert f"from the savepoint with --from-savepoint {savepoint}" in killed.out
    assert "is restored from checkpoint" in running.wait().err
    (place.path / "enough").touch()
    place.environment["COUNTERS"] = "3"
    place.heronpy("run", *arguments, "--from-savepoint", savepoint).succeeded()


def counted(folder: Path) -> Counter[int]:
    """Counts of all tasks of the counting bolt."""
    total: Counter[int] = Counter()
    for each in folder.glob("counted-*"):
        total.update({int(key): number for key, number in json.loads(each.read_text()).items()})
    return total


def emitted(folder: Path) -> Counter[int]:
    """Each number of each spout, by two ways."""
    total: Counter[int] = Counter()
    for each in folder.glob("emitted-*"):
        for number in range(json.loads(each.read_text())):
            total[number % KEYS] += 2
    return total
