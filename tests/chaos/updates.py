"""Updates of a topology while its processes are killed and stopped, and in quiet moments: new
numbers of instances, and new code."""

import random
import threading
import time
from collections.abc import Mapping, Set
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from heron_core.operations import OperationKind
from heron_core.plans import packing_from_json
from heron_core.state_tree import packing_path
from heron_core.stats import TopologyStats
from heron_engine.scheduler.operations import TopologyRequests, is_under_way
from tests.chaos.new_versions import Source, Version, concerned, next_version, text_of
from tests.process.process_support import GONE_SECS, Master, Place, Running

PARALLELISM_MAX_FACTOR = 2
"""A component gets between one instance and a multiple of the first parallelism."""
CALM_SECS = 40.0
"""A topology that has not got over the last fault by then is not waited for any longer."""
UPDATE_SECS = 100.0
"""Above the waits of an update for containers, checkpoint and instances in turn."""
ENDING_SECS = 20.0
"""Shortly before its end a run has no quiet update: finished processes end as well."""
POLL_SECS = 0.2
CALM_LOOKS = 5
"""Consecutive polls with equal processes."""
ASKER_SHARE = 0.25
"""Share of killed commands among the updates under faults."""
ASKER_SECS = (0.5, 6.0)
"""How long after its start: before it has asked, or while the update is under way."""

_never = threading.Event()


@dataclass(slots=True)
class Outcomes:
    """Outcomes of the updates of one kind."""

    done: int = 0
    aborted: int = 0
    """Refused (the last update is under way, the topology ends), or taken back."""
    orphaned: int = 0
    """Killed commands, whose answer is unknown."""
    in_quiet: int = 0
    """Completed updates without a fault meanwhile."""

    def __str__(self) -> str:
        return (
            f"{self.done} ({self.in_quiet} of them in quiet), aborted {self.aborted}, "
            f"asker killed {self.orphaned}"
        )


@dataclass(slots=True)
class Updated:
    """Outcomes of the updates of one run."""

    rescales: Outcomes = field(default_factory=Outcomes)
    changes: Outcomes = field(default_factory=Outcomes)
    broken: Outcomes = field(default_factory=Outcomes)
    """Changes to code with a failing start."""
    wrong: list[str] = field(default_factory=list)
    """A line for each process that wrongly ended or stayed, and for accepted code with a failing
    start."""
    reasons: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        refused = f"{self.broken.aborted} times ({self.broken.in_quiet} of them in quiet)"
        return (
            f"rescaled {self.rescales}; code changed {self.changes}; bad code refused {refused}; "
            f"{len(self.wrong)} pids wrong"
        )


@dataclass(frozen=True, slots=True)
class Update:
    """A requested update."""

    running: Running
    outcomes: Outcomes
    concerned: Set[str]
    """The components whose instances may end."""
    version: Version | None = None
    """The new code; None: a rescale."""

    @property
    def is_broken(self) -> bool:
        """Whether the code fails at its start."""
        return self.version is not None and self.version.broken is not None


