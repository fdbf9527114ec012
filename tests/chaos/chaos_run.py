"""One chaos run: a word count while its processes are killed and stopped, and the outcome."""

import random
import shutil
import signal
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from tests.chaos.new_versions import Source
from tests.chaos.sources import SURVIVING_SOURCE
from tests.chaos.updates import Updated, Updates
from tests.process.process_support import GONE_SECS, Place, Running, until
from tests.process.survival import NAME, TOPOLOGY, Survey, acked, settings, survey

LINES_PER_SEC = 250
"""Of five words each, which leaves two shared cores time for the recoveries."""
BURST_LINES = 125
SLEEP_SECS = 0.0003
"""The share of SIGSTOP with a later SIGCONT among the faults; the rest are kill -9."""
PAUSE_SECS = (1.0, 3.0)
"""Between two faults: every two seconds on the average."""
STOPPED_SECS = (0.2, 3.0)
STOP_SHARE = 0.3
"""Of the faults that are a SIGSTOP with a later SIGCONT; the others are a kill -9."""
QUIET_END_SECS = 4.0
"""The last line is due so long before the killing ends: some faults fall into the run's end."""
UPDATED_LINES_PER_SEC = 125
"""With updates as well, each with a load of the topology and a start of processes."""
END_SECS = 60.0
"""After the end of the killing, to the end of the run; and so long for the update that is under way
then."""
UPDATE_SHARE = 0.35
"""Of the times at which an update begins, beside further faults."""
QUIET_SHARE = 0.3
"""The share of updates without faults until their end."""
SCALABLE = {"split": 2, "count": 2, "seen": 1}
"""Of the word count: the components that may be scaled, and their instances."""
TIMEOUT_SECS = 30.0
"""The default message timeout: a tuple failed this late was not known as lost before."""

KINDS = {
    "topology master": "heron: topology master",
    "stream manager": "heron: stream manager",
    "executor": "heron: container",
    "operations": "heron: operations",
    "instance": "heron: ",
}
"""Kind -> beginning of the titles; the first that fits counts."""
WEIGHTS = {"topology master": 1, "stream manager": 3, "executor": 2, "operations": 1,
           "instance": 4}  # fmt: skip
"""Weight of each kind: processes with tuples are chosen most often."""
SPARED = "heron: scheduler"

_never = threading.Event()


