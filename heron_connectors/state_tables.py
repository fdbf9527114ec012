"""States of savepoints and completed checkpoints as tables of Arrow.

    read_state("/savepoints/words-1", "count.count", key_type="string", value_type="int64")

A row is an entry of the state: key, map_key (the key in a map, the index in a list), value,
key_group, task, expires_at. Keys and values are JSON that keeps their types
(heron_core.typed_values), or of a type that is declared for the column: then a value that is not
of that type is an error, and never another value.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from time import time
from typing import Any

from msgspec import Struct, field

from heron_connectors.state_rows import IS_JSON, entries_of, shown_in_table
from heron_core.errors import UsageError, shown
from heron_core.optional_packages import needed
from heron_core.state.memory import MEMORY
from heron_core.state.protocol import StateKind
from heron_core.state.questions import PUT
from heron_core.typed_values import typed_text
from heron_io.checkpoint_store.signatures import key_of, savepoint_key, states_key
from heron_io.saved_states import StateOfCheckpoint, StateRow, open_saved
from heron_io.savepoint_writer import NewEntry, NewState, SavepointPlan, write_savepoint
from heron_io.state_store.opening import open_store
from heron_io.user_home import home_path, store_url_in

KINDS = "value, list, map, reducing, or plain (saved by put())"
BATCH_ROWS = 8192
"""Of a record batch: some MiB of small values."""
MILLION = 1_000_000


class ColumnTypes(Struct, frozen=True):
    """Arrow's types by their names (string, int64, double, timestamp[us]) of the columns that are
    not to be JSON."""

    key: str | None = None
    map_key: str | None = None
    value: str | None = None

    def schema(self) -> Any:
        """Of the table."""
        pa = _pyarrow()
        return pa.schema(
            [
                self._field("key", self.key),
                self._field("map_key", self.map_key),
                self._field("value", self.value),
                pa.field("key_group", pa.int32()),
                pa.field("task", pa.int32()),
                pa.field("expires_at", pa.timestamp("us", "UTC")),
            ]
        )

    @staticmethod
    def _field(name: str, declared: str | None) -> Any:
        metadata = IS_JSON if declared is None else None
        return _pyarrow().field(name, _type(name, declared), metadata=metadata)


def _pyarrow() -> Any:
    return needed("pyarrow", "a state as a table")


def _type(column: str, name: str | None) -> Any:
    pa = _pyarrow()
    if name is None:
        return pa.string()
    try:
        return pa.type_for_alias(name)
    except ValueError:
        pass
    if name.startswith("timestamp[") and name.endswith("]"):
        unit, _, zone = name[len("timestamp[") : -1].partition(",")
        return pa.timestamp(unit.strip(), zone.strip().removeprefix("tz=") or None)
    raise UsageError(
        f"{column}: Arrow has no type {name!r} (string, int64, double, bool, binary, date32[day],"
        " timestamp[us], …)"
    )


class SavedStateTable(Struct, frozen=True):
    """A state that is read as a table."""

    saved: StateOfCheckpoint
    types: ColumnTypes = field(default_factory=ColumnTypes)

    def schema(self) -> Any:
        """Arrow's."""
        return self.types.schema()

    def batches(self, batch_rows: int = BATCH_ROWS) -> Iterator[Any]:
        """Record batches of so many rows at most."""
        return self.batches_of(self.saved.rows(), batch_rows)

    def batches_of(self, rows: Iterator[StateRow], batch_rows: int = BATCH_ROWS) -> Iterator[Any]:
        """The same of some entries."""
        schema = self.schema()
        while some := list(islice(rows, batch_rows)):
            yield self._batch(some, schema)

    def _batch(self, rows: Sequence[StateRow], schema: Any) -> Any:
        pa = _pyarrow()
        keys = [shown_in_table(row.key) for row in rows]
        given = {
            "key": keys,
            "map_key": [row.sub for row in rows],
            "value": [row.value for row in rows],
        }
        types = {"key": self.types.key, "map_key": self.types.map_key, "value": self.types.value}
        columns = [
            self._column(name, values, types[name], schema.field(name).type, keys)
            for name, values in given.items()
        ]
        columns += [
            pa.array([row.group for row in rows], pa.int32()),
            pa.array([row.task for row in rows], pa.int32()),
            pa.array(
                [None if row.expires_at is None else round(row.expires_at * MILLION)
                 for row in rows],
                pa.timestamp("us", "UTC"),
            ),
        ]  # fmt: skip
        return pa.RecordBatch.from_arrays(columns, schema=schema)

    def _column(
        self, name: str, values: list[Any], declared: str | None, kind: Any, keys: list[Any]
    ) -> Any:
        pa = _pyarrow()
        if declared is None:
            is_absent = name == "map_key"
            texts = [None if is_absent and each is None else typed_text(each) for each in values]
            return pa.array(texts, kind)
        try:
            array = pa.array(values, kind)
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            array = None
        if array is None or not _is_exact(array, values):
            raise self._not_of(name, values, kind, keys)
        return array

    def _not_of(self, name: str, values: list[Any], kind: Any, keys: list[Any]) -> UsageError:
        pa = _pyarrow()
        for key, value in zip(keys, values, strict=True):
            try:
                if _is_exact(pa.array([value], kind), [value]):
                    continue
            except (pa.ArrowException, TypeError, ValueError, OverflowError):
                pass
            return UsageError(
                f"{self.saved.name}: the {name} of the key {shown(key, 60)} is {shown(value, 60)},"
                f" which is not {kind}: declare another type, or none for JSON"
            )
        return UsageError(f"{self.saved.name}: its column {name} is not {kind}")

    def reader(self) -> Any:
        """A lazy pyarrow.RecordBatchReader."""
        return _pyarrow().RecordBatchReader.from_batches(self.schema(), self.batches())

    def table(self) -> Any:
        """All of it as a pyarrow.Table."""
        return self.reader().read_all()

    def pandas(self) -> Any:
        """All of it as a DataFrame of pandas."""
        needed("pandas", "a state as a DataFrame")
        return self.table().to_pandas()


