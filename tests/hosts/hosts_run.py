"""One run: a topology over several hosts, faults one after the other, and the outcome."""

import json
import random
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from heron_core.plans import TopologyState
from heron_core.state_tree import execution_path
from tests.hosts.faults import FAULTS, QUIET, Trouble
from tests.hosts.flows import FLOWS, SHAPE, START_SECS, TASKS, Flow, Load
from tests.hosts.known import KNOWN
from tests.hosts.laboratory import CONTAINERS, HostsPlace, Laboratory
from tests.process.process_support import until

READY_SECS = 60.0
"""Until the first ids are through; four seconds on an idle machine."""
END_SECS = 90.0
"""From the hurry to the topology's end; a message timeout of 30 s may lie in between."""
SANDBOXES_GONE_SECS = 60.0
"""Each life of a container has unpacked the runtime, and a busy disk needs a while to remove it."""
RANDOM = "random"
"""Any survived fault after any further one, until the time is over."""
RANDOM_SECS = 120.0
TOUR = "tour"
"""Each kind once, in an order that the seed draws."""
BUSY_SECS = 60.0
"""Ids are still emitted so long after all of it, for each step takes longer on a busy machine."""
CALM_SECS = 3.0
"""Between two faults."""
FLOW_LIMIT_SECS = 60.0
"""The time is reported, even after a failure."""


@dataclass(frozen=True, slots=True)
class Wishes:
    """Faults, mode, seed and number of tuples."""

    faults: tuple[str, ...]
    mode: str
    seed: int
    ids: int = 0
    """So many at least."""
    secs: float | None = None
    patience: float = 1.0
    """Factor of each step's limit: further work shares the cores."""

    @property
    def load_secs(self) -> float:
        """Duration of the emits: by default of the whole run."""
        faults = sum(longest_secs(each, self.mode) + CALM_SECS for each in self.faults)
        return self.secs or faults + CALM_SECS + START_SECS + BUSY_SECS

    @property
    def load(self) -> Load:
        """Tuples emitted from now on."""
        return Load.of(self.ids, self.load_secs)

    def drawn(self, load: Load, chance: random.Random) -> Iterator[str]:
        """The faults, one after the other; for RANDOM until the time is over."""
        for each in self.faults:
            if each == TOUR:
                yield from chance.sample(names := survived(self.mode), len(names))
            elif each == RANDOM:
                names = survived(self.mode)
                while fitting := [name for name in names if _has_time(name, load)]:
                    yield chance.choice(fitting)
            else:
                yield each


def survived(mode: str) -> list[str]:
    """Kinds of faults survived by a topology in this mode."""
    return [name for name in FAULTS if name != QUIET and (name, mode) not in KNOWN]


def longest_secs(fault: str, mode: str) -> float:
    """Limit of the time until data flows again after a fault."""
    if fault == TOUR:
        return sum(FAULTS[name].longest_secs + CALM_SECS for name in survived(mode))
    return RANDOM_SECS if fault == RANDOM else FAULTS[fault].longest_secs


def _has_time(fault: str, load: Load) -> bool:
    return load.left_secs > FAULTS[fault].longest_secs + CALM_SECS + BUSY_SECS


@dataclass(frozen=True, slots=True)
class Measured:
    """Result of a fault."""

    fault: str
    flow_secs: float | None
    """Until data flowed again; None: not within a minute."""

    def wrong(self, patience: float) -> str:
        """Report of an exceeded limit; empty within the limit."""
        limit = FAULTS[self.fault].flow_secs_max * patience
        if self.flow_secs is None:
            return f"{self.fault}: nothing flowed {FLOW_LIMIT_SECS:g} s after it was over"
        if self.flow_secs > limit:
            return f"{self.fault}: flowed {self.flow_secs:.1f} s after it was over, not {limit:g} s"
        return ""

    def __str__(self) -> str:
        secs = "never" if self.flow_secs is None else f"{self.flow_secs:.1f} s"
        return f"{self.fault} flows again {secs}"


@dataclass(slots=True)
class Report:
    """Result of a run."""

    wishes: Wishes
    measured: list[Measured] = field(default_factory=list)
    done: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    secs: float = 0.0
    folder: str = ""
    """Folder of the logs after a failed run."""

    @property
    def good(self) -> bool:
        """Whether all results are right."""
        return not self.wrong

    def __str__(self) -> str:
        measured = "; ".join(map(str, self.measured))
        return (
            f"{'ok' if self.good else 'FAILED'}: {self.wishes.mode} seed {self.wishes.seed}: "
            f"{measured or ', '.join(self.wishes.faults)} ({self.secs:.0f} s)"
        )

    def history(self) -> str:
        """All events and errors, each on a line."""
        logs = [f"logs: {self.folder}"] if self.folder else []
        return "\n    ".join([str(self), *self.done, *self.wrong[:20], *logs])


