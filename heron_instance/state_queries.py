"""Queries of the instance's state, answered in the main thread between two tuples.

A client of this machine is answered by its connection at once, a query of the topology master by a
control message behind an interruption of the message under way.

A query for one key takes microseconds. A query over many keys is answered in steps, and the
component processes input between them: the state may have a million keys.
"""

from collections.abc import Callable
from functools import partial
from typing import Protocol

from heron_core.errors import HeronError
from heron_core.query_counts import COUNTED, QueryCounts
from heron_core.state.protocol import ABSENT
from heron_core.state.questions import KeyScan, OtherKind, QueriedEntry, UnknownState, entry_of
from heron_core.typed_values import value_in
from heron_core.wire.messages import QueryOutcome, QueryState, StateAnswered, StateQuestion
from heron_instance.control_core import Identity
from heron_instance.events import Instruction, SendControl
from heron_instance.input.driver import ComponentDriver
from heron_instance.runtime.environment import CallSoon
from heron_instance.runtime.factory import ReadyInstance
from heron_instance.shared_state import SharedState

STEP_SECS = 0.001
"""A step of a scan. The component's own work has a linger time (2 ms) between two of them."""
STEP_KEYS = 200
"""Keys between two looks at the clock: a fraction of a step, whatever they are."""
REASON_CHARACTERS_MAX = 500
ANSWER_BYTES_MAX = 1 << 20
"""Of the answer to a client, as of the topology master's."""
ONE_KEY = 1
"""Limit of entries in the answer to a question about one key."""

Reply = Callable[[StateAnswered], None]
"""Takes the answer to one question."""


class StateQueriesHost(Protocol):
    """Required parts of the instance's core; the component changes on a restart."""

    identity: Identity
    instance: ReadyInstance
    driver: ComponentDriver
    shared: SharedState

    @property
    def is_waiting(self) -> bool:
        """Whether the component does not exist yet."""

    def enqueue(self, instruction: Instruction) -> None:
        """Carry this out before the next step of the main loop."""


class TooLarge(HeronError):
    """The answer exceeds the requested limit."""


class StateQueries:
    """The instance's part of live queries; all of it is for the main thread."""

    def __init__(
        self, host: StateQueriesHost, call_soon: CallSoon, clock: Callable[[], float]
    ) -> None:
        self._host = host
        self._call_soon = call_soon
        self._clock = clock
        self._reply: Reply | None = None
        """For the question of a client that is being answered; None: the stream manager's."""
        self.counts = QueryCounts()
        """Of questions of clients; the topology master and stream managers count their own."""

    def take_of_client(self, question: StateQuestion, reply: Reply) -> None:
        """Answer a client's question about one key, now. Under another plan the key may be at
        another task: the client asks the topology master then."""
        query = QueryState(
            question.query, (question.task,), question.state, ONE_KEY, ANSWER_BYTES_MAX,
            question.key, question.map_key,
        )  # fmt: skip
        self.counts.asked += 1
        if question.epoch != self._host.shared.epoch_taken:
            self.counts.moved += 1
            reason = f"task {question.task} is asked for by another plan"
            reply(StateAnswered(question.task, query.query, QueryOutcome.RESTARTING, reason))
            return
        self._reply = reply
        try:
            self.take(query)
        finally:
            self._reply = None

    def take(self, query: QueryState) -> None:
        """Answer a question, now or in steps."""
        host = self._host
        if host.is_waiting or host.shared.is_restoring:
            self._tell(query, QueryOutcome.RESTARTING)
        elif not host.instance.keeps_state:
            self._tell(query, QueryOutcome.STATELESS)
        else:
            self._guarded(query, self._begin)

    def _guarded(self, query: QueryState, work: Callable[[QueryState], None]) -> None:
        """What goes wrong is the answer, and never the end of the process."""
        try:
            work(query)
        except UnknownState as error:
            self._tell(query, QueryOutcome.UNKNOWN, str(error))
        except OtherKind as error:
            self._tell(query, QueryOutcome.OTHER_KIND, str(error))
        except TooLarge as error:
            self._tell(query, QueryOutcome.TOO_LARGE, str(error))
        except Exception as error:  # of a backend, or of a key's own __eq__
            text = " ".join(str(error).split())
            reason = text if isinstance(error, HeronError) else f"{type(error).__name__}: {text}"
            self._tell(query, QueryOutcome.FAILED, reason[:REASON_CHARACTERS_MAX])

    def _begin(self, query: QueryState) -> None:
        reader = self._host.instance.state.reader(query.state)
        if not query.key:
            prefix = value_in(query.prefix) if query.prefix else ABSENT
            scan = KeyScan(reader, query.limit, prefix)
            self._advance(scan, self._host.instance, query)
            return
        key = value_in(query.key)
        if query.map_key:
            value = reader.value_of_map(key, value_in(query.map_key))
        else:
            value = reader.value(key)
        self._answer(query, [] if value is ABSENT else [entry_of(key, value)])

    def _advance(self, scan: KeyScan, instance: ReadyInstance, query: QueryState) -> None:
        """One step of a scan; the next step runs between two later tuples."""
        if self._host.instance is not instance:  # its backend is closed
            self._tell(query, QueryOutcome.RESTARTING)
            return
        until = self._clock() + STEP_SECS
        is_done = scan.step(STEP_KEYS)
        while not is_done and self._clock() < until:
            is_done = scan.step(STEP_KEYS)
        if is_done:
            self._answer(query, list(scan.entries()))
            return
        self._host.shared.questions += 1
        self._call_soon(
            partial(self._guarded, query, lambda asked: self._advance(scan, instance, asked))
        )

    def _answer(self, query: QueryState, entries: list[QueriedEntry]) -> None:
        size = sum(len(entry.text) + len(entry.order) for entry in entries)
        if size > query.bytes_max:
            raise TooLarge(
                f"the answer has {size} bytes, and the limit is {query.bytes_max}:"
                " ask for fewer keys"
            )
        pairs = tuple((entry.order, entry.text) for entry in entries)
        self._tell(query, QueryOutcome.ANSWERED, entries=pairs)

    def _tell(
        self,
        query: QueryState,
        outcome: QueryOutcome,
        reason: str = "",
        entries: tuple[tuple[bytes, str], ...] = (),
    ) -> None:
        task = self._host.identity.task
        answer = StateAnswered(task, query.query, outcome, reason, entries)
        if self._reply is None:
            self._host.enqueue(SendControl(answer))
            return
        self.counts.count(COUNTED[outcome])
        self._reply(answer)