def _is_exact(array: Any, values: list[Any]) -> bool:
    """Whether Arrow has the values, and not others: of True it makes a 1."""
    return all(map(_is_same, array.to_pylist(), values))


def _is_same(found: Any, value: Any) -> bool:
    if type(value) is float and value != value:  # not a number
        return bool(found != found)
    is_number = type(value) in (int, float) and type(found) in (int, float)
    return bool(found == value) and (is_number or type(found) is type(value))


def write_state(
    folder: str,
    topology: str,
    tables: Mapping[str, Any],
    *,
    kinds: Mapping[str, str] | None = None,
    json_columns: Sequence[str] = (),
    tasks: int = 1,
    backend: str = MEMORY,
) -> dict[str, int]:
    """Write a savepoint, signed by this user's key, with which a topology can begin:
    COMPONENT.STATE -> its table (of Arrow, pandas or PySpark). Returns the entries of each.

    `kinds`: COMPONENT.STATE -> value (the default), list, map, reducing; what put() keeps is
    COMPONENT.put. `json_columns`: columns of texts that are JSON, where their metadata does not
    say so. `tasks`: of each component; a topology with any number of instances begins with it.
    """
    entries = {
        name: partial(entries_of, table, json_columns=json_columns)
        for name, table in tables.items()
    }
    return write_states(folder, topology, entries, kinds or {}, tasks, backend)


def write_states(
    folder: str,
    topology: str,
    entries: Mapping[str, Callable[..., Iterator[NewEntry]]],
    kinds: Mapping[str, str],
    tasks: int,
    backend: str,
) -> dict[str, int]:
    """Like `write_state`, with a function per state that returns the entries of a kind."""
    if others := kinds.keys() - entries.keys():
        raise UsageError(f"{min(others)} is not a table, but its kind is given")
    states = [_new_state(name, kinds.get(name), make) for name, make in entries.items()]
    key = savepoint_key(states_key(key_of(home_path()), topology))
    plan = SavepointPlan(topology=topology, at=time(), tasks=tasks, backend=backend, key=key)
    return write_savepoint(os.path.expanduser(folder), states, plan)


def _new_state(name: str, kind: str | None, make: Callable[..., Iterator[NewEntry]]) -> NewState:
    component, dot, state = name.rpartition(".")
    if not (component and dot and state):
        raise UsageError(f"{name!r:.60} is not COMPONENT.STATE")
    given = kind or (StateKind.PLAIN if state == PUT else StateKind.VALUE)
    try:
        chosen = StateKind(given)
    except ValueError:
        raise UsageError(f"{name} cannot be a {given!r:.60} state: {KINDS}") from None
    return NewState(component, state, chosen, make(kind=chosen))


def read_state(
    where: str,
    name: str,
    *,
    key_type: str | None = None,
    map_key_type: str | None = None,
    value_type: str | None = None,
    state_store: str | None = None,
) -> SavedStateTable:
    """COMPONENT.STATE of a savepoint (folder or URL), or of the newest completed checkpoint of
    the topology with the name. UsageError with the available states; file errors are raised on
    reading.

    `state_store`: of the topology, as zk://HOST:PORT; None: the user's files.
    """
    types = ColumnTypes(key_type, map_key_type, value_type)
    home = home_path()
    with open_store(state_store or store_url_in(home)) as store:
        saved = open_saved(os.path.expanduser(where), name, store, home)
    return SavedStateTable(saved, types)
