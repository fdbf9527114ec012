"""Initial states by key, for updateStateByKey and mapWithState.

Values in the program travel with the topology; a file or a savepoint is read by each partition at
its start, so each host needs access by the same path.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from os import PathLike, fspath
from typing import Any

from heron_core.errors import ComponentError, HeronError
from heron_core.state.keys import shown_key
from heron_core.state.protocol import StateKind
from heronpy_compat.streamlet.errors import StreamletError
from heronpy_compat.streamlet.keyedprocess import ProcessContext

PAIRS_MAX = 1_000_000
"""Pairs travel inside of the topology, to every container: a larger number belongs into a file."""


@dataclass(frozen=True, slots=True)
class SavedStates:
    """A value state of a savepoint, or of the newest checkpoint of a topology.

    `where` is the savepoint's folder or URL, or the topology's name; `state` is COMPONENT.STATE.
    """

    where: str
    state: str

    def pairs(self) -> Iterator[tuple[Any, Any]]:
        """(key, value) of each entry; UsageError if the state is missing."""
        from heron_connectors.state_tables import read_state  # late: an instance needs it rarely

        for row in read_state(self.where, self.state).saved.rows():
            yield shown_key(row.key), row.value


@dataclass(frozen=True, slots=True)
class _File:
    path: str

    def pairs(self) -> Iterator[tuple[Any, Any]]:
        from heron_connectors.state_rows import entries_in_file  # late, as above

        for entry in entries_in_file(self.path, StateKind.VALUE, ()):
            yield shown_key(entry.key), entry.value


@dataclass(frozen=True, slots=True)
class _Pairs:
    values: tuple[tuple[Any, Any], ...]

    def pairs(self) -> Iterator[tuple[Any, Any]]:
        return iter(self.values)


InitialStates = SavedStates | _File | _Pairs


def initial_states(given: Any, what: str) -> InitialStates:
    """A user's initial states as InitialStates; StreamletError for a wrong type or table.

    A dict or an iterable of pairs; a DataFrame or a table of Arrow with the columns key and value;
    the path of a table (.parquet, .csv, .arrow, .json); SavedStates.
    """
    if isinstance(given, SavedStates):
        return given
    if isinstance(given, str | PathLike):
        return _File(fspath(given))
    pairs = given.items() if isinstance(given, Mapping) else given
    if hasattr(given, "schema") or type(given).__module__.partition(".")[0] == "pandas":
        pairs = _of_table(given, what)
    if not isinstance(pairs, Iterable):
        raise StreamletError(
            f"{what}: initial states are a dict, pairs (key, value), a table with the columns key "
            f"and value, a path or SavedStates, not {given!r}"
        )
    return _Pairs(_checked_pairs(pairs, what))


def _of_table(table: Any, what: str) -> Iterator[tuple[Any, Any]]:
    from heron_connectors.state_rows import entries_of  # late, as above

    try:
        table = table.to_arrow() if hasattr(table, "to_arrow") else table  # polars
        for entry in entries_of(table, StateKind.VALUE, ()):
            yield shown_key(entry.key), entry.value
    except HeronError as error:
        raise StreamletError(f"{what}: its initial states cannot be read: {error}") from None


def _checked_pairs(pairs: Iterable[Any], what: str) -> tuple[tuple[Any, Any], ...]:
    kept = tuple(islice(pairs, PAIRS_MAX + 1))
    if len(kept) > PAIRS_MAX:
        raise StreamletError(
            f"{what}: more than {PAIRS_MAX} initial states: give the path of a file instead"
        )
    for each in kept:
        if not isinstance(each, tuple | list) or len(each) != 2:
            raise StreamletError(f"{what}: an initial state is a pair (key, value), not {each!r}")
    return tuple((key, value) for key, value in kept)


class InitialKeys:
    """The initial states of a partition: of the keys owned by the partition.

    A key's own state wins, so each initial state is taken over once: after a restore or a
    rescaling, a key with a state keeps the state. For a key with an initial state, a removed state
    leaves a mark.
    """

    def __init__(self, initial: InitialStates | None, context: ProcessContext) -> None:
        self._removed = context.value_state("removed")
        self._states = {} if initial is None else _own_states(initial, context)

    def take_over(self, stored: Any, context: ProcessContext) -> Iterator[Any]:
        """Put missing states into `stored`; yields each key while the key is current."""
        for key, value in self._states.items():
            context.about(key)
            if not stored.exists() and not self._removed.exists():
                stored.put([value])
                yield key
        self._states = dict.fromkeys(self._states)

    def is_removed(self, key: Any) -> None:
        """The state of the current key is removed."""
        if key in self._states:
            self._removed.put(True)


def _own_states(initial: InitialStates, context: ProcessContext) -> dict[Any, Any]:
    own: dict[Any, Any] = {}
    try:
        for key, value in initial.pairs():
            if context.owns(key):
                if key in own:
                    raise ComponentError(f"two initial states have the key {key!r}")
                own[key] = value
    except (HeronError, OSError) as error:
        raise ComponentError(f"the initial states cannot be read: {error}") from None
    return own
