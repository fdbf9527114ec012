"""Connects what a component abandons with whoever reads its stream `errors`."""

import sys
from collections.abc import Callable, Sequence
from typing import Any

from heron_core.dead_letters import ERRORS, REPLAYED, has_letters
from heron_core.plans import PackingPlan, instance_name
from heron_core.topology import DEFAULT_STREAM, TopologySpec
from heron_instance.emit.collector import BoltCollector, TaskCollector
from heron_instance.emit.dead_letters import DeadLetters, Emits, LetterFault, LetterOrigin
from heron_instance.input.bolt import BoltDriver
from heron_instance.input.driver import ComponentDriver
from heron_instance.input.spout import SpoutDriver


def route_letters(
    driver: ComponentDriver,
    collector: TaskCollector,
    topology: TopologySpec,
    packing: PackingPlan,
    wall_ms: Callable[[], int],
) -> None:
    """If somebody reads them."""
    task = driver.outbox.task
    if not has_letters(topology, collector.component):
        return
    collector.letters = letters = DeadLetters(
        instance_name(packing, task),
        _emits_of(collector),
        collector.next_edge,
        wall_ms,
        sys.maxsize if driver.options.retries.is_endless else driver.options.retries.retries,
    )
    letters.record_error = driver.record_error
    if isinstance(driver, BoltDriver):
        letters.fields_of = driver.fields_of


def _emits_of(collector: TaskCollector) -> Emits:
    emit: Any = collector.emit_general  # type: ignore[attr-defined]
    if isinstance(collector, BoltCollector):
        return lambda values, anchors: emit(values, ERRORS, anchors)
    return lambda values, anchors: emit(values, None, ERRORS)


def abandon_rows(
    collector: BoltCollector, fields: Sequence[str], rows: list[tuple[list[Any], str]]
) -> None:
    """Tuples that were acked are not processed: they are letters, or have failed for good, for no
    spout is told of them any more."""
    letters, origin = collector.letters, _only_input(collector, fields)
    collector.failed += len(rows)
    for values, why in rows:
        if letters is None or not letters.takes_values(origin, values, LetterFault(why)):
            collector.failed_for_good += 1


def _only_input(collector: BoltCollector, fields: Sequence[str]) -> LetterOrigin:
    """Where its tuples come from; of several inputs the one of a row is not known any more."""
    inputs = [each for each in collector.router.component.inputs if each.component != REPLAYED]
    if len(inputs) != 1:
        return LetterOrigin("", "", 0, fields)
    (only,) = inputs
    return LetterOrigin(only.component, only.stream, 0, fields)


def abandon_emitted(
    driver: SpoutDriver, tup_id: Any, values: list[Any], fault: LetterFault
) -> bool:
    """Whether a tuple that a spout has emitted, and emits no more, is a letter now."""
    letters = driver.collector.letters
    if letters is None:
        return False
    route = driver.collector.router.routes[DEFAULT_STREAM]
    component = driver.collector.component
    origin = LetterOrigin(component, DEFAULT_STREAM, driver.outbox.task, route.spec.fields)
    if not letters.takes_values(origin, values, fault):
        return False
    driver.failed_ids.abandoned(tup_id)
    return True
