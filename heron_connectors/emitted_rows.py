"""Rows emitted by a source: failed rows are replayed; invalid rows are left out, reported and
counted."""

import time
from collections.abc import Mapping
from typing import Any, Generic

from heron_connectors.replay_queue import Id, ReplayQueue, abandon
from heron_core.errors import ComponentError


class RowLeftOut(ComponentError):
    """An invalid row, not emitted; later rows continue."""


class EmitsRows(Generic[Id]):
    """Handling of unacked and invalid rows in sources."""

    delegate: Any
    emit: Any
    """The spout's."""

    def _has_emitted_none(self, config: Mapping[str, Any]) -> None:
        self._pending: dict[Id, list[Any]] = {}
        """Of the rows that are not acked, if they are tracked: their values."""
        self._failed: ReplayQueue[Id] = ReplayQueue.of(config)

    def _emit_failed(self) -> bool:
        """Whether a row that failed was due, and is emitted again."""
        tup_id = self._failed.take(time.monotonic()) if self._failed else None
        if tup_id is None:
            return False
        self.emit(self._pending[tup_id], tup_id=tup_id)
        return True

    def ack(self, tup_id: Id) -> None:
        """The row is done."""
        self._pending.pop(tup_id, None)
        self._failed.acked(tup_id)

    def fail(self, tup_id: Id) -> None:
        """Emit the row again, unless it is abandoned."""
        if tup_id in self._pending and (failures := self._failed.failed(tup_id, time.monotonic())):
            abandon(self.delegate, tup_id, self._pending.pop(tup_id), failures)

    def _leave_out(self, tup_id: Id, values: list[Any], why: str, location: str = "") -> None:
        """Report an invalid row as a dead letter, with the readable values, or as a counted
        RowLeftOut; `location` locates the row for people."""
        if not self.delegate.abandon_emitted(tup_id, values, 0, why):
            raise RowLeftOut(f"{why}{location}")
        self.delegate.record_error("a row is left out", why)
