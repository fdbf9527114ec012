"""The saved states with which a topology begins: which fit, are divided or are dropped.

Pure: the caller has read the states, and the plan says for each new task of which previous tasks
its state is made. States move by component and by key; a component whose state no new task takes is
an error unless the user drops the state on purpose.
"""

from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct, field

from heron_core.errors import HeronError
from heron_core.naming import first_of
from heron_core.plans import PackingPlan
from heron_core.records import replace
from heron_core.state.description import Contents, Description, SavedComponent
from heron_core.state.parts import KeyRange, not_divisible

STATE = "state"


class StateSource(Struct, frozen=True):
    """A previous task whose state a new task takes, whole or some of the keys."""

    task: int
    key_range: KeyRange


class RestoreShare(Struct, frozen=True):
    """State and input with which a new task begins."""

    key_range: KeyRange
    sources: tuple[StateSource, ...] = ()
    """Previous tasks whose states are taken; empty: without state."""
    inputs: tuple[StateSource, ...] = ()
    """Previous tasks whose input is divided: some of the input may be for this task."""

    @property
    def is_whole(self) -> bool:
        """Whether the share is the unchanged state of one previous task."""
        return len(self.sources) == 1 and self.sources[0].key_range == self.key_range


class RestorePlan(Struct, frozen=True):
    """State and input with which all tasks begin."""

    shares: Mapping[int, RestoreShare]
    notes: tuple[str, ...]
    """Notes for a person, one line each."""
    divided: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """component -> previous tasks, if these have input for the present tasks to divide: each
    present task takes a share of states and input itself, as in an update, and no state is made for
    the task."""


def sources_of(previous: Sequence[int], key_range: KeyRange) -> tuple[StateSource, ...]:
    """The tasks among the component's `previous` ones from which a task takes keys."""
    number = len(previous)
    if number == key_range.tasks:
        return (StateSource(previous[key_range.index], key_range),)
    key_ranges = (KeyRange(index, number) for index in range(number))
    return tuple(
        StateSource(task, own_range)
        for task, own_range in zip(previous, key_ranges, strict=True)
        if own_range.overlaps(key_range)
    )


def share_of(
    task: int,
    packing: PackingPlan,
    previous: Mapping[str, Sequence[int]],
    with_input: Collection[int] = (),
) -> RestoreShare:
    """State and input with which a task begins by a plan, after a checkpoint. `previous` has the
    tasks at the checkpoint of components whose tasks may differ now, and `with_input` has the tasks
    with input left."""
    component = packing.instances[task].component
    key_range = key_range_of(task, packing)
    previous_tasks = previous.get(component, packing.tasks_of[component])
    share = RestoreShare(key_range, sources_of(previous_tasks, key_range))
    if len(previous_tasks) == key_range.tasks:
        return share
    inputs = tuple(
        StateSource(previous_task, KeyRange(index, len(previous_tasks)))
        for index, previous_task in enumerate(previous_tasks)
        if previous_task in with_input
    )
    return replace(share, inputs=inputs)


def key_range_of(task: int, packing: PackingPlan) -> KeyRange:
    """The keys of a task by a plan."""
    tasks = packing.tasks_of[packing.instances[task].component]
    return KeyRange(tasks.index(task), len(tasks))


def plan_restore(
    where: str,
    saved: Description,
    contents: Mapping[int, Contents],
    packing: PackingPlan,
    backend: str,
    allow_non_restored: bool,
) -> RestorePlan:
    """Plan for a folder `where` whose states hold `contents`, by task, if the topology keeps state
    in `backend`. HeronError with the misfit and the cure if a state does not fit."""
    saved_state = _Saved(where, saved, contents)
    saved_state.check_backend(backend)
    shares: dict[int, RestoreShare] = {}
    notes = saved_state.dropped(packing, allow_non_restored)
    for name, tasks in packing.tasks_of.items():
        previous = saved.components.get(name)
        if previous is None:
            notes.append(f"{where} has no state of {name}: the component starts without state")
        for index, task in enumerate(tasks):
            key_range = KeyRange(index, len(tasks))
            sources = () if previous is None else saved_state.sources(name, previous, key_range)
            shares[task] = RestoreShare(key_range, sources)
    return RestorePlan(shares, tuple(notes), saved_state.divided(packing))


class _Saved(Struct, frozen=True):
    where: str
    description: Description
    contents: Mapping[int, Contents]

    def _holds(self, component: SavedComponent) -> bool:
        contents = (self.contents[task] for task in component.tasks)
        return any(each.tables or each.input_messages for each in contents)

    def _has_input(self, component: SavedComponent) -> bool:
        return any(self.contents[task].input_messages for task in component.tasks)

    def divided(self, packing: PackingPlan) -> dict[str, tuple[int, ...]]:
        """See RestorePlan."""
        return {
            name: each.tasks
            for name, each in self.description.components.items()
            if len(packing.tasks_of.get(name, each.tasks)) != len(each.tasks)
            and self._has_input(each)
        }

    def check_backend(self, backend: str) -> None:
        for name, component in self.description.components.items():
            for task in component.tasks:
                kept_by = self.contents[task].backend
                if kept_by != backend:
                    raise HeronError(
                        f"{self.where}: the state of {name} was saved by the backend {kept_by!r}, "
                        f"and topology.state.backend is {backend!r} now: choose {kept_by!r}"
                    )

    def dropped(self, packing: PackingPlan, allowed: bool) -> list[str]:
        """Notes on components that no longer exist; HeronError if dropping these is not allowed."""
        components = self.description.components
        gone = [
            name
            for name, component in components.items()
            if name not in packing.tasks_of and self._holds(component)
        ]
        if gone and not allowed:
            new = [name for name in packing.tasks_of if name not in components]
            theirs = f"it has {first_of(new or packing.tasks_of)}{' instead' if new else ''}"
            raise HeronError(
                f"{self.where} was saved by the topology {self.description.topology} and has "
                f"{self._states_of(gone)} of {first_of(gone)}, which is missing in "
                f"{packing.topology} ({theirs}): restore the savepoint into a topology with "
                f"{first_of(gone)}, or drop the state by --allow-non-restored"
            )
        return [
            f"{name} was removed: its {what} {'is' if what == STATE else 'are'} dropped"
            for name, what in ((name, self._states_of([name])) for name in gone)
        ]

    def _states_of(self, names: Sequence[str]) -> str:
        components = self.description.components
        has_input = any(self._has_input(components[name]) for name in names)
        return f"{STATE} and unprocessed input" if has_input else STATE

    def sources(
        self, name: str, previous: SavedComponent, key_range: KeyRange
    ) -> tuple[StateSource, ...]:
        """The previous tasks whose state a task of a component takes."""
        if len(previous.tasks) != key_range.tasks:
            if not self._holds(previous):
                return ()
            if not all(self.contents[task].may_be_divided for task in previous.tasks):
                raise not_divisible(name, len(previous.tasks), key_range.tasks)
            if self._has_input(previous):
                return ()
        return sources_of(previous.tasks, key_range)
