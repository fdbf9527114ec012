"""Whether a two-phase sink is exact: it is killed at every moment, with a plain oracle beside it.

Each scenario is a topology of its own in a TopologyTester: a source of the numbers 0, 1, 2, … with
its position in the checkpoint, and the sink. All of them write into the same target one after the
other, each with numbers of its own, as runs of a user would. After each step what can be seen in
the target is compared with what completed checkpoints cover.
"""

import sys
import sysconfig
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from typing import Any

from heron_core import config as keys
from heron_core.topology import (
    DEFAULT_STREAM,
    ComponentSpec,
    GroupingKind,
    GroupingSpec,
    InputSpec,
    StreamSpec,
    TopologySpec,
)
from heron_tester import fixtures
from heron_tester.errors import TesterError
from heron_tester.faults import Killed
from heron_tester.tester import TopologyTester
from heronpy_compat.api.spout.spout import Spout
from heronpy_compat.api.state.stateful_component import StatefulComponent
from heronpy_compat.connectors.two_phase import TwoPhaseSink

Row = Callable[[int], Sequence[Any]]
Written = Callable[[], Iterable[int]]

SOURCE, SINK = "numbers", "sink"
BURST = 3
"""Tuples between two things that happen."""
RETRY_SECS = 60.0
"""Virtual: longer than any sink leaves its target alone."""
NUMBERS_SHOWN = 5
_LIBRARIES = tuple(
    sysconfig.get_path(each) for each in ("stdlib", "platstdlib", "purelib", "platlib")
)


class Plan:
    """What is to go wrong in the sink: it is asked at each of its calls."""

    def __init__(self) -> None:
        self.kill_at: str | None = None
        """ "before pre_commit", "after pre_commit", "before commit", "after commit", once."""
        self.kill_in_line: int | None = None
        """Which of the lines that a commit comes to it dies at, from 1 on; those of a loop once."""
        self.raise_in_commits = 0
        """So many commits fail."""
        self.fails_checkpoint = False
        """Whether another component cannot save its state."""
        self.was_killed = False
        self._seen: set[tuple[str, int]] = set()

    def at(self, moment: str) -> None:
        """A moment has come."""
        if self.kill_at == moment:
            self.kill_at, self.was_killed = None, True
            raise Killed

    def committing(self) -> None:
        """A commit begins."""
        if self.raise_in_commits:
            self.raise_in_commits -= 1
            raise OSError("the target takes no commit, says the test")

    @contextmanager
    def lines(self) -> Iterator[None]:
        """While a commit runs, the first one: die at the line that was chosen."""
        if self.kill_in_line is None:
            yield
            return
        before = sys.gettrace()
        sys.settrace(self._trace)
        try:
            yield
        finally:
            sys.settrace(before)
            self.kill_in_line = None

    def _trace(self, frame: Any, event: str, argument: Any) -> Any:
        if frame.f_code.co_filename.startswith(_LIBRARIES):
            return None
        if frame.f_globals.get("__name__") == __name__:
            return None
        if event == "line":
            self._seen.add((frame.f_code.co_filename, frame.f_lineno))
            if len(self._seen) == self.kill_in_line:
                self.was_killed = True
                raise Killed
        return self._trace


class Numbers(Spout, StatefulComponent):
    """Emits rows of numbers from a first one on, and goes on where its checkpoint was."""

    first: int
    plan: Plan
    row: Row

    def init_state(self, stateful_state: Any) -> None:
        """Keep the state."""
        self.state = stateful_state

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        """Go to the position."""
        self.next: int = self.state.get("next") or self.first

    def pre_save(self, checkpoint_id: Any) -> None:
        """Save the position, or fail the checkpoint."""
        if self.plan.fails_checkpoint:
            self.plan.fails_checkpoint = False
            raise RuntimeError("this checkpoint fails, says the test")
        self.state.put("next", self.next)

    def next_tuple(self) -> None:
        """One number."""
        self.emit(list(type(self).row(self.next)), tup_id=self.next)
        self.next += 1


def _watched(sink: type[TwoPhaseSink], plan: Plan) -> type[TwoPhaseSink]:
    """The same sink, which dies and fails as planned."""

    class Watched(sink):  # type: ignore[misc, valid-type]
        def pre_commit(self, transaction: Any, transaction_id: Any) -> Any:
            plan.at("before pre_commit")
            prepared = super().pre_commit(transaction, transaction_id)
            plan.at("after pre_commit")
            return prepared

        def commit(self, prepared: Any, transaction_id: Any) -> None:
            plan.at("before commit")
            plan.committing()
            with plan.lines():
                super().commit(prepared, transaction_id)
            plan.at("after commit")

    return Watched


