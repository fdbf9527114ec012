"""Scenarios for testing a sink: sequences of steps."""

from collections.abc import Callable, Iterator

from heron_tester.sink_faults import FaultPlan
from heron_tester.tester import TopologyTester

SOURCE, SINK = "numbers", "sink"
BURST = 3
"""Tuples between two things that happen."""
RETRY_SECS = 60.0
"""Virtual: longer than any sink leaves its target alone."""


class Run:
    """One scenario in progress."""

    def __init__(self, name: str, tester: TopologyTester, plan: FaultPlan, first: int) -> None:
        self.name = name
        self.plan = plan
        self.tester = tester
        self.covered = first
        """Expect exactly the numbers below the limit to be visible."""

    @property
    def emitted(self) -> int:
        """Number after the newest emitted by the source."""
        (source,) = self.tester.component(SOURCE)
        return int(source.next)

    def burst(self) -> None:
        """Some tuples."""
        self.tester.run_spouts(BURST, SOURCE)

    def checkpoint(self) -> None:
        """Take a checkpoint; completion covers the emitted tuples."""
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


def killed_in_a_line(run: Run) -> Iterator[None]:
    """Dies in its first commit, at the planned line."""
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


def no_checkpoints(run: Run) -> Iterator[None]:
    """All is committed at the end."""
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
