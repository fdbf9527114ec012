"""Changes of Postgres' tables as tuples (change data capture), by logical replication."""

import time
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from heron_api.metrics import AssignableMetrics
from heron_api.spout.spout import Spout
from heron_api.state.state import State
from heron_api.state.stateful_component import TwoPhaseStatefulComponent
from heron_connectors.emitted_rows import EmitsRows
from heron_connectors.postgres.catalog import type_infos
from heron_connectors.postgres.changes import Change, ChangeReader, Done, SlotPosition
from heron_connectors.postgres.client import (
    CONNECT,
    NEEDED_PACKAGE,
    Away,
    Busy,
    connected,
)
from heron_connectors.postgres.initial_snapshot import RowRead, SnapshotReader, key_order
from heron_connectors.postgres.patience import SpoutPatience
from heron_connectors.postgres.pgoutput import Message, Relation, decoded
from heron_connectors.postgres.slot import (
    ServerLog,
    SlotReader,
    SlotState,
    advanced_by_another,
)
from heron_connectors.postgres.snapshot import Remainder, SnapshotState
from heron_connectors.postgres.values import Types
from heron_core import config as keys
from heron_core.errors import ComponentError
from heron_core.records import replace

if TYPE_CHECKING:
    from heron_api.topology_context import TopologyContext

SLOT = "postgres.slot"
"""Config key: the replication slot, made by `pg_create_logical_replication_slot(…, 'pgoutput')`."""
PUBLICATION = "postgres.publication"
"""Config key: a publication, or a list of them: which tables, operations, rows and columns."""
POLL_SECS = "postgres.poll.secs"
"""Config key: poll interval of a server without news (0.2)."""
PENDING = "postgres.pending"
"""Config key: with so many changes that are not acked nothing more is read (10000)."""

SNAPSHOT = "postgres.snapshot"
"""Config key: initial, to read the rows that the tables have before their changes; never (the
default)."""
INITIAL, NEVER = "initial", "never"
STATE_KEY = "heronpy.postgres_changes_spout"
"""Under it the state has the position."""
LAG_METRIC = "postgres-lag-bytes"
SLOT_REPORT_SECS = 1.0
"""How often the slot is advanced, and asked how much of the log is not done for good."""
CHECKPOINTS_MAX = 16
"""Checkpoints that may still complete: older incomplete checkpoints have failed."""

ChangeId = tuple[int, int]
"""(LSN of the commit, number of the change in its transaction)"""
_FIELDS: dict[str, Callable[[Change], Any]] = {
    "operation": lambda change: change.operation,
    "table": lambda change: f"{change.schema}.{change.table}",
    "before": lambda change: change.before,
    "after": lambda change: change.after,
    "unchanged": lambda change: change.unchanged,
    "commit_time": lambda change: change.commit_time,
    "lsn": lambda change: change.commit_lsn,
    "index": lambda change: change.index,
    "xid": lambda change: change.xid,
}
"""What a field of `outputs` is of a change."""


