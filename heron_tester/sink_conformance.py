"""Check for exactness of a two-phase sink, killed at every moment, against a plain oracle.

Each scenario is a separate topology in a TopologyTester: a source of the numbers 0, 1, 2, … with
its position in the checkpoint, and the sink. All scenarios write into one target in turn, each with
its own numbers, like successive runs of a user. After each step the visible content of the target
is compared with the numbers covered by completed checkpoints.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import count
from typing import Any

from heron_connectors.two_phase import TwoPhaseSink
from heron_core import config as keys
from heron_core.naming import first_of
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
from heron_tester.sink_faults import FaultPlan, Numbers, Row, watched
from heron_tester.sink_scenarios import (
    SCENARIOS,
    SINK,
    SOURCE,
    Run,
    Scenario,
    killed_in_a_line,
    no_checkpoints,
)
from heron_tester.tester import TopologyTester

Written = Callable[[], Iterable[int]]

NUMBERS_SHOWN = 5


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
        self, name: str, scenario: Scenario, mode: str = keys.EFFECTIVELY_ONCE, line: int = 0
    ) -> bool:
        """Run a scenario and compare after each of its steps; whether the sink was killed."""
        plan = FaultPlan()
        plan.kill_in_line = line or None
        first = self._next
        source = type("Source", (Numbers,), {"first": first, "plan": plan, "row": self._row})
        classes = {"ConformanceSource": source, "ConformanceSink": watched(self._sink, plan)}
        fixtures.tested_classes.update(classes)
        try:
            with TopologyTester(self._topology(mode)) as tester:
                run = Run(name, tester, plan, first)
                for _ in scenario(run):
                    self._compare(run, first)
                    self._next = max(self._next, run.emitted)
                # A target of keys has one row for a number, however many scenarios write it.
                self._next = max(self._next, run.emitted)
                errors = [*tester.errors(SOURCE), *tester.errors(SINK)]
            self._compare(run, first)
            if run.covered == first:
                why = f": {errors[-1].text.strip().splitlines()[-1]}" if errors else ""
                raise TesterError(
                    f"{self._sink.__name__} let no checkpoint be complete where {name}, so nothing "
                    f"was tried{why}"
                )
        finally:
            for kind in classes:
                del fixtures.tested_classes[kind]
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
        written = Counter(self._written())
        if written == expected:
            return
        missing, more = expected - written, written - expected
        twice = [number for number in more if number in expected]
        early = [number for number in more if number not in expected]
        kinds = {"missing": list(missing), "more than once": twice, "seen too early": early}
        text = "; ".join(
            f"{kind}: {first_of(map(str, sorted(numbers)), NUMBERS_SHOWN)}"
            for kind, numbers in kinds.items()
            if numbers
        )
        raise TesterError(f"{self._sink.__name__} is not exact where {run.name}: {text}")


def check_two_phase_sink(
    sink: type[TwoPhaseSink],
    written: Written,
    *,
    fields: Sequence[str] = ("number",),
    row: Row = lambda number: [number],
    config: Mapping[str, Any] | None = None,
    each_line: bool = True,
    other_modes: bool = True,
) -> None:
    """TesterError unless the output of `sink` is exact at every kill.

    Tuples are `row(number)` with the fields `fields`, for 1, 2, 3, …; `written` returns the numbers
    visible in the target, initially empty; `config` is the sink's. The sink is killed before and
    after `commit` and, with `each_line`, at each line of the commit in turn, in your code and its
    callees except libraries. `other_modes` adds a run without checkpoints, to the end of the data.
    """
    trial = _Trial(sink, fields, row, written, config or {})
    for name, scenario in SCENARIOS.items():
        trial.play(name, scenario)
    for line in count(1) if each_line else ():
        name = f"it is killed at line {line} of a commit"
        if not trial.play(name, killed_in_a_line, line=line):
            break
    for mode in (keys.ATLEAST_ONCE, keys.ATMOST_ONCE) if other_modes else ():
        trial.play(f"the mode is {mode}", no_checkpoints, mode)