class Run:
    """One scenario under way."""

    def __init__(self, name: str, tester: TopologyTester, plan: Plan, first: int) -> None:
        self.name = name
        self.plan = plan
        self.tester = tester
        self.covered = first
        """The numbers below this one are to be seen."""

    @property
    def emitted(self) -> int:
        """The number after the newest one that the source has emitted."""
        (source,) = self.tester.component(SOURCE)
        return int(source.next)

    def burst(self) -> None:
        """Some tuples."""
        self.tester.run_spouts(BURST, SOURCE)

    def checkpoint(self) -> None:
        """Take a checkpoint; what is emitted is covered by it, if it is complete."""
        emitted = self.emitted
        if self.tester.checkpoint():
            self.covered = emitted

    def crash(self, component: str = SINK) -> None:
        """As kill -9."""
        self.tester.crash(component)

    def finish(self) -> None:
        """The end of the data."""
        self.covered = self.emitted
        self.tester.finish()


class _Trial:
    """All scenarios with one sink and one target."""

    def __init__(
        self,
        sink: type[TwoPhaseSink],
        fields: Sequence[str],
        row: Row,
        written: Written,
        config: Mapping[str, Any],
    ) -> None:
        self._sink, self._fields, self._row = sink, tuple(fields), row
        self._written, self._config = written, dict(config)
        self._expected: list[int] = []
        self._next = 1

    def play(
        self, name: str, scenario: "Scenario", mode: str = keys.EFFECTIVELY_ONCE, line: int = 0
    ) -> bool:
        """Run a scenario and compare after each of its steps; whether the sink was killed."""
        plan = Plan()
        plan.kill_in_line = line or None
        first = self._next
        source = type("Source", (Numbers,), {"first": first, "plan": plan, "row": self._row})
        classes = {"ConformanceSource": source, "ConformanceSink": _watched(self._sink, plan)}
        fixtures.tested_classes.update(classes)
        try:
            with TopologyTester(self._topology(mode)) as tester:
                run = Run(name, tester, plan, first)
                for _ in scenario(run):
                    self._compare(run, first)
                    self._next = max(self._next, run.emitted)
                for component in (SOURCE, SINK):
                    tester.errors(component)
            self._compare(run, first)
        finally:
            for each in classes:
                del fixtures.tested_classes[each]
        self._expected += range(first, run.covered)
        return plan.was_killed

    def _topology(self, mode: str) -> TopologySpec:
        outputs = (StreamSpec(DEFAULT_STREAM, self._fields),)
        read = InputSpec(SOURCE, DEFAULT_STREAM, GroupingSpec(GroupingKind.SHUFFLE))
        path = fixtures.__name__
        components = (
            ComponentSpec(SOURCE, True, f"{path}.ConformanceSource", 1, outputs),
            ComponentSpec(SINK, False, f"{path}.ConformanceSink", 1, (), (read,), self._config),
        )
        return TopologySpec("conformance", components, {keys.RELIABILITY_MODE: mode})

    def _compare(self, run: Run, first: int) -> None:
        expected = Counter([*self._expected, *range(first, run.covered)])
        found = Counter(self._written())
        if found == expected:
            return
        missing, more = expected - found, found - expected
        twice = [number for number in more if number in expected]
        early = [number for number in more if number not in expected]
        kinds = {"missing": list(missing), "more than once": twice, "seen too early": early}
        text = "; ".join(f"{kind}: {_some(each)}" for kind, each in kinds.items() if each)
        raise TesterError(f"{self._sink.__name__} is not exact where {run.name}: {text}")


def _some(numbers: list[int]) -> str:
    shown = ", ".join(map(str, sorted(numbers)[:NUMBERS_SHOWN]))
    return (
        f"{shown} and {len(numbers) - NUMBERS_SHOWN} more"
        if len(numbers) > NUMBERS_SHOWN
        else shown
    )


Scenario = Callable[[Run], Iterator[None]]
"""Does one step after the other; after each the target is looked at."""


def _killed_while_it_writes(run: Run, component: str = SINK) -> Iterator[None]:
    for _ in range(2):
        run.burst()
        yield
        run.checkpoint()
        yield
        run.burst()
        run.crash(component)
        yield


