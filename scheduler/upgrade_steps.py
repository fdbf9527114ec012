"""Steps of an engine upgrade: the containers of a topology are replaced, one at a time.

Each replacement starts after the previous container is proven: all instances are registered,
data flows and, under checkpoints, a checkpoint is complete. The topology master is last: it
verifies all others, and its restart never affects the data. After a failed recovery the container
is rolled back to the previous engine, and the upgrade ends.
"""

from collections.abc import Generator, Mapping
from typing import Any

from msgspec import Struct

from heron_core.errors import HeronError
from heron_core.plans import MASTER_CONTAINER, TopologyState
from heron_core.records import replace
from heron_core.stats import TopologyStats
from heron_core.typed_json import from_json, to_json
from heron_engine.scheduler.container.engines import (
    OTHERS,
    Choice,
    InstalledEngine,
)
from heron_engine.scheduler.operation_steps import (
    ANSWER_SECS,
    CannotStart,
    OperationProgress,
    OperationSteps,
    Service,
    Steps,
)

FLOW_SECS = 10.0
"""Longest wait for processed tuples after the return of a container; a source may be silent."""
UPGRADED, REPLACING = "upgraded", "replacing"
"""Keys of the result: finished containers, and the current container with its previous engine."""


class _Replacing(Struct, frozen=True):
    """A container during its replacement."""

    container: int
    before: Service
    """The previous process."""
    ran: InstalledEngine | None
    """The previous engine; None for the scheduler's engine."""


class Upgrade(Struct, frozen=True):
    """One upgrade of one topology."""

    steps: OperationSteps
    engine: InstalledEngine

    def run(self, result: Mapping[str, Any]) -> Steps:
        """`result`: progress of an earlier process."""
        done = list(result.get(UPGRADED, ()))
        order = [*sorted(self.steps.running_containers()), MASTER_CONTAINER]
        if not done and REPLACING not in result:
            yield from self._has_checkpoint()
        for at, container in enumerate(order, 1):
            if container in done:
                continue
            begun = result.get(REPLACING)
            if begun is not None and begun["container"] == container:
                replacing = from_json(_Replacing, begun, "the container to be replaced")
            else:
                replacing = yield from self._chosen(container)
                yield OperationProgress(result={REPLACING: to_json(replacing)})
            yield from self._replace(replacing, f"{at} of {len(order)}", done)
            done.append(container)
            note = f"{_named(container)} runs heronpy {self.engine.version} ({at} of {len(order)})"
            yield OperationProgress(note=note, result={UPGRADED: list(done)})
        self.steps.containers.choose(OTHERS, Choice(self.engine))
        return {}

    def _chosen(self, container: int) -> Generator[OperationProgress, None, _Replacing]:
        before = yield from self.steps.served(container)
        ran = self.steps.containers.choose(container, Choice(self.engine, on_trial=True))
        return _Replacing(container, before, ran.engine)

    def _replace(self, it: _Replacing, position: str, done: list[int]) -> Steps:
        """Replace and verify a container; HeronError after a rollback."""
        containers = self.steps.containers
        try:
            if self.steps.service(it.container) in (it.before, None):
                containers.stop(it.container)
            yield OperationProgress(f"waiting for {_named(it.container)} ({position})")
            yield from self.steps.back(it.container, it.before)
            self._check_version(it.container)
            yield from self._flows(it.container)
            yield from self._has_checkpoint()
        except HeronError as error:
            reason = self._reason(it.container, error)
            yield from self._roll_back(it)
            raise HeronError(self._rollback_text(it.container, reason, done)) from None
        containers.choose(it.container, Choice(self.engine))
        return {}

    def _check_version(self, container: int) -> None:
        stats = self._stats()
        now = None if stats is None else _version(stats, container)
        if now not in (None, self.engine.version):
            raise HeronError(f"it runs heronpy {now} instead: {self.engine} could not be started")

    def _flows(self, container: int) -> Steps:
        """Wait until tuples are processed, as far as available."""
        first, late_at = self._processed(), self.steps.clock() + FLOW_SECS
        while (now := self._processed()) is None or first is None or now <= first:
            first = first if first is not None else now
            stats = self._stats()
            if stats is not None and stats.state == TopologyState.PAUSED:
                break
            if self.steps.clock() > late_at:
                text = f"nothing was processed for {FLOW_SECS:.0f} s since {_named(container)} "
                yield OperationProgress(note=f"{text}is back: its sources may have nothing")
                break
            yield OperationProgress(f"waiting until data flows through {_named(container)}")
        return {}

    def _has_checkpoint(self) -> Steps:
        """Wait for a newly started and completed checkpoint, if enabled: a checkpoint involves each
        instance."""
        late_at = self.steps.clock() + self.steps.containers.back_secs
        while (stats := self._stats()) is None or not _is_released(stats):
            if self.steps.clock() > late_at:
                raise HeronError("not all instances have their state")
            yield OperationProgress("waiting until data flows")
        while stats.checkpoints is not None:
            try:
                for progress in self.steps.checkpoint():
                    waiting = progress.text.removeprefix("waiting for ")
                    yield replace(progress, text=f"waiting for a checkpoint: {waiting}")
                break
            except HeronError:  # the next attempt may succeed
                if self.steps.clock() > late_at:
                    raise
        return {}

    def _reason(self, container: int, error: HeronError) -> str:
        """Reason of a failed recovery; the instances' own reasons are preferred to a time-out."""
        if isinstance(error, CannotStart):
            return f"it cannot start ({error.reason})"
        stats = self._stats()
        if stats and stats.errors:
            return next(iter(stats.errors.values()))
        missing = self.steps.containers.waiting()
        return f"{error} ({missing})" if missing else str(error)

    def _roll_back(self, it: _Replacing) -> Generator[OperationProgress, None, None]:
        """Roll the container back to its previous engine and wait for the container."""
        failed = self.steps.service(it.container)
        self.steps.containers.choose(it.container, Choice(it.ran))
        self.steps.containers.stop(it.container)
        try:
            yield from self.steps.back(it.container, failed)
        except HeronError as error:
            yield OperationProgress(note=str(error))

    def _rollback_text(self, container: int, reason: str, done: list[int]) -> str:
        others = ", ".join(map(_named, done))
        rest = f"; upgraded before: {others}" if others else ""
        return (
            f"{_named(container)} of {self.steps.name} does not work with {self.engine}: {reason}. "
            f"It was rolled back to its previous version; the other containers are unchanged{rest}"
        )

    def _processed(self) -> int | None:
        stats = self._stats()
        if stats is None:
            return None
        return sum(each.executed + each.emitted for each in stats.components.values())

    def _stats(self) -> TopologyStats | None:
        return self.steps.client.try_stats(ANSWER_SECS)


def _is_released(stats: TopologyStats) -> bool:
    return stats.checkpoints is None or stats.checkpoints.released


def _version(stats: TopologyStats, container: int) -> str | None:
    if container == MASTER_CONTAINER:
        return stats.version
    found = stats.registered.get(container)
    return None if found is None else found.version


def _named(container: int) -> str:
    return "the topology master" if container == MASTER_CONTAINER else f"container {container}"
