"""Which keys a batch has written, in the records of the run."""

from collections.abc import Sequence
from typing import Any

from heronpy_compat.trident.execution.numbered_records import NumberedRecords
from heronpy_compat.trident.state.interfaces import Key
from heronpy_compat.trident.state.map_states import OpaqueMap, SnapshottableMap


class KeyJournal:
    """A KeysOfBatch that remembers the newest batch."""

    def __init__(self, records: NumberedRecords) -> None:
        self._records = records

    def keys_of(self, txid: int) -> list[Key]:
        """See KeysOfBatch."""
        return [tuple(key) for key in self._records.get(txid) or ()]

    def will_write(self, txid: int, keys: Sequence[Key]) -> None:
        """See KeysOfBatch."""
        # Those of a failed attempt were set back, and may be so again.
        known = dict.fromkeys([*self.keys_of(txid), *map(tuple, keys)])
        self._records.put(txid, [list(key) for key in known])
        self._records.remove_below(txid)


def attach_journal(state: Any, context: Any, folder: str) -> None:
    """Give a state a journal if it needs one and has none; `folder`: of its records."""
    inner = state.states if isinstance(state, SnapshottableMap) else state
    if isinstance(inner, OpaqueMap) and inner.journal is None:
        born_ms = context.get_incarnation().born_ms
        inner.journal = KeyJournal(NumberedRecords(context.get_run_store(), folder, born_ms))