class Updates:
    """The updates of one run, all of them drawn from its seed."""

    def __init__(
        self,
        place: Place,
        running: Running,
        name: str,
        tasks: Mapping[str, int],
        seed: int,
        source: Source | None = None,
    ) -> None:
        """`tasks`: first parallelism of scalable components; empty: without rescales. `source`:
        whose code is changed; None: without code changes."""
        self.found = Updated()
        self._place = place
        self._running = running
        self._name = name
        self._tasks = tasks
        self._source = source
        self._versions = {Version().name: Version()}
        self._version = Version()
        """The newest version known to run."""
        self._chance = random.Random(f"updates {seed}")
        self._begun: Update | None = None
        """The newest update with an unknown end."""

    def begin_one(self, is_quiet: bool = False) -> Update | None:
        """Request an update without a wait; None if an update is under way."""
        if self._begun is not None and self._begun.running.process.poll() is None:
            return None
        self.wait()
        changes_code = self._source is not None and (not self._tasks or self._chance.random() < 0.5)
        update = self._change_code() if changes_code else self._rescale()
        # Drawn in any case, so that a seed is a sequence of updates.
        dies, secs = self._chance.random() < ASKER_SHARE, self._chance.uniform(*ASKER_SECS)
        if dies and not is_quiet:
            killer = threading.Timer(secs, update.running.process.kill)
            killer.daemon = True
            killer.start()
        self._begun = update
        return update

    def _rescale(self) -> Update:
        component = self._chance.choice(sorted(self._tasks))
        most = self._tasks[component] * PARALLELISM_MAX_FACTOR
        words = ("--component-parallelism", f"{component}:{self._chance.randint(1, most)}")
        asker = self._place.start("update", self._name, *words)
        return Update(asker, self.found.rescales, {component})

    def _change_code(self) -> Update:
        assert self._source is not None
        before = self._version = self._version_now()
        version = next_version(self._source, before, len(self._versions), self._chance)
        file = self._place.path / version.name
        file.write_text(text_of(self._source, version), "utf-8")
        self._versions[version.name] = version
        asker = self._place.start("update", self._name, "--code", file, "--allow-non-restored")
        outcomes = self.found.changes if version.broken is None else self.found.broken
        return Update(asker, outcomes, concerned(self._source, before, version), version)

    def _version_now(self) -> Version:
        """By the plan in the state store; without a plan, the last known version."""
        store = self._place.store()
        try:
            found = store.get(packing_path(self._name))
        finally:
            store.close()
        if found is None:
            return self._version
        changed = packing_from_json(found).changed
        name = "" if changed is None else Path(changed.main_file).name
        return self._versions.get(name, Version())  # it runs from its first file else

    def wait(self) -> bool:
        begun, self._begun = self._begun, None
        if begun is None:
            return False
        try:
            ended = begun.running.wait(UPDATE_SECS)
        except AssertionError as error:
            self.found.wrong.append(f"an update goes on and on: {error}")
            begun.running.process.kill()
            ended = begun.running.wait()
        if ended.code < 0:
            begun.outcomes.orphaned += 1
        elif ended.code == 0:
            begun.outcomes.done += 1
        else:
            begun.outcomes.aborted += 1
        self.found.reasons.append((ended.out + ended.err).strip())
        if ended.code == 0 and begun.is_broken:
            self.found.wrong.append(f"{begun.version} cannot begin, and was taken")
        return ended.code == 0

    def in_quiet(self, until: float) -> None:
        """An update without faults, if the topology is calm soon: unconcerned processes stay.
        `until`: when the run is near its end."""
        self.wait()
        until -= ENDING_SECS
        before = self._calm(min(until, time.monotonic() + CALM_SECS))
        if before is None or (update := self.begin_one(is_quiet=True)) is None:
            return
        if not self.wait() and not update.is_broken:
            return
        update.outcomes.in_quiet += 1
        if self._running.process.poll() is None and time.monotonic() < until:
            self.found.wrong += self._wrong(update, before)

    def _wrong(self, update: Update, before: Mapping[str, int]) -> list[str]:
        """A line for each process of `before` in a wrong state now."""
        now = self._pids()
        its = {title for title in before if _component(title) in update.concerned}
        # An empty container ends with its stream manager.
        kept = {title: pid for title, pid in before.items() if title not in its}
        wrong = [
            f"{title} ended by an update in quiet, of {', '.join(sorted(update.concerned))}"
            for title, pid in kept.items()
            if now.get(title, pid if _component(title) is None else 0) != pid
        ]
        if update.version is None:
            # Only processes scaled away may end.
            return wrong + [
                f"{title} is another process after it was scaled"
                for title in its
                if now.get(title, before[title]) != before[title]
            ]
        if update.version.broken is None:
            wrong += self._not_replaced({title: before[title] for title in its})
        elif self._version_now() != self._version:
            wrong.append(f"{update.version} was not taken, and {self._version} is gone")
        return wrong

    def _not_replaced(self, old: Mapping[str, int]) -> list[str]:
        """A line for each process that still runs by the old code a while after the update."""
        deadline = time.monotonic() + GONE_SECS
        while left := old.items() & self._pids().items():
            if time.monotonic() > deadline:
                return [f"{title} runs on though its code was changed" for title, _ in left]
            _never.wait(POLL_SECS)
        return []

    def _calm(self, until: float) -> dict[str, int] | None:
        """The processes after recovery from all faults; None after the time limit."""
        before: dict[str, int] = {}
        looks = 0
        with Master(self._place.store_url, self._name) as master:
            while time.monotonic() < until and self._running.process.poll() is None:
                now, stats = self._pids(), master.stats()
                is_same = now == before and stats is not None and self._is_calm(stats, now)
                looks, before = looks + 1 if is_same else 0, now
                if looks == CALM_LOOKS:
                    return before
                _never.wait(POLL_SECS)
        return None

    def _is_calm(self, stats: TopologyStats, pids: Mapping[str, int]) -> bool:
        once, update = stats.checkpoints, stats.update
        wanted = sum(each.instances for each in stats.components.values())
        found = sum(" task " in title for title in pids)
        return (
            found == wanted
            and stats.containers == stats.containers_expected
            and any(title.startswith("heron: operations") for title in pids)
            and (once is None or once.released)
            and (update is None or not update.under_way)
            and not self._is_something_asked()
        )

    def _is_something_asked(self) -> bool:
        """Also requests unknown to the master, perhaps of a dead command."""
        store = self._place.store()
        try:
            return is_under_way(TopologyRequests(store, self._name).all(), frozenset(OperationKind))
        finally:
            store.close()

    def _pids(self) -> dict[str, int]:
        found = {}
        for each in self._running.processes():
            with suppress(psutil.Error):
                title = " ".join(each.cmdline()).rstrip()
                if title.startswith("heron: "):
                    found[title] = each.pid
        return found


def _component(title: str) -> str | None:
    """Component of the instance with this title; None for all further processes."""
    return title.removeprefix("heron: ").partition("[")[0] if " task " in title else None
