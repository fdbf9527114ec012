"""A replication slot, read by the SQL functions of logical decoding over an ordinary connection.

Theory of operation. The slot of the user's says how far the topology is for good: it moves when a
checkpoint is complete, and the server keeps its log from there on. What is read comes from a copy
of it, a temporary slot (`pg_copy_logical_replication_slot`) that belongs to the session and ends
with it: each page is taken from the copy, so no part of the log is decoded twice in one session,
and a session that breaks begins again where the user's slot is. An advisory lock on the slot's name
keeps a second reader out, as the slot itself is not in use between two pages.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from heron_connectors.postgres.changes import lsn_of, lsn_text
from heron_connectors.postgres.client import Busy, meaning, psycopg
from heron_connectors.postgres.fetching import FetchSize
from heron_core.errors import ComponentError

PAGE_CHANGES = 10_000
"""A page ends with the transaction that reaches the number of messages; the server stores a page
above its work_mem in a file."""
PLUGIN = "pgoutput"
_PAGE = """
SELECT data FROM pg_logical_slot_get_binary_changes(
  %s, NULL, %s, 'proto_version', '1', 'publication_names', %s)
"""
_SLOT = """
SELECT s.plugin, s.database, current_database(), s.active_pid, s.confirmed_flush_lsn::text,
  s.wal_status
FROM pg_replication_slots s WHERE s.slot_name = %s
"""
_LOG = """
SELECT (SELECT system_identifier FROM pg_control_system())::text,
  CASE WHEN pg_is_in_recovery() THEN (SELECT timeline_id FROM pg_control_checkpoint())
  ELSE ('x' || left(pg_walfile_name(pg_current_wal_flush_lsn()), 8))::bit(32)::int END,
  CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn()
  ELSE pg_current_wal_flush_lsn() END::text
"""
_LOCK = "SELECT pg_try_advisory_lock(hashtextextended('heronpy:' || %s::text, 0))"
_LAG = """
SELECT confirmed_flush_lsn::text, pg_wal_lsn_diff(
  CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_flush_lsn() END,
  confirmed_flush_lsn)::bigint
FROM pg_replication_slots WHERE slot_name = %s
"""


@dataclass(frozen=True, slots=True)
class ServerLog:
    """Which log the positions of a state are positions of."""

    server: str
    """The server's system identifier, shared by its standbys."""
    timeline: int
    """Another one begins when a standby is promoted, and when a backup is restored; 0 in the states
    of before, which have none."""


@dataclass(frozen=True, slots=True)
class SlotState:
    """What the server says of a slot."""

    confirmed: int
    """Transactions committed before the LSN are no longer available."""
    log: ServerLog
    end: int
    """The LSN of the end of the log."""

    def problem(self, log: ServerLog | None, position: int) -> str:
        """Reason why reading cannot resume at a position of a log: changes behind equal LSNs may
        differ, and would be mistaken for read changes. Empty if possible."""
        if log is None:
            return ""
        if log.server != self.log.server:
            return (
                f"its state belongs to another server (system {log.server}, this one is "
                f"{self.log.server})"
            )
        if log.timeline not in (0, self.log.timeline):
            return (
                f"the server was promoted, or restored from a backup, since its state was saved"
                f" (timeline {log.timeline}, and now {self.log.timeline}): changes before"
                f" {lsn_text(position)} may be others now"
            )
        if position > self.end:
            return (
                f"its state is at {lsn_text(position)}, and the server's log ends at"
                f" {lsn_text(self.end)}: the server was restored from a backup"
            )
        return ""


