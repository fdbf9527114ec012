"""TopologyTester: a whole topology in one process, step by step, on a virtual clock."""

from collections.abc import Mapping, Sequence
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any

from heron_core import config as keys
from heron_core.errors import UsageError
from heron_core.topology import DEFAULT_STREAM
from heron_tester.clock import START_TIME
from heron_tester.engine import TesterEngine
from heron_tester.faults import CRASH, DROP, FAIL, RAISE, InputFault, When
from heron_tester.records import Emitted, LogLine, Problem, Received, records_of
from heron_tester.run_settings import STEPS_MAX, WAIT_SECS, RunSettings
from heron_tester.sources import topology_of
from heron_tester.watermark_step import advance_watermark

if TYPE_CHECKING:
    from heron_tester.local_drpc import LocalDRPC


class TopologyTester:
    """Runs a topology for a test: what you feed is delivered by `run`, time passes by `advance`.

        with TopologyTester(WordCount) as tester:
            tester.feed("lines", ["storm heron storm"], tup_id=1)
            tester.run()
            assert tester.values("count")[-1] == ["storm", 2]
            assert tester.acked("lines") == [1]

    `source` is a Topology class (heronpy's or streamparse's), a TopologyBuilder, a TopologySpec,
    or the path of a Python or Flux file; `topology` picks one of a file's, `environment` is
    streamparse's. `config` is laid over the topology's as the command line's would be.

    Every part is the engine's own code, except for processes and sockets. An exception of user code
    fails its tuple, as always; the end of the `with` block raises the exception unless the test has
    looked at the component's `errors`.
    """

    __test__ = False

    def __init__(
        self,
        source: Any,
        *,
        config: Mapping[str, Any] | None = None,
        topology: str | None = None,
        environment: str | None = None,
        order: str = "fifo",
        seed: int | None = None,
        patch_time: bool = True,
        start_time: float = START_TIME,
        steps_max: int = STEPS_MAX,
        wait_secs: float = WAIT_SECS,
        drpc: "LocalDRPC | None" = None,
    ) -> None:
        """`drpc`: whose requests the topology answers (docs/TESTING.md)."""
        self._drpc = drpc
        self._settings = RunSettings(order, seed, patch_time, start_time, steps_max, wait_secs)
        self._source = (source, topology, environment, dict(config or {}))
        self._running: TesterEngine | None = None
        self._turns: dict[str, int] = {}

    def __enter__(self) -> "TopologyTester":
        self._running = TesterEngine(partial(topology_of, *self._source), self._settings)
        if self._drpc is not None:
            self._drpc.attach(self)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        engine = self._engine
        try:
            engine.close()
        finally:
            self._running = None
            if self._drpc is not None:
                self._drpc.attach(None)
            if error is not None:
                engine.explain(error)
        if error is None:
            engine.raise_unseen()

    @property
    def _engine(self) -> TesterEngine:
        if self._running is None:
            raise UsageError(
                "a TopologyTester works inside of `with TopologyTester(...) as tester`"
            )
        return self._running

    # --- what happens -------------------------------------------------------------------------

    def feed(
        self,
        component: str,
        values: Sequence[Any],
        tup_id: Any = None,
        *,
        stream: str = DEFAULT_STREAM,
        task: int | None = None,
        direct_task: int | None = None,
        replays: int = 0,
    ) -> None:
        """Emit a tuple as if `component` had; its instances take turns unless `task` names one.

        With a `tup_id` a spout's tuple is tracked: `acked` and `failed` report the outcome. The
        spout's own ack and fail are not called, because the spout does not know the tuple; a failed
        tuple is fed again up to `replays` times. UsageError for a bolt with a `tup_id`.
        """
        engine = self._engine
        engine.check(component)
        if tup_id is not None and not engine.topology.by_name[component].is_spout:
            raise UsageError(f"{component} is a bolt: only a spout's tuples have a tup_id")
        instances = engine.instances(component, task)
        turn = self._turns.get(component, 0)
        self._turns[component] = turn + 1
        chosen = instances[turn % len(instances)].task

        def outcome(acked: bool) -> None:
            nonlocal replays
            if not acked and replays > 0:
                replays -= 1
                emit()

        def emit() -> None:
            with engine.running():
                engine.cluster.instances[chosen].feed(values, tup_id, stream, direct_task, outcome)

        emit()

    def run(self, wait_secs: float | None = None) -> None:
        """Deliver until nothing is left to do; time does not pass, spouts are not called.

        TesterError if work never ends. The call waits, in real time, for components' threads and
        child processes; `wait_secs` limits the wait for components that hold tuples back.
        """
        with self._engine.running():
            self._engine.cluster.settle(wait_secs)

    def run_spouts(self, calls: int | None = None, component: str | None = None) -> int:
        """Call next_tuple of each spout in turn, `calls` times, and deliver; returns the calls.

        Without `calls`, until each spout is finished or emits nothing. A spout with
        topology.max.spout.pending tuples under way is not called. UsageError for a bolt.
        """
        engine, total = self._engine, 0
        names = [component.name for component in engine.topology.components if component.is_spout]
        if component is not None:
            engine.check(component)
            if component not in names:
                raise UsageError(f"{component} is a bolt: only a spout has next_tuple")
            names = [component]
        with engine.running():
            rounds = 0
            while calls is None or rounds < calls:
                rounds, before = rounds + 1, len(engine.journal.emitted)
                calls_made = engine.cluster.call_spouts(names)
                # A tuple of an unread stream counts as emitted, too.
                emitted = any(calls_made) or len(engine.journal.emitted) > before
                total += len(calls_made)
                engine.cluster.settle()
                if not calls_made or (calls is None and not emitted):
                    break
        return total

    def advance(self, secs: float) -> None:
        """Let virtual time pass: ticks, windows, timers and message timeouts come in order."""
        with self._engine.running():
            self._engine.cluster.advance(secs)

    def advance_watermark(self, component: str, watermark_ms: int) -> None:
        """No event below `watermark_ms` is expected by a window bolt any more; and deliver."""
        with self._engine.running():
            advance_watermark(self._engine, component, watermark_ms)

    def finish(self) -> None:
        """The end of the data: each bolt's on_finish, in topological order, with deliveries."""
        with self._engine.running():
            self._engine.cluster.finish()

    def checkpoint(self) -> bool:
        """Take a checkpoint after processing the messages under way; returns whether the checkpoint
        is complete.

        It is not if a state cannot be saved (see `errors`), or if something crashes meanwhile. Only
        for topologies whose topology.reliability.mode is EFFECTIVELY_ONCE. UsageError in other
        modes.
        """
        checkpoints = self._engine.cluster.checkpoints
        if checkpoints is None:
            raise UsageError(
                f"checkpoint() needs config={{{keys.RELIABILITY_MODE!r}:"
                f" {keys.EFFECTIVELY_ONCE!r}}}: this topology takes no checkpoints"
            )
        with self._engine.running():
            return self._engine.cluster.checkpoint(checkpoints)

    # --- what goes wrong ----------------------------------------------------------------------

    def fail(self, component: str, when: When | None = None, times: int | None = 1) -> None:
        """Let a bolt fail its next input(s) for which `when(tup)` is true; times None: all."""
        self._fault(InputFault(FAIL, component, when, times))

    def raise_in(
        self, component: str, error: BaseException, when: When | None = None, times: int | None = 1
    ) -> None:
        """Let a bolt's process raise `error` at such inputs."""
        self._fault(InputFault(RAISE, component, when, times, error=error))

    def drop(
        self, source: str, component: str, when: When | None = None, times: int | None = 1
    ) -> None:
        """Lose such deliveries from `source` to `component`: tracked ones time out."""
        self._engine.check(source)
        self._fault(InputFault(DROP, component, when, times, source=source))

    def crash(
        self,
        component: str,
        task: int | None = None,
        when: When | None = None,
        times: int | None = 1,
    ) -> None:
        """Kill the component's instance(s) and start new ones, as `kill -9` would.

        At once, or with `when` at such an input: then the whole batch of the input is lost and
        fails. Processed tuples without an ack time out.

        A topology with checkpoints is restored from the last one as a whole: tuples under way are
        lost, and all components are recreated with their state at the checkpoint.
        """
        if when is not None:
            self._fault(InputFault(CRASH, component, when, times, task=task))
            return
        with self._engine.running():
            dying = [instance.task for instance in self._engine.instances(component, task)]
            self._engine.cluster.replace(*dying)

    def _fault(self, fault: InputFault) -> None:
        self._engine.check(fault.component)
        if self._engine.topology.by_name[fault.component].is_spout:
            raise UsageError(f"{fault.component} is a spout: only a bolt has inputs")
        self._engine.faults.add(fault)

    # --- what happened ------------------------------------------------------------------------

    def emitted(
        self, component: str, stream: str | None = None, task: int | None = None
    ) -> list[Emitted]:
        """What a component emitted, in order, on any stream and of any task unless named."""
        self._engine.check(component)
        records = records_of(self._engine.journal.emitted, component, task)
        return [each for each in records if stream in (None, each.stream)]

    def values(
        self, component: str, stream: str | None = None, task: int | None = None
    ) -> list[list[Any]]:
        """The values of `emitted`."""
        return [each.values for each in self.emitted(component, stream, task)]

    def received(
        self, component: str, source: str | None = None, task: int | None = None
    ) -> list[Received]:
        """What a bolt's process was called with, in order."""
        self._engine.check(component)
        records = records_of(self._engine.journal.received, component, task)
        return [each for each in records if source in (None, each.source)]

    def acked(self, component: str, task: int | None = None) -> list[Any]:
        """The tuple ids of a spout that are fully processed; of a bolt the tuples it acked."""
        return self._settled(component, task, True)

    def failed(self, component: str, task: int | None = None) -> list[Any]:
        """The tuple ids of a spout that failed or timed out; of a bolt the tuples it failed."""
        return self._settled(component, task, False)

    def _settled(self, component: str, task: int | None, acked: bool) -> list[Any]:
        self._engine.check(component)
        records = records_of(self._engine.journal.settled, component, task)
        return [each.what for each in records if each.acked is acked]

    def errors(self, component: str, task: int | None = None) -> list[Problem]:
        """Exceptions and error lines of a component; the call marks them as seen."""
        self._engine.check(component)
        self._engine.journal.seen.add(component)
        return records_of(self._engine.journal.problems, component, task)

    def logs(self, component: str, task: int | None = None) -> list[LogLine]:
        """What a component logged."""
        self._engine.check(component)
        return records_of(self._engine.journal.lines, component, task)

    def component(self, name: str) -> list[Any]:
        """The user's objects of a component, in order of their task ids."""
        return [each.users_object for each in self._engine.instances(name)]

    def tasks(self, component: str) -> list[int]:
        """The task ids of a component."""
        return [each.task for each in self._engine.instances(component)]

    def metrics(self, component: str, task: int | None = None) -> dict[str, Any]:
        """Counters summed over the instances: executed, emitted (by stream), acked, failed, …

        Under "user" are the registered metrics, each since the last look, as Heron reads them.
        """
        return self._engine.metrics(component, task)

    @property
    def seed(self) -> int:
        """Seed of all random choices."""
        return self._engine.seed

    @property
    def now(self) -> float:
        """What time.time() says to user code."""
        return self._engine.clock.time()