def _the_source_is_killed(run: Run) -> Iterator[None]:
    return _killed_while_it_writes(run, SOURCE)


def _killed_at(moment: str) -> Scenario:
    def scenario(run: Run) -> Iterator[None]:
        run.burst()
        run.checkpoint()
        yield
        run.burst()
        run.plan.kill_at = moment
        run.checkpoint()
        yield
        run.burst()
        yield
        run.checkpoint()
        yield

    return scenario


def _killed_in_a_line(run: Run) -> Iterator[None]:
    run.burst()
    run.checkpoint()
    yield
    run.burst()
    run.checkpoint()


def _prepared_in_vain(run: Run) -> Iterator[None]:
    run.burst()
    run.plan.fails_checkpoint = True
    run.checkpoint()
    yield
    run.burst()
    run.crash()
    yield
    run.burst()
    run.checkpoint()
    yield


def _the_next_checkpoint_commits_both(run: Run) -> Iterator[None]:
    run.burst()
    run.plan.fails_checkpoint = True
    run.checkpoint()
    yield
    run.burst()
    run.checkpoint()
    yield


def _the_same_commit_comes_again_and_again(run: Run) -> Iterator[None]:
    run.burst()
    run.checkpoint()
    for _ in range(3):
        run.burst()
        run.crash()
        yield
    run.burst()
    run.checkpoint()
    yield


def _a_commit_fails_and_is_repeated(run: Run) -> Iterator[None]:
    before = run.covered
    run.burst()
    run.plan.raise_in_commits = 2
    run.checkpoint()
    covered, run.covered = run.covered, before
    yield
    run.covered = covered
    run.tester.advance(RETRY_SECS)
    yield


def _killed_while_a_commit_fails(run: Run) -> Iterator[None]:
    run.burst()
    run.plan.raise_in_commits = 1
    run.checkpoint()
    run.burst()
    run.crash()
    yield
    run.burst()
    run.checkpoint()
    yield


def _the_end_of_the_data(run: Run) -> Iterator[None]:
    run.burst()
    run.checkpoint()
    run.burst()
    yield
    run.finish()
    yield


def _killed_after_the_end(run: Run) -> Iterator[None]:
    run.burst()
    run.checkpoint()
    run.burst()
    run.finish()
    yield
    run.crash()
    yield
    run.burst()
    run.finish()
    yield


def _no_checkpoints(run: Run) -> Iterator[None]:
    run.burst()
    run.finish()
    yield


_MOMENTS = ("before pre_commit", "after pre_commit", "before commit", "after commit")
SCENARIOS: dict[str, Scenario] = {
    "it is killed while it writes": _killed_while_it_writes,
    "its source is killed": _the_source_is_killed,
    **{f"it is killed {moment}": _killed_at(moment) for moment in _MOMENTS},
    "its checkpoint fails after pre_commit, and it is killed": _prepared_in_vain,
    "its checkpoint fails after pre_commit, and the next one does not":
        _the_next_checkpoint_commits_both,
    "the same transaction is committed again": _the_same_commit_comes_again_and_again,
    "a commit fails": _a_commit_fails_and_is_repeated,
    "it is killed while its commits fail": _killed_while_a_commit_fails,
    "the data ends": _the_end_of_the_data,
    "it is killed after the end of the data": _killed_after_the_end,
}  # fmt: skip


def check_two_phase_sink(
    sink: type[TwoPhaseSink],
    written: Written,
    *,
    fields: Sequence[str] = ("number",),
    row: Row = lambda number: [number],
    config: Mapping[str, Any] | None = None,
    other_modes: bool = True,
) -> None:
    """TesterError unless what `sink` writes is exact, whenever it is killed.

    Tuples are `row(number)` with the fields `fields`, for 1, 2, 3, …; `written` returns the numbers
    of what others can see in the target now, which is empty at first; `config` is the sink's. In
    `commit` it dies at each line in turn, of your code and what it calls except libraries. With
    `other_modes` it is also run without checkpoints, to the end of the data.
    """
    trial = _Trial(sink, fields, row, written, config or {})
    for name, scenario in SCENARIOS.items():
        trial.play(name, scenario)
    for line in count(1):
        name = f"it is killed at line {line} of a commit"
        if not trial.play(name, _killed_in_a_line, line=line):
            break
    for mode in (keys.ATLEAST_ONCE, keys.ATMOST_ONCE) if other_modes else ():
        trial.play(f"the mode is {mode}", _no_checkpoints, mode)