def run(lab: Laboratory, wishes: Wishes) -> Report:
    """A run; a failed run's folder is kept and named."""
    begin = time.monotonic()
    folder = Path(tempfile.mkdtemp(prefix="heron-hosts-"))
    place = HostsPlace(folder, lab)
    report = Report(wishes)
    try:
        _run(lab, place, report)
    except (AssertionError, OSError) as error:
        report.wrong.append(str(error))
    finally:
        _clean_up(lab, place, report)
    report.secs = time.monotonic() - begin
    return report


def _run(lab: Laboratory, place: HostsPlace, report: Report) -> None:
    wishes = report.wishes
    trouble = Trouble(lab, place, random.Random(wishes.seed), wishes.patience, report.done)
    load = wishes.load
    flow = FLOWS[wishes.mode](place.path, load)
    _submit(place, flow)
    until(
        lambda: flow.progress() >= flow.needed,
        "the first ids are through",
        READY_SECS * wishes.patience,
    )
    for name in wishes.drawn(load, trouble.chance):
        trouble.rest(trouble.chance.uniform(0.5, CALM_SECS))
        assert load.left_secs > 0, f"the last id may be emitted, and {name} would harm nothing"
        FAULTS[name].happen(trouble)
        assert load.left_secs > 0, f"the last id may be emitted before {name} is over"
        trouble.note(f"{name} is over")
        report.measured.append(_flows_again(name, flow))
        trouble.note(str(report.measured[-1]))
    flow.hurry()
    report.wrong += filter(None, (each.wrong(wishes.patience) for each in report.measured))
    _await_end(place, END_SECS * wishes.patience)
    report.wrong += flow.differences()


def _submit(place: HostsPlace, flow: Flow) -> None:
    place.environment |= {"EXACT_TASKS": json.dumps(TASKS), "SURVIVING_SHAPE": SHAPE}
    place.checkpoints.mkdir()
    words = ("-n", flow.topology, "-N", place.name, "--cluster", "west", "-w", CONTAINERS)
    store = ("-o", f"topology.checkpoint.store=file://{place.checkpoints}")
    place.heronpy("submit", flow.file, *words, *store, *flow.options, secs=READY_SECS).succeeded()


def _flows_again(name: str, flow: Flow) -> Measured:
    """Time until data flows in the whole network."""
    whole, before = time.monotonic(), flow.progress()
    try:
        until(lambda: flow.progress() >= before + flow.needed, "it flows", FLOW_LIMIT_SECS)
    except AssertionError:
        return Measured(name, None)
    return Measured(name, time.monotonic() - whole)


def _await_end(place: HostsPlace, secs: float) -> None:
    """Until its work is done, without a loss by its own account."""
    over = (TopologyState.ENDED, TopologyState.FAILED)
    path = execution_path(place.name)

    def state() -> dict[str, str] | None:
        found = place.node(path) or {}
        return found if found.get("state") in over else None

    found = until(state, "the topology ends", secs)
    assert found["state"] == TopologyState.ENDED, f"it is {found['state']}: {found['reason']}"
    assert not found.get("reason"), f"it ended, and says: {found['reason']}"


def _clean_up(lab: Laboratory, place: HostsPlace, report: Report) -> None:
    """All processes are ended; a failed run leaves its logs."""
    lab.network.heal()
    if report.good:
        try:
            place.heronpy("kill", place.name, "--cluster", "west").succeeded()
            place.nothing_is_left(SANDBOXES_GONE_SECS * report.wishes.patience)
        except AssertionError as error:
            report.wrong.append(f"at the end: {error}")
    place.close()
    for each in lab.workers:
        each.kill()
    if report.good:
        shutil.rmtree(place.path)
    else:
        with suppress(OSError):
            shutil.rmtree(place.path / "archives")
        report.folder = str(place.path)


def table(reports: Sequence[Report]) -> str:
    """The measured times, by fault and mode."""
    rows: dict[tuple[str, str], list[float]] = {}
    for report in reports:
        for each in report.measured:
            secs = float("inf") if each.flow_secs is None else each.flow_secs
            rows.setdefault((each.fault, report.wishes.mode), []).append(secs)
    lines = [f"{'fault':<22}{'mode':<20}{'runs':>5}{'flows again after, s':>24}{'limit':>7}"]
    for (fault, mode), found in rows.items():
        span = f"{min(found):.1f} to {max(found):.1f}"
        limit = FAULTS[fault].flow_secs_max
        lines.append(f"{fault:<22}{mode:<20}{len(found):>5}{span:>24}{limit:>7g}")
    return "\n".join(lines)
