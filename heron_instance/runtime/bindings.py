"""What a component's emit, ack, fail and finish lead to: composed here, given to the adapter.

From the inside out: the collector's function, what the environment puts around it (the tester's
watch), and the task hooks. Without the last two a component has the collector's closure itself.
"""

import logging
import threading
from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn

from heron_connectors.replay_queue import REPLAYS_OVER
from heron_core.algorithms.event_windows.values import NO_WATERMARK
from heron_core.component import BoltBindings, Emit, SpoutBindings
from heron_core.dead_letters import is_system
from heron_core.errors import ComponentError
from heron_instance.emit.collector import BoltCollector, SpoutCollector
from heron_instance.emit.dead_letters import LetterFault
from heron_instance.input.driver import ComponentDriver
from heron_instance.input.spout import SpoutDriver
from heron_instance.runtime.environment import InstanceEnvironment
from heron_instance.runtime.hooks import TaskHooks
from heron_instance.runtime.letters import abandon_emitted, abandon_rows
from heron_instance.runtime.unread import dropping_emit, undeclared_text


class DriverCalls:
    """Requests of a component to its driver, which is created later: until then errors are only
    logged, and the end of a spout is recorded."""

    def __init__(self, logger: logging.Logger) -> None:
        self._logger = logger
        self._driver: ComponentDriver | None = None
        self._spout: SpoutDriver | None = None
        self._finished_early = False
        self._early_watermark_ms = NO_WATERMARK
        self._dropping = threading.Lock()
        self._dropped_early = 0

    def attach(self, driver: ComponentDriver) -> None:
        """From here on errors are reported to the master as well."""
        with self._dropping:
            self._driver = driver
            driver.metrics.undeclared += self._dropped_early
        if isinstance(driver, SpoutDriver):
            self._spout = driver
            driver.advance_watermark(self._early_watermark_ms)
            if self._finished_early:
                driver.finish()

    def raised(self, where: str) -> None:
        """See Bindings."""
        if self._driver is None:
            self._logger.exception(where)
        else:
            self._driver.user_raised(where)

    def raised_beside(self, where: str) -> None:
        """Like `raised`, for a call that cannot be undone."""
        if self._driver is None:
            self._logger.exception(where)
        else:
            self._driver.raised_beside(where)

    def record_error(self, what: str, text: str) -> None:
        """See Bindings."""
        if self._driver is None:
            self._logger.error("%s:\n%s", what, text)
        else:
            self._driver.record_error(what, text)

    def drop_undeclared(self, component: str) -> None:
        """A bolt that declares no outputs has emitted a tuple, in any thread: the first one is an
        error of the component, and each is counted."""
        with self._dropping:
            if self._driver is None:
                is_first, self._dropped_early = not self._dropped_early, self._dropped_early + 1
            else:
                metrics = self._driver.metrics
                is_first, metrics.undeclared = not metrics.undeclared, metrics.undeclared + 1
        if is_first:
            self.record_error("tuples are dropped", undeclared_text(component))

    def record_loss(self, what: str, text: str) -> None:
        """See Bindings."""
        self.record_error(what, text)
        if self._driver is not None:
            self._driver.metrics.callback_errors += 1

    def leave(self, why: str) -> NoReturn:
        """See Bindings."""
        if self._driver is not None:
            self._driver.leave(why)
        raise ComponentError(why)

    def finish(self) -> None:
        """See SpoutBindings."""
        if self._spout is None:
            self._finished_early = True
        else:
            self._spout.finish()

    def reopen(self) -> None:
        """See SpoutBindings."""
        self._finished_early = False
        if self._spout is not None:
            self._spout.finished = False

    def abandon_emitted(
        self, tup_id: Any, values: list[Any], failures: int, why: str = REPLAYS_OVER
    ) -> bool:
        """See SpoutBindings."""
        spout = self._spout
        return spout is not None and abandon_emitted(
            spout, tup_id, values, LetterFault(why, "", failures)
        )

    def emit_watermark(self, watermark_ms: int) -> None:
        """See SpoutBindings."""
        if self._spout is None:
            self._early_watermark_ms = max(self._early_watermark_ms, watermark_ms)
        else:
            self._spout.advance_watermark(watermark_ms)


