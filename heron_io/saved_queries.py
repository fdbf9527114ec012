"""Queries of state as of a completed checkpoint: a live query's questions, asked of its files."""

from collections.abc import Iterator, Sequence
from typing import Any

from heron_core.state.key_values import key_of
from heron_core.state.protocol import ABSENT
from heron_core.state.questions import PUT, KeyScan, QueriedEntry, StateReader, entry_of
from heron_io.saved_states import StateOfCheckpoint
from heron_io.state_queries import StateAnswer, WantedState

STEP_KEYS = 10_000


def query_saved(saved: StateOfCheckpoint, wanted: WantedState) -> StateAnswer:
    """What the state had; NoSuchState's kin for a name that is not there."""
    entries: list[tuple[QueriedEntry, int]] = []
    is_known = False
    for reader, task in saved.readers_of(_tasks_asked(saved, wanted)):
        is_known = True
        entries += [(entry, task) for entry in _entries(reader, wanted)]
    if not is_known:
        saved.kind()  # which raises, with what there is
    entries.sort(key=lambda pair: pair[0].order)
    rows = tuple(
        (task, f"{saved.component}[{saved.tasks.index(task)}]", entry.text)
        for entry, task in entries[: wanted.limit]
    )
    return StateAnswer(saved.name, rows, len(entries) >= wanted.limit)


def _tasks_asked(saved: StateOfCheckpoint, wanted: WantedState) -> Sequence[int]:
    """Of a key its owner alone, where the topology says who that is: no other state is read."""
    if wanted.key is ABSENT:
        return saved.tasks
    return saved.tasks_of(_meant(wanted.key, is_put=False))


def _entries(reader: StateReader, wanted: WantedState) -> Iterator[QueriedEntry]:
    if wanted.key is ABSENT:
        scan = KeyScan(reader, wanted.limit, wanted.prefix)
        while not scan.step(STEP_KEYS):
            pass
        yield from scan.entries()
        return
    for key in _meant(wanted.key, is_put=reader.table_id.name == "" or wanted.name.endswith(PUT)):
        value = (
            reader.value(key)
            if wanted.map_key is ABSENT
            else reader.value_of_map(key, wanted.map_key)
        )
        if value is not ABSENT:
            yield entry_of(key, value)


def _meant(given: Any, is_put: bool) -> list[Any]:
    """The keys that a key may be: a list is one of several fields, or the value of one field. What
    fields a component was grouped by, no checkpoint says."""
    if isinstance(given, list):
        return [tuple(given)] if is_put else [key_of(given), key_of([given])]
    return [given] if is_put else [key_of([given])]
