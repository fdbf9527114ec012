"""End of an update's drain: nothing in flight, or only irrelevant tuples.

Without checkpoints, an update waits until no tuple is in flight. The update continues earlier

- if all remaining tuples are retained by bolts that the update does not concern;
- if concerned bolts can fail their retained tuples, which are then replayed by the new plan;
- if back-pressure persists some seconds after the spouts have paused: a bolt has more work queued
  than an update may take. Tuples in transit continue by the new plan, except that tuples to ending
  instances, or with moved keys, fail and are counted;
- on timeout, with equal consequences. A spout that ends or must save its state is awaited until
  then; if its tuples are still in flight, the update is cancelled.
"""

from collections.abc import Set
from enum import Enum

from heron_core.naming import first_of
from heron_core.plans import leaving
from heron_engine.topology_master.update.moved_states import moving
from heron_engine.topology_master.update.record import MasterView, UpdateRecord, names, names_of

STILL_SECS = 1.0
"""Nothing has moved for so long: acks that are on the way arrive within milliseconds."""
KEEPS = "its state keeps tuples (open windows, for example)"


class DrainOutcome(Enum):
    """What a drain has come to."""

    WAITS = "something is in flight"
    DRAINED = "all tuples that the update affects are processed"
    FAILS_RETAINED = "bolts fail the tuples that they keep"
    BLOCKED = "back-pressure blocks the tuples in flight"
    LATE = "the time is over"


def outcome(
    update: UpdateRecord, view: MasterView, now: float, limit_secs: float, blocked_secs: float
) -> DrainOutcome:
    """Whether the update can go on, and how. `blocked_secs`: for how long back-pressure is waited
    for, `limit_secs`: for how long anything else is."""
    assert update.since is not None
    secs = now - update.since
    if view.detector.drained or _only_others_retain(update, view, now):
        return DrainOutcome.DRAINED
    if _may_fail_retained(update, view, now):
        return DrainOutcome.FAILS_RETAINED
    if secs > limit_secs:
        return DrainOutcome.LATE
    if secs >= blocked_secs and view.detector.paused() and _spouts_may_wait(update, view):
        return DrainOutcome.BLOCKED
    return DrainOutcome.WAITS


def undrained(view: MasterView) -> list[str]:
    """What a drain waits for: the instances that are not idle, or if nothing else moves the bolts
    that keep tuples, whose outcome the spouts wait for."""
    detector, packing = view.detector, view.packing
    if detector.still_since is None:
        return names(packing, detector.busy())
    spouts = {each.name for each in view.topology.components if each.is_spout}
    keep = {task for task in detector.holders() if packing.instances[task].component not in spouts}
    return [f"{each} ({KEEPS})" for each in names(packing, keep)]


def why_undrained(found: DrainOutcome, update: UpdateRecord, view: MasterView, now: float) -> str:
    """What an update goes on in spite of, for people to read."""
    assert update.since is not None
    after = f"after {now - update.since:.0f} s"
    if found is DrainOutcome.BLOCKED:
        paused = names_of(view.packing, view.detector.paused())
        return f"back-pressure still held {paused} {after}: proceeding with tuples in flight"
    return f"still draining {after} ({first_of(undrained(view))}): proceeding"


def spouts_that_end(update: UpdateRecord, view: MasterView) -> str:
    """Ending spouts with tuples in flight, for people: after their end, failed tuples could not
    be replayed."""
    busy = view.detector.busy() & leaving(view.packing, update.target)
    return names_of(view.packing, {task for task in busy if _is_spout(view, task)})


def spouts_that_wait(view: MasterView) -> set[int] | None:
    """Spouts that wait for the outcome of tuples; None if none."""
    return {task for task in view.detector.holders() if _is_spout(view, task)} or None


def _only_others_retain(update: UpdateRecord, view: MasterView, now: float) -> bool:
    """Whether all tuples in flight wait in open windows or other retaining bolts, and instances
    concerned by the update neither hold nor emitted any: the rest continues, and the tuples are
    acked later."""
    return _is_still(view, now) and not _concerned(update, view)


def _may_fail_retained(update: UpdateRecord, view: MasterView, now: float) -> bool:
    """Whether all tuples in flight are retained, and all concerned bolts can fail their tuples
    for a replay by the new plan. False if a spout of such a tuple ends or must save its state:
    the tuple must be settled first."""
    detector = view.detector
    return _is_still(view, now) and all(
        _may_wait(task, update, view) if _is_spout(view, task) else detector.may_fail(task)
        for task in _concerned(update, view)
    )


def _spouts_may_wait(update: UpdateRecord, view: MasterView) -> bool:
    """Whether the update needs the outcome of no tuple that is in flight."""
    concerned = view.detector.busy() & moving(view.packing, update.target)
    return all(_may_wait(task, update, view) for task in concerned if _is_spout(view, task))


def _may_wait(spout: int, update: UpdateRecord, view: MasterView) -> bool:
    keeps_state = view.topology.by_name[view.packing.instances[spout].component].keeps_state
    return not keeps_state and spout not in leaving(view.packing, update.target)


def _is_still(view: MasterView, now: float) -> bool:
    since = view.detector.still_since
    return since is not None and now - since >= STILL_SECS


def _concerned(update: UpdateRecord, view: MasterView) -> Set[int]:
    return view.detector.holders() & moving(view.packing, update.target)


def _is_spout(view: MasterView, task: int) -> bool:
    return view.topology.by_name[view.packing.instances[task].component].is_spout