@dataclass(frozen=True, slots=True)
class Wishes:
    """How long, from which seed, on how many containers, with the state where."""

    seed: int
    seconds: float
    containers: int = 3
    zookeeper: str | None = None
    """As `heronpy run --zookeeper` takes it; None: the state is in files."""
    pair_share: float = 0.0
    """Of the times when two are harmed at once."""
    settings: tuple[str, ...] = ()
    """KEY=VALUE, as `heronpy run -o` takes them."""
    rescales: bool = False
    """Whether components get more and fewer instances meanwhile."""
    code_changes: bool = False
    """Whether updates bring new code."""

    @property
    def run_options(self) -> list[str]:
        options = [word for each in self.settings for word in ("-o", each)]
        return options if self.zookeeper is None else [*options, "--zookeeper", self.zookeeper]

    @property
    def lines(self) -> int:
        """Number of lines to count."""
        return int((self.seconds - QUIET_END_SECS) * self.lines_per_sec)

    @property
    def lines_per_sec(self) -> int:
        """Rate of the lines."""
        return UPDATED_LINES_PER_SEC if self.has_updates else LINES_PER_SEC

    @property
    def has_updates(self) -> bool:
        """Whether the run has updates."""
        return self.rescales or self.code_changes

    def updates(
        self, place: Place, running: Running, name: str, tasks: Mapping[str, int], source: Source
    ) -> Updates | None:
        """The updates of a topology whose components have these tasks; None without updates."""
        if not self.has_updates:
            return None
        scaled = tasks if self.rescales else {}
        changed = source if self.code_changes else None
        return Updates(place, running, name, scaled, self.seed, changed)


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault and its process, in seconds since the first line was due."""

    at_secs: float
    title: str
    stopped_secs: float | None = None
    """None: kill -9"""

    def __str__(self) -> str:
        what = "killed" if self.stopped_secs is None else f"stopped for {self.stopped_secs:.2f} s"
        return f"{self.at_secs:7.2f} s  {self.title.removeprefix('heron: ')} {what}"


@dataclass(slots=True, kw_only=True)
class Ending:
    """How a run with faults ended, whatever it computed."""

    wishes: Wishes
    faults: list[Fault] = field(default_factory=list)
    ended_secs: float = 0.0
    """From the end of the killing to the end of the run."""
    code: int | None = None
    """Exit code of the command; None: it did not end."""
    errors: str = ""
    updated: Updated | None = None
    """Outcome of the updates; None without updates."""

    @property
    def updates(self) -> str:
        """Outcome of the updates, as part of a line."""
        return "" if self.updated is None else f"; {self.updated}"

    @property
    def kept_processes(self) -> bool:
        """Whether every quiet update ended exactly the concerned processes."""
        return self.updated is None or not self.updated.wrong

    def story(self) -> list[str]:
        """Every fault, every update, and what the command said."""
        found = self.updated or Updated()
        return [*map(str, self.faults), *found.reasons, *found.wrong, self.errors]


@dataclass(slots=True, kw_only=True)
class Report(Ending):
    """Result of a chaos run."""

    total_secs: float = 0.0
    found: Survey | None = None
    """What the records say in the end."""

    @property
    def good(self) -> bool:
        """Whether the run ended by itself and lost nothing."""
        is_complete = self.found is not None and self.found.complete
        return self.code == 0 and is_complete and self.kept_processes

    def __str__(self) -> str:
        killed = _by_kind(each for each in self.faults if each.stopped_secs is None)
        stopped = _by_kind(each for each in self.faults if each.stopped_secs is not None)
        end = f"exit code {self.code}" if self.code is not None else "DID NOT END"
        return (
            f"seed {self.wishes.seed}: {'ok' if self.good else 'FAILED'}; killed {killed}; "
            f"stopped {stopped}{self.updates}; {self._lines()}; {end} "
            f"{self.ended_secs:.1f} s after the "
            f"killing, {self.total_secs:.1f} s in all"
        )

    def _lines(self) -> str:
        if self.found is None:
            return "no records"
        late = sum(each.age_secs >= TIMEOUT_SECS for each in self.found.failures)
        return (
            f"{self.found.lines} lines, {self.found.unacked} not acked, "
            f"{self.found.unseen} words lost, {self.found.duplicates} duplicates, "
            f"{len(self.found.failures)} lines failed, {late} of them by timeout"
        )

    def history(self) -> str:
        """All events, each on a line."""
        return "\n".join([str(self), *self.story()])


def _by_kind(faults: Iterator[Fault]) -> str:
    found = Counter(kind_of(each.title) for each in faults)
    told = ", ".join(f"{kind} {number}" for kind, number in sorted(found.items()))
    return f"{found.total()} ({told})" if found else "0"


def kind_of(title: str) -> str:
    """The kind of process with this title."""
    return next(kind for kind, beginning in KINDS.items() if title.startswith(beginning))


class Chaos:
    """The faults of one run, all of them drawn from its seed."""

    def __init__(
        self, running: Running, wishes: Wishes, begin: float, updates: Updates | None = None
    ) -> None:
        self.faults: list[Fault] = []
        self._updates = updates
        self._running = running
        self._wishes = wishes
        self._chance = random.Random(wishes.seed)
        self._begin = begin
        self._until = begin + wishes.seconds
        self._stopped: list[tuple[float, psutil.Process]] = []
        self._titles: dict[str, list[str]] = {}

    def go_on_until_over(self) -> None:
        """Inject faults until the time is over or the run has ended."""
        self._titles = self._titles_now()
        while self._rest(self._chance.uniform(*PAUSE_SECS)):
            if self._updates is not None and self._chance.random() < UPDATE_SHARE:
                self._update(self._updates)
            self._harm_somebody()
            if self._wishes.pair_share and self._chance.random() < self._wishes.pair_share:
                self._harm_somebody()
        self._wake(float("inf"))
        if self._updates is not None:
            self._updates.wait()

    def _update(self, updates: Updates) -> None:
        """Have an update begin; or wake all and wait until it is done."""
        if self._chance.random() < QUIET_SHARE:
            self._wake(float("inf"))
            updates.in_quiet(self._until)
        else:
            updates.begin_one()
        self._titles = self._titles_now()

    def _titles_now(self) -> dict[str, list[str]]:
        """kind -> titles: titles outlive the processes, so the seed alone chooses a title."""
        titles = sorted(title for title in self._processes() if not title.startswith(SPARED))
        found = {kind: [each for each in titles if kind_of(each) == kind] for kind in KINDS}
        # The only process of its kind may be dead at this moment.
        return {kind: those or self._titles.get(kind, []) for kind, those in found.items()}

    def _processes(self) -> dict[str, psutil.Process]:
        found = {}
        for each in self._running.processes():
            with suppress(psutil.Error):
                title = " ".join(each.cmdline()).rstrip()
                if title.startswith("heron: "):
                    found[title] = each
        return found

    def _rest(self, secs: float) -> bool:
        """Wait, and wake stopped processes when due; False when the run is over."""
        end = min(time.monotonic() + secs, self._until)
        while (now := time.monotonic()) < end and self._running.process.poll() is None:
            self._wake(now)
            _never.wait(min([end, *(at for at, _ in self._stopped)]) - now)
        return end < self._until and self._running.process.poll() is None

    def _wake(self, now: float) -> None:
        for each in [each for each in self._stopped if each[0] <= now]:
            self._stopped.remove(each)
            _signal(each[1], signal.SIGCONT)

    def _harm_somebody(self) -> None:
        # All choices are drawn regardless of the live processes, so that a seed is a sequence of
        # faults.
        (kind,) = self._chance.choices(list(WEIGHTS), list(WEIGHTS.values()))
        title = self._chance.choice(self._titles[kind])
        stops = self._chance.random() < STOP_SHARE
        secs = self._chance.uniform(*STOPPED_SECS)
        process = self._processes().get(title)
        if process is None or not _signal(process, signal.SIGSTOP if stops else signal.SIGKILL):
            return
        now = time.monotonic()
        if stops:
            self._stopped.append((now + secs, process))
        self.faults.append(Fault(now - self._begin, title, secs if stops else None))


def _signal(process: psutil.Process, number: signal.Signals) -> bool:
    """Send the signal unless the process is gone, even if a new process has its number."""
    try:
        process.send_signal(number)
    except psutil.Error:
        return False
    return True


def run(wishes: Wishes, tell: Callable[[str], object] = print) -> Report:
    """One run with its outcome; a failed run's folder is kept and named."""
    folder = Path(tempfile.mkdtemp(prefix="heron-chaos-"))
    place = Place(folder)
    report = Report(wishes=wishes)
    try:
        _run(place, wishes, report)
        report.found = survey(folder, wishes.lines)
        if report.good:
            place.nothing_is_left(GONE_SECS)
    finally:
        place.close()
        if report.good:
            shutil.rmtree(folder)
        else:
            tell(f"logs and records of seed {wishes.seed}: {folder}")
    return report


