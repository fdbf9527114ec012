"""Base of the testers of topologies and of components: one cluster and its journal."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

from heron_core.errors import UsageError
from heron_core.topology import TopologySpec
from heron_core.validation import choices
from heron_io.imports import put_on_search_path
from heron_tester.clock import PatchedTime, VirtualClock
from heron_tester.cluster import TesterCluster, packed
from heron_tester.errors import TesterError
from heron_tester.faults import Faults
from heron_tester.instance import SharedContext, TesterInstance
from heron_tester.records import Journal, Problem
from heron_tester.run_settings import RunSettings
from heron_tester.sources import own_search_path

PROBLEMS_SHOWN = 3


class TesterEngine:
    """A running cluster, its journal, and virtual time for user code."""

    def __init__(self, make_topology: Callable[[], TopologySpec], settings: RunSettings) -> None:
        self.seed = settings.settled_seed()
        self.settings = settings
        self.clock = VirtualClock(settings.start_time)
        self.journal = Journal()
        self.faults = Faults()
        self._patched = PatchedTime(self.clock)
        self._open = ExitStack()
        self._open.enter_context(own_search_path())
        try:
            topology = self.topology = make_topology()
            put_on_search_path(topology.search_paths)
            shared = SharedContext(
                topology, packed(topology), self.clock, self._patched, self.journal, self.faults
            )
            with self.running():
                self.cluster = TesterCluster(
                    shared, self.seed, settings.order == "random", settings.steps_max,
                    settings.wait_secs,
                )  # fmt: skip
        except BaseException:
            self._open.close()
            raise

    @contextmanager
    def running(self) -> Iterator[None]:
        """While user code runs: the time module's functions read the virtual clock."""
        if not self.settings.patch_time:
            yield
            return
        with self._patched.patched():
            yield

    def instances(self, component: str, task: int | None = None) -> list[TesterInstance]:
        """The instances of a component in order of their task ids, or the one of `task`."""
        self.check(component)
        tasks = self.cluster.shared.packing.tasks_of[component]
        if task is None:
            return [self.cluster.instances[each] for each in tasks]
        if task not in tasks:
            raise UsageError(f"{component} has no task {task}: its tasks are {tasks}")
        return [self.cluster.instances[task]]

    def check(self, component: str) -> None:
        """UsageError unless the topology has that component."""
        if component not in self.topology.by_name:
            hint = choices("components", component, self.topology.by_name)
            raise UsageError(f"the topology has no component {component!r}; {hint}")

    def close(self) -> None:
        """The last calls of user code; then everything is as it was before."""
        try:
            with self.running():
                self.cluster.close()
        finally:
            self._open.close()

    def explain(self, error: BaseException) -> None:
        """Add a note on how to repeat the run, and the components' exceptions, to the exception
        that ends a test.
        """
        how = f"order={self.settings.order!r}, seed={self.seed}"
        error.add_note(f"tester of {self.topology.name}: {how}")
        for problem in self.journal.unseen()[:PROBLEMS_SHOWN]:
            if problem.error is not error:
                error.add_note(str(problem))

    def raise_unseen(self) -> None:
        """TesterError for exceptions of user code, or a loss that ends a run INCOMPLETE, if the
        test has not looked at the errors.
        """
        unseen = self.journal.unseen() or self._losses()
        if unseen:
            more = f"\n(and {len(unseen) - 1} more)" if len(unseen) > 1 else ""
            raise TesterError(
                f"{unseen[0]}{more}\n(a test that expects this looks at"
                f" tester.errors({unseen[0].component!r}))"
            )

    def _losses(self) -> list[Problem]:
        """What was told of lost data by components whose problems the test has not asked for."""
        instances = self.cluster.instances.values()
        counts = ((instance.name, instance.driver.metrics) for instance in instances)
        lost = {
            name
            for name, numbers in counts
            if numbers.undeclared or numbers.callback_errors or numbers.malformed
        }
        unseen = lost - self.journal.seen
        return [
            problem
            for problem in self.journal.problems
            if problem.component in unseen and not problem.provoked
        ]

    def metrics(self, component: str, task: int | None = None) -> dict[str, Any]:
        """Counters summed over the instances, and the user's own metrics since the last look."""
        total: dict[str, Any] = {}
        for instance in self.instances(component, task):
            report = instance.driver.statistics()
            _add(total, {name: getattr(report, field) for name, field in COUNTERS.items()})
            registered = instance.context.metrics.items()
            user = {name: metric.get_value_and_reset() for name, (metric, _) in registered}
            _add(total, {"user": user})
        return total


COUNTERS: Mapping[str, str] = {
    "emitted": "emitted_by_stream",
    **{
        name: name
        for name in (
            "executed", "acked", "failed", "expired", "ticks", "errors", "undeclared", "pending",
        )
    },
}  # fmt: skip
"""What a test may look at -> the field of a report."""


def _add(total: dict[str, Any], more: Mapping[str, Any]) -> None:
    for name, value in more.items():
        if isinstance(value, Mapping):
            _add(total.setdefault(name, {}), value)
        elif isinstance(value, (int, float)) and name in total:
            total[name] += value
        else:
            total[name] = value
