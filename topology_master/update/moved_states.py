"""States that an update moves in a topology that takes no checkpoints: whose, and to whom."""

from collections.abc import Set

from heron_core.plans import MovedStates, PackingPlan, leaving


def moving(before: PackingPlan, after: PackingPlan) -> set[int]:
    """The tasks of `before` whose state is to be saved: their process ends, or their component has
    other tasks by `after`, among which keys are divided again."""
    rescaled = {
        task
        for component, tasks in before.tasks_of.items()
        if after.tasks_of.get(component) != tasks
        for task in tasks
    }
    return rescaled | leaving(before, after)


def moved_states(number: int, saved: Set[int], before: PackingPlan) -> MovedStates | None:
    """What stands in the plan to which update `number` switches; None if nobody keeps a state."""
    if not saved:
        return None
    previous = {
        component: tuple(tasks)
        for component, tasks in before.tasks_of.items()
        if not saved.isdisjoint(tasks)
    }
    return MovedStates(number, tuple(sorted(saved)), previous)


def waiting_for_states(moved: MovedStates | None, packing: PackingPlan) -> set[int]:
    """The tasks that have to say that they have their states before an update is done."""
    components = () if moved is None else moved.previous
    return {task for each in components for task in packing.tasks_of.get(each, ())}
