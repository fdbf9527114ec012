"""Questions of clients on other machines about one key of a state, without the topology master.

A client asks the master once for the tasks of a component and the addresses of the stream managers,
and then sends each question to the stream manager of the task that owns the key. The way is shorter
by one process in each direction.

A question ends once: by the answer of the instance, at the deadline, or when the instance is
replaced or removed. After any outcome other than ANSWERED the client asks the master; rules for
waiting and texts of errors are there. In all these cases a stream manager answers RESTARTING, as
for an absent instance.
"""

from collections.abc import Mapping

from msgspec import Struct

from heron_core.query_counts import COUNTED, QueryCounts
from heron_core.records import replace
from heron_core.wire.messages import QueryOutcome, QueryState, StateAnswered, StateQuestion
from heron_engine.stream_manager import events
from heron_engine.stream_manager.container_state import ContainerState

Out = list[events.Instruction]

NUMBERS_FROM = 1 << 48
"""First number of clients' questions. The master's questions to the same instances count from 1."""
QUESTIONS_MAX = 64
"""In flight at a time, with the reason of the master's limit: an answer has up to
ANSWER_BYTES_MAX."""
ANSWER_BYTES_MAX = 1 << 20
WAIT_MS_MAX = 60_000
"""The longest time-out of any query."""
ONE_KEY = 1
"""Limit of entries in the answer to a question about one key."""


class _ClientQuestion(Struct, frozen=True):
    client: bytes
    query: int
    """The client's number."""
    task: int
    deadline: float


class ClientQueries:
    """The open questions of clients to instances of this container."""

    def __init__(self, state: ContainerState) -> None:
        self._state = state
        self._open: dict[int, _ClientQuestion] = {}
        self._number = NUMBERS_FROM
        self.counts = QueryCounts()
        """Since the process began; the master adds the counts of all stream managers to its own."""
        self._of_instances: dict[int, tuple[int, Mapping[str, int]]] = {}
        """Task -> incarnation and newest counts of its process, if clients have asked that."""
        self._of_ended = QueryCounts()
        """Last counts of replaced processes."""

    def reported(self, task: int, incarnation: int, counts: Mapping[str, int]) -> None:
        """An instance's counts of the questions that clients have put to the instance itself."""
        if not counts:
            return
        before = self._of_instances.get(task)
        if before is not None and before[0] != incarnation:
            self._of_ended = self._of_ended.with_those_of([before[1]])
        self._of_instances[task] = incarnation, counts

    def totals(self) -> QueryCounts:
        """The counts with those of the instances of this container, ended processes included."""
        instances = [counts for _, counts in self._of_instances.values()]
        return self.counts.with_those_of([self._of_ended.by_name(), *instances])

    def ask(self, client: bytes, asked: StateQuestion, out: Out) -> None:
        """Pass a question on to its instance, or refuse it."""
        state = self._state
        question = _ClientQuestion(
            client, asked.query, asked.task, state.now + min(asked.wait_ms, WAIT_MS_MAX) / 1000
        )
        if len(self._open) >= QUESTIONS_MAX:
            self.counts.overloaded += 1
            self._reply(question, f"{QUESTIONS_MAX} questions are in flight", out)
            return
        self.counts.asked += 1
        if asked.epoch != state.epoch or asked.task not in state.queues:
            self.counts.moved += 1
            self._reply(question, f"task {asked.task} is asked for by another plan", out)
        elif state.queues[asked.task].incarnation is None:
            self.counts.restarting += 1
            self._reply(question, f"task {asked.task} is not connected", out)
        else:
            self._pass_on(question, asked, out)

    def _pass_on(self, question: _ClientQuestion, asked: StateQuestion, out: Out) -> None:
        self._number += 1
        self._open[self._number] = question
        query = QueryState(
            self._number, (asked.task,), asked.state, ONE_KEY, ANSWER_BYTES_MAX,
            asked.key, asked.map_key,
        )  # fmt: skip
        self._state.send_control(asked.task, query, out)

    def take(self, answer: StateAnswered, out: Out) -> bool:
        """Forward an instance's answer to its client; False for an answer to the master."""
        if answer.query < NUMBERS_FROM:
            return False
        question = self._open.get(answer.query)
        if question is None or question.task != answer.task:
            self.counts.late += 1
            return True
        del self._open[answer.query]
        self.counts.count(COUNTED[answer.outcome])
        out.append(events.ToClient(question.client, replace(answer, query=question.query)))
        return True

    def replaced(self, task: int, out: Out) -> None:
        """End the questions to the previous process of a task."""
        for number, question in list(self._open.items()):
            if question.task == task:
                self._end(number, "restarting", f"task {task} is replaced", out)

    def expire(self, out: Out) -> None:
        """End the questions behind their deadline, and the questions to removed tasks."""
        for number, question in list(self._open.items()):
            if question.task not in self._state.queues:
                self._end(number, "moved", f"task {question.task} has moved", out)
            elif self._state.now >= question.deadline:
                self._end(number, "timed_out", f"task {question.task} has not answered", out)

    def _end(self, number: int, count: str, reason: str, out: Out) -> None:
        self.counts.count(count)
        self._reply(self._open.pop(number), reason, out)

    def _reply(self, question: _ClientQuestion, reason: str, out: Out) -> None:
        answer = StateAnswered(question.task, question.query, QueryOutcome.RESTARTING, reason)
        out.append(events.ToClient(question.client, answer))

    def validate(self) -> None:
        """AssertionError if the counts do not equal the questions."""
        counts = self.counts
        ended = (
            counts.answered + counts.refused + counts.restarting + counts.too_large
            + counts.failed + counts.moved + counts.timed_out
        )  # fmt: skip
        assert counts.asked == ended + len(self._open), counts
        assert len(self._open) <= QUESTIONS_MAX