class SlotReader:
    """One session; every method may raise Away, Busy or ComponentError, which closes the
    session."""

    def __init__(self, connection: Any, slot: str, publications: Sequence[str]) -> None:
        self.connection = self._connection = connection
        """Connection for further queries of the session, between calls."""
        self._slot = slot
        self._publications = tuple(publications)
        self._copy = f"heronpy_{uuid4().hex}"
        self._page: Any = None
        """The cursor of a page that is being read."""
        self._size = FetchSize()
        self._confirmed = 0

    def open(self) -> SlotState:
        """Keep others out, and copy the slot."""
        state = self._read_state()
        ((is_ours,),) = self._all(_LOCK, [self._slot])
        if not is_ours:
            raise Busy(self._read_by("another reader"))
        for publication in self._publications:
            if not self._all("SELECT 1 FROM pg_publication WHERE pubname = %s", [publication]):
                raise ComponentError(
                    f"publication {publication} does not exist: CREATE PUBLICATION {publication} "
                    "FOR TABLE …, then recreate the slot"
                )
        self._all("SELECT pg_copy_logical_replication_slot(%s, %s, true)", [self._slot, self._copy])
        self._confirmed = state.confirmed
        return state

    def _read_state(self) -> SlotState:
        ((level,),) = self._all("SELECT current_setting('wal_level')", [])
        if level != "logical":
            raise ComponentError(
                f"the server's wal_level is {level}, and its log has the changes of rows with"
                " logical: ALTER SYSTEM SET wal_level = logical, and start the server again"
            )
        slots = self._all(_SLOT, [self._slot])
        if not slots:
            raise ComponentError(self._gone())
        ((plugin, database, ours, reader, confirmed, status),) = slots
        if plugin != PLUGIN or database != ours:
            raise ComponentError(
                f"the slot {self._slot} is one of {plugin or 'physical replication'} in"
                f" {database or 'no database'}, and {PLUGIN} in {ours} is needed"
            )
        if status == "lost" or confirmed is None:
            raise ComponentError(
                f"the slot {self._slot} is lost: the server has removed its log "
                "(max_slot_wal_keep_size); drop the slot, and start again with a new slot"
            )
        if reader is not None:
            raise Busy(self._read_by(f"the process {reader} of the server"))
        ((server, timeline, end),) = self._all(_LOG, [])
        return SlotState(lsn_of(confirmed), ServerLog(server, timeline), lsn_of(end))

    def _gone(self) -> str:
        return (
            f"replication slot {self._slot} does not exist: SELECT "
            f"pg_create_logical_replication_slot('{self._slot}', '{PLUGIN}') creates a slot, "
            "whose changes start at its creation; if the slot existed before, the changes in "
            "between are lost"
        )

    def _read_by(self, reader: str) -> str:
        return (
            f"the slot {self._slot} is in use by {reader} (pg_stat_activity): a slot has one "
            "reader at a time; stop that reader, or create another slot"
        )

    # --- pages --------------------------------------------------------------------------------

    def read(self) -> list[bytes]:
        """The next messages; none if the log has no more transactions for now."""
        driver = psycopg()
        try:
            if self._page is None:
                self._begin_page()
            rows = self._page.fetchmany(self._size.rows)
            if len(rows) < self._size.rows:
                self._end_page()
        except driver.Error as error:
            raise self._ended(error) from None
        messages = [bytes(each) for (each,) in rows]
        self._size.learn(len(messages), sum(map(len, messages)))
        return messages

    @property
    def is_in_page(self) -> bool:
        """Whether messages of a page are left."""
        return self._page is not None

    def _begin_page(self) -> None:
        self._connection.execute("BEGIN")
        self._page = self._connection.cursor("heronpy_page", binary=True)
        names = ",".join('"' + each.replace('"', '""') + '"' for each in self._publications)
        self._page.execute(_PAGE, [self._copy, PAGE_CHANGES, names])

    def _end_page(self) -> None:
        page, self._page = self._page, None
        page.close()
        self._connection.execute("COMMIT")

    def read_up_to(self) -> int:
        """All transactions committed before the LSN were read by the last page; skipped
        transactions had no changes of the publications."""
        ((found, _),) = self._all(_LAG, [self._copy])
        return lsn_of(found)

    # --- the user's slot ------------------------------------------------------------------------

    def advance(self, lsn: int) -> int:
        """All transactions whose commit is before it are done for good. How many bytes of its log
        the server keeps, or has not given out, besides."""
        lags = self._all(_LAG, [self._slot])
        if not lags:
            raise ComponentError(self._gone())
        ((text, lag_bytes),) = lags
        confirmed = lsn_of(text)
        if confirmed > self._confirmed:
            raise ComponentError(advanced_by_another(self._slot, confirmed, self._confirmed))
        if confirmed >= lsn:
            return int(lag_bytes)
        self._all("SELECT pg_replication_slot_advance(%s, %s)", [self._slot, lsn_text(lsn)])
        self._confirmed = max(self._confirmed, lsn)
        return max(0, int(lag_bytes) - (lsn - confirmed))

    def _all(self, statement: str, values: Sequence[Any]) -> list[Any]:
        try:
            found: list[Any] = self._connection.execute(statement, values).fetchall()
        except psycopg().Error as error:
            raise self._ended(error) from None
        return found

    def _ended(self, error: Any) -> Exception:
        reason = meaning(error)
        if error.sqlstate == "42704" and "publication" in str(error):
            return ComponentError(
                f"{reason}: it is younger than what the slot {self._slot} has to read first; make"
                " the slot again behind the publication"
            )
        if error.sqlstate == "53400":
            return ComponentError(
                f"{reason}: reading {self._slot} needs a second, temporary one; raise"
                " max_replication_slots, or drop slots without a reader"
            )
        if error.sqlstate == "42501":
            return ComponentError(
                f"{reason}: reading a slot needs a role with the attribute REPLICATION"
            )
        return reason

    def close(self) -> None:
        """The temporary slot and the lock go with the connection."""
        page, self._page = self._page, None
        for each in (page, self._connection):
            with suppress(psycopg().Error):
                if each is not None:
                    each.close()


def advanced_by_another(slot: str, confirmed: int, ours: int) -> str:
    """Error for a slot that was moved by another client."""
    return (
        f"the slot {slot} is at {lsn_text(confirmed)}, but this topology is at {lsn_text(ours)}: "
        "another reader has advanced the slot, or the slot was recreated; the changes in "
        "between are lost to this topology: start without its state (--fresh)"
    )