class PostgresChangesSpout(EmitsRows[ChangeId], Spout, TwoPhaseStatefulComponent):
    """Emits each change of the tables of a publication, in the order of the transactions' commits.

    orders = PostgresChangesSpout.spec(
        config={
            "postgres.connect": "host=db dbname=shop user=reader",
            "postgres.slot": "orders",
            "postgres.publication": "orders",
        }
    )

    `outputs` of a subclass chooses from operation, table, before, after, unchanged, commit_time,
    lsn, index and xid. Under EFFECTIVELY_ONCE the position is part of the checkpoint, and the slot
    is advanced when that is complete. A slot has one reader: so has the component one instance.
    """

    outputs = ["operation", "table", "before", "after", "unchanged", "commit_time", "lsn"]
    needed_package = NEEDED_PACKAGE

    def init_state(self, stateful_state: State) -> None:
        """Keep the state."""
        self._state = stateful_state

    def initialize(self, config: dict[str, Any], context: "TopologyContext") -> None:
        """Read settings and state; ComponentError if invalid. The connection is opened by the
        first tuple, because an unreachable server may return."""
        self._name = name = context.get_component_id()
        if len(context.get_component_tasks(name)) > 1:
            raise ComponentError(
                f"{name}: a slot has one reader at a time: set its parallelism to 1 (for more, "
                "divide the tables by publications, each with its own slot and component)"
            )
        for key in (CONNECT, SLOT, PUBLICATION):
            if not config.get(key):
                raise ComponentError(f"{name}: its config needs {key}")
        self._how, self._slot = config[CONNECT], str(config[SLOT])
        given = config[PUBLICATION]
        self._publications = [given] if isinstance(given, str) else [str(each) for each in given]
        self._readers = [self._reader(each) for each in self.outputs]
        self._application = f"heronpy {context.get_topology_name()}.{name}"
        self._poll_secs = float(config.get(POLL_SECS, 0.2))
        self._pending_max = int(config.get(PENDING, 10_000))
        mode = keys.reliability(keys.with_defaults(config))
        self._is_tracked = mode == keys.ATLEAST_ONCE
        self._is_saved = mode != keys.ATMOST_ONCE
        self._has_snapshot = self._wants_snapshot(config)
        self._has_emitted_none(config)
        self._lag = AssignableMetrics(0)
        context.register_metric(LAG_METRIC, self._lag, int(SLOT_REPORT_SECS))
        self._begin()
        self._restore(self._state.get(STATE_KEY))

    def _wants_snapshot(self, config: dict[str, Any]) -> bool:
        given = config.get(SNAPSHOT, NEVER)
        if given not in (INITIAL, NEVER):
            raise ComponentError(f"{self._name}: {SNAPSHOT} is {INITIAL} or {NEVER}, not {given!r}")
        return bool(given == INITIAL)

    def _reader(self, name: Any) -> Callable[[Change], Any]:
        if name not in _FIELDS:
            raise ComponentError(
                f"{self._name}: a change has no {name!r}, but {', '.join(_FIELDS)}"
            )
        return _FIELDS[name]

    def _begin(self) -> None:
        self._session: SlotReader | None = None
        self._types = Types()
        self._buffer: deque[Change | Done | RowRead] = deque()
        self._of_checkpoint: dict[int, int] = {}
        """LSNs up to which the slot may be advanced when a checkpoint is complete."""
        self._to_advance = 0
        self._next_slot_report = 0.0
        self._patience = SpoutPatience(self._name, self.delegate, self.logger, self._disconnect)
        self._position: SlotPosition | None = None
        """Last emitted position; None before the server reports the slot's position."""
        self._log: ServerLog | None = None
        """Timeline of the position."""
        self._snapshot = SnapshotState() if self._has_snapshot else None
        self._has_batches = False
        """Whether the engine repeats whole batches, and keeps the state itself."""
        self._rows: SnapshotReader | None = None
        """Of a session that reads rows."""

    # --- checkpoints ----------------------------------------------------------------------------

    def _restore(self, saved: Any) -> None:
        if saved is None or not self._is_saved:
            return
        self._position = SlotPosition(*saved["position"])
        self._log = (
            ServerLog(saved["server"], saved.get("timeline", 0)) if saved["server"] else None
        )
        if saved["slot"] != self._slot:
            raise ComponentError(
                f"{self._name}: its state belongs to the slot {saved['slot']}, but {SLOT} is "
                f"{self._slot}: start without its state (--fresh)"
            )
        if self._position.index and saved["publications"] != self._publications:
            raise ComponentError(
                f"{self._name}: its state is in the middle of a transaction of"
                f" {', '.join(saved['publications'])}: change {PUBLICATION} behind that"
            )
        snapshot = saved.get("snapshot")
        if self._has_snapshot and snapshot is None:
            raise ComponentError(
                f"{self._name}: its state started with changes, without the rows before them: "
                f"start without its state (--fresh), or set {SNAPSHOT} to {NEVER}"
            )
        self._snapshot = None if snapshot is None else SnapshotState.restored(snapshot)

    def _saved(self, position: SlotPosition) -> dict[str, Any]:
        return {
            "slot": self._slot,
            "server": "" if self._log is None else self._log.server,
            "timeline": 0 if self._log is None else self._log.timeline,
            "publications": self._publications,
            "position": [position.flushed, position.commit_lsn, position.index],
            "snapshot": None if self._snapshot is None else self._snapshot.saved(),
        }

    def pre_save(self, checkpoint_id: Any) -> None:
        """The position."""
        if self._position is None or not self._is_saved:
            return
        self._state.put(STATE_KEY, self._saved(self._position))
        waiting = self._of_checkpoint
        waiting[int(checkpoint_id)] = self._position.flushed
        while len(waiting) > CHECKPOINTS_MAX:
            del waiting[min(waiting)]

    def post_save(self, checkpoint_id: Any) -> None:
        """Confirm the checkpoint's position: earlier changes are never read again."""
        for each in [each for each in self._of_checkpoint if each <= int(checkpoint_id)]:
            self._to_advance = max(self._to_advance, self._of_checkpoint.pop(each))
        self._next_slot_report = 0.0

    def pre_restore(self, checkpoint_id: Any) -> None:
        """The slot is free for what starts again."""
        self._disconnect()

    def begin_batch(self, batch_id: int) -> None:
        """On engines that repeat batches: output before the current batch is final."""
        self._has_batches = True
        if self._position is not None:
            self._to_advance = max(self._to_advance, self._position.flushed)
            self._next_slot_report = 0.0

    def end_batch(self) -> None:
        """Nothing of a batch is outside."""

    def __getstate__(self) -> dict[str, Any]:
        """Where to read on; an engine that keeps state has what was emitted before."""
        return {
            "_position": self._position,
            "_log": self._log,
            "_snapshot": self._snapshot,
        }

    # --- the stream of changes --------------------------------------------------------------------

    def next_tuple(self) -> None:
        """Emit what failed, or else the next change."""
        now = time.monotonic()
        if now >= self._next_slot_report and self._session is not None:
            self._next_slot_report = now + SLOT_REPORT_SECS
            self._patience.ask(now, self._report_slot)
        if self._emit_failed() or len(self._pending) >= self._pending_max:
            return
        if not self._buffer and now >= self._patience.not_before:
            self._patience.not_before = now + self._poll_secs
            self._patience.ask(now, self._read)
        while self._buffer:
            buffered = self._buffer.popleft()
            if isinstance(buffered, Done):
                self._done(buffered.position)
            elif isinstance(buffered, RowRead):
                if self._take_row(buffered):
                    return
            elif self._take(buffered):
                return

    def _done(self, position: SlotPosition) -> None:
        assert self._position is not None, "a transaction before the slot is known"
        self._position = self._position.behind(position.flushed)
        if self._snapshot is not None:
            self._snapshot.forget(self._position.flushed)

    def _take_row(self, row: RowRead) -> bool:
        """Emit a row of the snapshot; False behind the last one of its table."""
        assert self._snapshot is not None, "a row without a snapshot"
        row.table.read_up_to(row.key, row.snapshot)
        if row.change is None:
            return False
        number = self._snapshot.rows
        self._snapshot.rows += 1
        self._emit_new(replace(row.change, index=number))
        return True

    def _take(self, change: Change) -> bool:
        """Emit a change; False for a change already covered."""
        position = self._position
        assert position is not None, "a change before the slot is known"
        if position.has(change.commit_lsn, change.index):
            return False
        self._position = SlotPosition(position.flushed, change.commit_lsn, change.index + 1)
        self._emit_new(change)
        return True

    def _emit_new(self, change: Change) -> None:
        values = [read(change) for read in self._readers]
        change_id = (change.commit_lsn, change.index)
        if change.problem:
            why = f"a change is left out: {change.schema}.{change.table}: {change.problem}"
            location = f" (LSN {change.commit_lsn}, change {change.index})"
            self._leave_out(change_id, values, why, location)
        elif self._is_tracked:
            self._pending[change_id] = values
            self.emit(values, tup_id=change_id)
        else:
            self.emit(values)

    # --- the server -------------------------------------------------------------------------------

    def _connect(self) -> None:
        connection = connected(self._how, self._application)
        session = SlotReader(connection, self._slot, self._publications)
        try:
            self._check_mode()
            slot_state = session.open()
            self._check_position(slot_state)
        except BaseException:
            session.close()
            raise
        self._session = session
        self._types.forget()
        self._changes = ChangeReader(self._types.value, self._remainder)
        self._log = slot_state.log
        if self._position is None:
            self._position = SlotPosition(slot_state.confirmed)
        self.logger.info("reads the slot %s from %s", self._slot, self._position)

    def _remainder(self, relation: Relation, xid: int, message: Any) -> Remainder:
        if self._snapshot is None or not self._snapshot.tables:
            return Remainder.WHOLE
        assert self._session is not None, "a change without a session"
        order = partial(key_order, self._session.connection)
        return self._snapshot.remainder(relation, xid, message, order)

    def _check_mode(self) -> None:
        if self._snapshot is not None and not self._is_saved and not self._has_batches:
            raise ComponentError(
                f"{SNAPSHOT} needs a state, which {keys.ATMOST_ONCE} does not keep: a process that"
                f" is started again would read all rows again; set {keys.RELIABILITY_MODE}"
            )

    def _check_position(self, slot_state: SlotState) -> None:
        if self._position is None:
            return
        if problem := slot_state.problem(self._log, self._position.flushed):
            raise ComponentError(f"{problem}: start without its state (--fresh)")
        if slot_state.confirmed > self._position.flushed:
            ours = self._position.flushed
            raise ComponentError(advanced_by_another(self._slot, slot_state.confirmed, ours))

    def _report_slot(self) -> None:
        """Advance the slot, and look how far it is behind."""
        assert self._session is not None, "the slot of an ended session"
        if not self._is_saved and self._position is not None:
            self._to_advance = self._position.flushed
        self._lag.update(self._session.advance(self._to_advance))

    def _read(self) -> None:
        """Fill the buffer, if there is something."""
        if self._session is None:
            self._connect()
        session = self._session
        assert session is not None, "connected without a session"
        if self._snapshot is not None and not self._snapshot.is_over:
            self._read_rows(self._snapshot, session)
            return
        for data in session.read():
            message = decoded(data)
            self._learn_types(session, message)
            self._buffer.extend(self._changes.take(message))
        if self._buffer:
            self._patience.not_before = 0.0
        if not session.is_in_page:
            self._buffer.append(Done(SlotPosition(session.read_up_to())))

    def _read_rows(self, snapshot: SnapshotState, session: SlotReader) -> None:
        """Fill the buffer with rows of the tables; emitted rows determine the rest."""
        self._patience.not_before = 0.0
        if self._rows is None:
            connection, types = session.connection, self._types
            self._rows = SnapshotReader(connection, snapshot, self._publications, types)
            self._rows.begin()
            for table in self._rows.gone:
                text = f"{table} was dropped (or is not published), and its remaining rows with it"
                self.delegate.record_loss("a table was not read to its end", text)
        self._buffer.extend(self._rows.read())

    def _learn_types(self, session: SlotReader, message: Message) -> None:
        if isinstance(message, Relation):
            oids = {each.type_oid for each in message.columns}
            self._types.complete(oids, partial(type_infos, session.connection))

    def _disconnect(self) -> None:
        session, self._session, self._rows = self._session, None, None
        self._buffer.clear()
        if session is not None:
            session.close()

    def close(self) -> None:
        """Advance the slot as far as that is done for good, and disconnect."""
        if self._session is not None and self._to_advance:
            try:
                self._session.advance(self._to_advance)
            except (Away, Busy, ComponentError) as error:
                self.logger.warning("the slot %s is not advanced: %s", self._slot, error)
        self._disconnect()
