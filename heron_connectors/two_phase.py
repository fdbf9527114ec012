"""Sinks with exact output: the rows of a checkpoint become visible when the checkpoint is complete.

Under EFFECTIVELY_ONCE (docs/CHECKPOINTS.md, "From source to sink"):

    tuples ──► begin, write, write, …        rows stay invisible
    barrier ─► pre_commit                    durable; the input of commit becomes part of the state
    complete ► commit                        rows become visible; repeated until success
    restore ─► commit again                  prepared transactions of the restored state
               abort_others                  remaining transactions

In the other modes a transaction is committed after a number of tuples, which are acked then. With
`--engine spark` a transaction is a batch: a repeated batch has equal tuples and an equal id.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

from heron_api.bolt.bolt import Bolt
from heron_api.state.state import State
from heron_api.state.stateful_component import TwoPhaseStatefulComponent
from heron_connectors.left_out_rows import LeavesRowsOut, fail_or_ack
from heron_connectors.transactions import (
    LAST,
    Prepared,
    PreparedTransactions,
    TransactionId,
    new_writer,
    writer_of_batches,
)
from heron_core import config as keys
from heron_core.errors import ComponentError

if TYPE_CHECKING:
    from heron_api.topology_context import TopologyContext
    from heron_api.tuple import Tuple

STATE_KEY = "heronpy.two_phase_sink"
"""State key of prepared transactions."""
CONTINUES = "sink.continues.earlier.runs"
"""Component config, true or false: the sources continue behind positions of their own (Samza's
checkpoints), so the output of earlier runs is continued. Otherwise such output is an error."""
RETRY_SECS = 1.0
"""How long to leave a target alone that did not take a commit."""


class TwoPhaseSink(LeavesRowsOut, Bolt, TwoPhaseStatefulComponent):
    """A bolt that writes into something outside, each tuple exactly once.

        class Orders(TwoPhaseSink):
            def open(self, config, context): ...
            def begin(self): return []
            def write(self, transaction, tup): transaction.append(tup.values)
            def pre_commit(self, transaction, transaction_id): return transaction
            def commit(self, prepared, transaction_id): ...   # unless that id is committed already
            def abort(self, transaction): ...

    `heronpy_compat.testing.check_two_phase_sink` checks a subclass. An override of init_state,
    initialize, process, pre_save, post_save, pre_restore, on_finish or close must also call the
    method of this class.
    """

    outputs: Sequence[Any] = []
    commit_tuples = 1000
    """So many tuples are committed at once in the modes without checkpoints."""
    commit_secs = 5.0
    """The longest a tuple waits for that; less than topology.message.timeout.secs."""

    # --- what a sink defines ----------------------------------------------------------------------

    def open(self, config: dict[str, Any], context: "TopologyContext") -> None:
        """Read the settings; in place of `initialize`."""

    def begin(self) -> Any:
        """A new transaction, for the tuples from here on."""
        raise NotImplementedError(f"{type(self).__name__} must define begin(self)")

    def write(self, transaction: Any, tup: "Tuple") -> None:
        """Write a tuple. An exception concerns only the tuple, which is left out."""
        raise NotImplementedError(
            f"{type(self).__name__} must define write(self, transaction, tup)"
        )

    def pre_commit(self, transaction: Any, transaction_id: TransactionId) -> Any:
        """Make the transaction durable but invisible, and return the input of `commit`, for any
        process: values that a tuple can carry. After an exception the transaction continues
        unchanged."""
        raise NotImplementedError(
            f"{type(self).__name__} must define pre_commit(self, transaction, transaction_id)"
        )

    def commit(self, prepared: Any, transaction_id: TransactionId) -> None:
        """Make the transaction visible, atomically. Repeated after an exception, and after a
        failure also following a success: the repetition must have no effect, because a later
        transaction may exist."""
        raise NotImplementedError(
            f"{type(self).__name__} must define commit(self, prepared, transaction_id)"
        )

    def abort(self, transaction: Any) -> None:
        """A transaction that was not prepared will never be committed."""

    def abort_others(self, prepared: Sequence[Any]) -> None:
        """Remove leftovers of previous lives of the instance, except for `prepared` commits. Called
        once, before the first `begin`.
        """

    def check_target(self) -> None:
        """ComponentError, in one line with a remedy, if the target is not writable. Called once,
        after `open`, when a process starts: the process is restarted until the target is
        repaired. A running process waits for its target."""

    def unknown_output(self) -> str:
        """Content of the target from other runs, in words, for a sink that starts without state;
        empty if none or unknown. Called once, after `open`."""
        return ""

    def output_of_another_run(self, run: str) -> str:
        """Content of the target written by a different run, in words; empty if none or unknown.
        Called once, after `open`, in the modes without checkpoints, where a replacement process
        also starts without state."""
        return ""

    # --- for sinks to use -------------------------------------------------------------------------

    @property
    def is_two_phase(self) -> bool:
        """Whether checkpoints say when to commit."""
        return self._is_two_phase

    @property
    def is_in_batch(self) -> bool:
        """Whether the engine repeats whole batches, which say when to commit."""
        return self._batch_number is not None

    @property
    def repeats(self) -> bool:
        """Whether a transaction may be committed twice: without checkpoints each has a new id."""
        return self._is_two_phase or self.is_in_batch

    def fields_of_inputs(self, context: Any) -> list[str]:
        """The fields of input tuples; ComponentError if the inputs differ."""
        storm = context.to_storm()
        fields, inputs = storm["source->stream->fields"], storm["source->stream->grouping"]
        found = {tuple(fields[each][stream]) for each in inputs for stream in inputs[each]}
        if len(found) != 1:
            raise ComponentError(
                f"{self._name}: its inputs have different fields, but its output has one schema"
            )
        return list(found.pop())

    def types_of_inputs(self, context: Any) -> dict[str, str]:
        """The declared types of the inputs, by field; ComponentError if two inputs differ."""
        inputs = context.to_storm()["source->stream->grouping"]
        types: dict[str, str] = {}
        for source, streams in inputs.items():
            for stream in streams:
                for name, text in context.get_declared_types(source, stream).items():
                    if types.setdefault(name, text) != text:
                        raise ComponentError(
                            f"{self._name}: field {name!r} is {types[name]} in one of its inputs "
                            f"and {text} in another"
                        )
        return types

    def leave(self, why: str) -> NoReturn:
        """End the process; the restart restores the topology to a point without loss. Raises
        ComponentError."""
        text = f"{self._name}: {why}"
        self.delegate.call_soon(partial(self.delegate.leave, text))
        raise ComponentError(text)

    # --- the life of an instance ------------------------------------------------------------------

    def init_state(self, stateful_state: State) -> None:
        """Keep the state."""
        self._two_phase_state = stateful_state

    def initialize(self, config: dict[str, Any], context: "TopologyContext") -> None:
        """`open`, and commit what the restored state has prepared."""
        self._name = context.get_component_id()
        self._is_two_phase = keys.reliability(keys.with_defaults(config)) == keys.EFFECTIVELY_ONCE
        self._continues = keys.flag({CONTINUES: False, **config}, CONTINUES)
        self._writer, self._tail = new_writer(), new_writer()
        self._number = 0
        self._transaction: Any = None
        self._is_begun = self._is_ready = self._is_closed = False
        self._is_failing = self._retry_is_set = False
        self._uncommitted: list[Any] = []
        self._has_left_out_none()
        self._window = 0
        self._batch_number: int | None = None
        self._prepared = PreparedTransactions()
        incarnation = context.get_incarnation()
        index = context.get_component_tasks(self._name).index(context.get_task_id())
        self._batch_writer = writer_of_batches(incarnation.run, self._name, index)
        self.open(config, context)
        saved = self._two_phase_state.get(STATE_KEY) if self._is_two_phase else None
        if saved is None:
            self.check_target()
        if self._is_two_phase:
            if saved is None:
                self._keep_prepared()  # the state is known to be indivisible from here on
                self._tell_of(self.unknown_output())
            else:
                self._tail = saved["tail"]
                self._prepared.restore(saved["prepared"])
                self._commit_due()
        elif incarnation.run and not incarnation.repeats_batches:
            self._tell_of(self.output_of_another_run(incarnation.run))
        self._is_initialized = True

    def _tell_of(self, warning: str) -> None:
        """Before the first write: a run that reads the input again writes the output again."""
        if not warning or self._continues:
            return
        resume = "resume from the checkpoint of the other run, or " if self._is_two_phase else ""
        text = (
            f"{self._name} starts without state, and {warning}: rows that are read again will be "
            f"written twice; {resume}name an empty target"
        )
        what = "output that is unknown to this run"
        self.delegate.call_soon(partial(self.delegate.record_error, what, text))

    def process(self, tup: "Tuple") -> None:
        """Write a tuple."""
        self.write(self._transaction if self._is_begun else self._begun(), tup)
        if self.repeats:
            self.ack(tup)
            return
        if not self._uncommitted:
            self._window += 1
            self.delegate.call_later(self.commit_secs, partial(self._roll, self._window))
        self._uncommitted.append(tup)
        if len(self._uncommitted) >= self.commit_tuples:
            self._commit_all()

    def _begun(self) -> Any:
        try:
            if not self._is_ready:
                self.abort_others([each.what for each in self._prepared])
                self._is_ready = True
            self._transaction = self.begin()
        except Exception as error:
            if not self._is_two_phase:
                raise
            self.leave(f"cannot begin a transaction: {described(error)}")
        self._is_begun = True
        return self._transaction

    def is_idle(self) -> bool:
        """Whether no completed checkpoint waits for its commit: a run does not end before."""
        return self._prepared.due is None and not self._refused

    def on_finish(self) -> None:
        """The end of the data: commit the rest; ComponentError if that fails."""
        if self.is_in_batch:
            return  # the last batch ends, too
        if not self._is_two_phase:
            problem = self._commit_all()
        else:
            self._abandon_refused()
            if self._is_begun:
                self._prepare(TransactionId(self._tail, LAST), LAST)
            self._prepared.complete_all()
            problem = self._commit_due()
        if problem:
            raise ComponentError(problem)

    def close(self) -> None:
        """Commit as far as permitted, abort the rest; ComponentError for a failed commit, so that a
        stopped run does not end as complete.
        """
        if self._is_closed:
            return
        self._is_closed = True
        problem = ""
        if not self.is_in_batch:  # what a batch has written is committed at its end, or comes again
            problem = self._commit_due() if self._is_two_phase else self._commit_all()
        if self._is_begun:
            self._abort_begun()
        if problem:
            raise ComponentError(problem)

    # --- engines of batches: heron_api.batch_aware.BatchAware ----------------------------

    def begin_batch(self, batch_id: int) -> None:
        """Start of a batch: later tuples belong to the batch. A repeated batch has equal tuples,
        because its input is in the engine's checkpoint."""
        if self._is_begun:
            self._abort_begun()
        self._batch_number = batch_id

    def end_batch(self) -> None:
        """Commit under the batch's number, unless already committed; ComponentError on failure,
        after which the batch is repeated.
        """
        if not self._is_begun:
            return
        assert self._batch_number is not None, "end_batch without begin_batch"
        transaction_id = TransactionId(self._batch_writer, self._batch_number + 1)
        problem = _problem_of(partial(self._commit_begun, transaction_id))
        if problem:
            self._abort_begun()
            raise ComponentError(
                f"{self._name}: cannot commit batch {self._batch_number}: {problem}"
            )
        self._transaction, self._is_begun = None, False

    def __getstate__(self) -> dict[str, Any]:
        """Empty: no rows are pending between batches."""
        return {}

    # --- checkpoints ------------------------------------------------------------------------------

    def pre_save(self, checkpoint_id: Any) -> None:
        """Prepare the transaction written since the last checkpoint, and add it to the state."""
        if not self._is_two_phase:
            return
        self._abandon_refused()
        checkpoint = int(checkpoint_id)
        if self._is_begun:
            self._prepare(TransactionId(self._writer, checkpoint), checkpoint)
            self._tail = new_writer()
        self._keep_prepared()

    def _keep_prepared(self) -> None:
        saved = {"tail": self._tail, "prepared": self._prepared.to_state()}
        self._two_phase_state.put(STATE_KEY, saved)

    def _prepare(self, transaction_id: TransactionId, checkpoint: int) -> None:
        try:
            what = self.pre_commit(self._transaction, transaction_id)
        except Exception as error:
            again = "; retried at the next checkpoint" if checkpoint < LAST else ""
            raise ComponentError(
                f"{self._name}: cannot write: {described(error)}{again}"
            ) from error
        self._transaction, self._is_begun = None, False
        self._prepared.add(Prepared(transaction_id, checkpoint, what))

    def post_save(self, checkpoint_id: Any) -> None:
        """Commit the transactions of the checkpoint and older transactions."""
        if self._is_two_phase:
            self._prepared.completed(int(checkpoint_id))
            self._commit_due()

    def pre_restore(self, checkpoint_id: Any) -> None:
        """What is not prepared is discarded; another object goes on with the restored state."""
        if self._is_two_phase and self._is_begun:
            self._abort_begun()

    def _commit_due(self) -> str:
        """Commit due transactions in order; returns the error. Retries follow automatically."""
        while (due := self._prepared.due) is not None:
            problem = _problem_of(partial(self.commit, due.what, due.id))
            if problem:
                self._retry_later()
                return self._reported_once(self._cannot_commit(due.checkpoint, problem))
            self._prepared.committed()
        self._is_failing = False
        return ""

    def _cannot_commit(self, checkpoint: int, problem: str) -> str:
        if checkpoint == LAST:
            return f"{self._name}: cannot commit the end of the data: {problem}"
        outlook = "it has ended" if self._is_closed else "no data is lost, the sink retries"
        return f"{self._name}: cannot commit checkpoint {checkpoint}: {problem}; {outlook}"

    def _retry_later(self) -> None:
        if not self._retry_is_set and not self._is_closed:
            self._retry_is_set = True
            self.delegate.call_later(RETRY_SECS, self._retry)

    def _retry(self) -> None:
        self._retry_is_set = False
        if not self._is_closed:
            self._commit_due()

    def _reported_once(self, text: str) -> str:
        """The error as a line; it is reported once, until a commit succeeds again."""
        if not self._is_failing:
            self.delegate.record_error("a commit failed", text)
        self._is_failing = True
        return text

    def _abort_begun(self) -> None:
        transaction, self._transaction, self._is_begun = self._transaction, None, False
        try:
            self.abort(transaction)
        except Exception as error:
            self.logger.warning("a transaction is not aborted: %s", described(error))

    # --- modes without checkpoints ----------------------------------------------------------------

    def _roll(self, window: int) -> None:
        """Handle a timer: commit, if its transaction is still open."""
        if window == self._window and not self._is_closed:
            self._commit_all()

    def _commit_all(self) -> str:
        """Commit the written tuples and ack them, or fail them on an error."""
        if not self._is_begun:
            return ""
        tuples, self._uncommitted = self._uncommitted, []
        self._left_out.clear()
        self._number += 1
        problem = _problem_of(
            partial(self._commit_begun, TransactionId(self._writer, self._number))
        )
        if problem:
            self._abort_begun()
            for tup in tuples:
                self.fail(tup)
            return self._reported_once(
                f"{self._name}: cannot commit: {problem}; {len(tuples)} tuples failed, so their "
                "spouts replay them"
            )
        self._transaction, self._is_begun = None, False
        self._is_failing = False
        for at, tup in enumerate(tuples):
            fail_or_ack(self, tup, self._left_out.get(at))
        return ""

    def _commit_begun(self, transaction_id: TransactionId) -> None:
        self.commit(self.pre_commit(self._transaction, transaction_id), transaction_id)