def spout_bindings(
    collector: SpoutCollector, environment: InstanceEnvironment, calls: DriverCalls
) -> SpoutBindings:
    """The bindings of a spout, without task hooks."""
    return SpoutBindings(
        emit=environment.wrap("emit", collector.emit),
        emit_batch=environment.wrap("emit_batch", collector.emit_batch),
        finish=calls.finish,
        reopen=calls.reopen,
        abandon_emitted=calls.abandon_emitted,
        emit_watermark=calls.emit_watermark,
        logger=environment.component_logger or environment.logger,
        call_soon=environment.call_soon,
        call_later=environment.later,
        raised=calls.raised,
        record_error=calls.record_error,
        record_loss=calls.record_loss,
        leave=calls.leave,
    )


def bolt_bindings(
    collector: BoltCollector, environment: InstanceEnvironment, calls: DriverCalls
) -> BoltBindings:
    """The bindings of a bolt that takes tuples, without task hooks."""
    emit = _emit_of(collector, collector.emit, lambda anchors: _drop(collector, calls))
    return BoltBindings(
        emit=environment.wrap("emit", emit),
        emit_batch=environment.wrap("emit_batch", collector.emit_batch),
        ack=environment.wrap("ack", collector.ack),
        fail=environment.wrap("fail", collector.fail),
        abandon_rows=partial(abandon_rows, collector),
        logger=environment.component_logger or environment.logger,
        call_soon=environment.call_soon,
        call_later=environment.later,
        raised=calls.raised,
        record_error=calls.record_error,
        record_loss=calls.record_loss,
        leave=calls.leave,
    )


def _emit_of(collector: BoltCollector, emit: Emit, drop: Callable[[Any], None]) -> Emit:
    """`emit`, or a function that drops the tuples of a bolt without outputs."""
    if not all(map(is_system, collector.router.component.outputs)):
        return emit
    return dropping_emit(emit, drop)


def _drop(collector: BoltCollector, calls: DriverCalls) -> None:
    calls.drop_undeclared(collector.component)


def lead_to(
    bindings: BoltBindings,
    withheld: Any,
    collector: BoltCollector,
    environment: InstanceEnvironment,
    calls: DriverCalls,
) -> None:
    """emit, ack and fail of a bolt are those of `withheld` from here on. What it drops counts when
    it would be sent: the tuple may be tried again."""
    for name in ("emit_batch", "ack", "fail"):
        setattr(bindings, name, environment.wrap(name, getattr(withheld, name)))
    drop = partial(_drop, collector, calls)
    emit = _emit_of(collector, withheld.emit, lambda anchors: withheld.do_later(drop, anchors))
    bindings.emit = environment.wrap("emit", emit)


def take_batches(
    bindings: BoltBindings, collector: BoltCollector, environment: InstanceEnvironment
) -> None:
    """Ack and fail are called with batches."""
    bindings.ack = environment.wrap("ack", collector.ack_batch)
    bindings.fail = environment.wrap("fail", collector.fail_batch)


def hook_spout(
    bindings: SpoutBindings,
    hooks: TaskHooks,
    collector: SpoutCollector,
    environment: InstanceEnvironment,
) -> None:
    """Put task hooks around a spout's emit; they want to know when each root was emitted."""
    collector.stamp_every_root()
    emit = environment.wrap("emit", collector.emit)
    bindings.emit = hooks.around_emit(emit, stream_position=1)
    bindings.emit_batch = hooks.around_emit(bindings.emit_batch, stream_position=1)


def hook_bolt(bindings: BoltBindings, hooks: TaskHooks) -> None:
    """Put task hooks around a bolt's emit, ack and fail."""
    bindings.emit = hooks.around_emit(bindings.emit, stream_position=0)
    bindings.emit_batch = hooks.around_emit(bindings.emit_batch, stream_position=0)
    bindings.ack = hooks.around_ack(bindings.ack)
    bindings.fail = hooks.around_fail(bindings.fail)