def _run(place: Place, wishes: Wishes, report: Report) -> None:
    options, begin = settings(
        place.path, wishes.lines, wishes.lines_per_sec, burst=BURST_LINES, sleep_secs=SLEEP_SECS
    )
    options += wishes.run_options
    if wishes.has_updates:
        place.environment["SURVIVING_STATE"] = "1"
    running = place.start("run", TOPOLOGY, "--containers", wishes.containers, *options)
    until(lambda: acked(place.path), "the first line is acked")
    updates = wishes.updates(place, running, NAME, SCALABLE, SURVIVING_SOURCE)
    kill_until_over(running, begin, report, updates)
    report.total_secs = time.monotonic() - begin


def kill_until_over(
    running: Running, begin: float, ending: Ending, updates: Updates | None = None
) -> None:
    """Kill and stop processes as is wished, then wait for the end of the run."""
    chaos = Chaos(running, ending.wishes, begin, updates)
    ending.faults = chaos.faults
    ending.updated = None if updates is None else updates.found
    chaos.go_on_until_over()
    calm_since = time.monotonic()
    try:
        ending.code = running.wait(END_SECS * (1 + ending.wishes.has_updates)).code
    except AssertionError:  # the report says so
        pass
    ending.errors = running.err
    ending.ended_secs = time.monotonic() - calm_since