class WriteAheadSink(TwoPhaseSink):
    """A two-phase sink for a target that cannot prepare: the rows of a transaction are part of the
    checkpoint, and are written after its completion.

    A subclass defines `commit(rows, transaction_id)`, which writes the rows and the id atomically,
    and skips a known id: the numbers of a writer only rise.

        class Prices(WriteAheadSink):
            def commit(self, rows, transaction_id):
                if not self.target.has(transaction_id):
                    self.target.add(rows, transaction_id)
    """

    rows_max = 1_000_000
    """Rows pending for one checkpoint, in memory and in the checkpoint."""

    def row_of(self, tup: "Tuple") -> Any:
        """What is written for a tuple."""
        return list(tup.values)

    def checked_row(self, tup: "Tuple") -> Any:
        """The row; ValueError for a row that the target would reject in `commit`, where it would
        block all others.
        """
        return self.row_of(tup)

    def begin(self) -> list[Any]:
        """No rows."""
        return []

    def write(self, transaction: list[Any], tup: "Tuple") -> None:
        """Add a row to the transaction."""
        if len(transaction) >= self.rows_max:
            self.leave(
                f"{self.rows_max} rows wait for a checkpoint: take them more often"
                f" ({keys.CHECKPOINT_INTERVAL_SECS})"
            )
        transaction.append(self.checked_row(tup))

    def pre_commit(self, transaction: list[Any], transaction_id: TransactionId) -> list[Any]:
        """They are durable with the checkpoint."""
        return transaction


def _problem_of(call: Callable[[], None]) -> str:
    """Error of a call in one line. Reported after recovery; an error inside of user code is
    reported with its traceback."""
    try:
        call()
    except Exception as error:
        return described(error)
    return ""


def described(error: Exception) -> str:
    """An exception in a line."""
    if isinstance(error, OSError) and error.strerror:
        name = f" ({error.filename})" if error.filename else ""
        return f"{error.strerror}{name}"
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
