"""Live queries of state: requester, queried instances, and end of a query.

A query for a key goes to the task selected by fields grouping; a query over many keys, or of a
component with other groupings, goes to all tasks, and answers are merged in key order. A query
ends exactly once: by its last answer, by the first error, by the death of an instance, or by its
deadline.
"""

import reprlib
from collections.abc import Mapping
from heapq import merge
from typing import Any

from msgspec import Struct, field

from heron_core.errors import HeronError, ProtocolError, StateError
from heron_core.plans import PackingPlan, instance_name
from heron_core.query_counts import QueryCounts
from heron_core.state.current_key import CurrentKey
from heron_core.state.keys import owner
from heron_core.state.questions import PUT, UnknownState
from heron_core.topology import ComponentSpec, TopologySpec
from heron_core.transitions import MachineState, Transitions
from heron_core.typed_values import typed_text, value_in
from heron_core.validation import choices
from heron_core.wire.messages import Json, QueryOutcome, QueryState, Reply, StateAnswered
from heron_engine.topology_master import events

Out = list[events.Instruction]

QUERY = "query"
"""The command."""
QUERIES_MAX = 64
"""In flight at a time; further ones are refused. A point query takes milliseconds, so that is
thousands a second, and answers of so many take 64 MiB at most."""
SECS = 5.0
SECS_MAX = 60.0
"""A command's connection is open for as long."""
LIMIT = 100
LIMIT_MAX = 10_000
ANSWER_BYTES_MAX = 1 << 20
"""Bytes of all answers to one query: a person reads less, and a full export uses a savepoint."""
KEY_CHARACTERS_MAX = 64 * 1024
"""Of a key or a prefix."""


class QuestionState(MachineState):
    """How far a question is."""

    ASKED = "asked, the answers of some instances are expected"
    ANSWERED = "answered by all instances"
    REFUSED = "the state does not exist, or cannot be queried by key"
    RESTARTING = "an instance has no state at present"
    TOO_LARGE = "the answer is too large"
    FAILED = "an instance could not read its state"
    MOVED = "the tasks of the component have changed"
    TIMED_OUT = "the query timed out"


QUESTION = Transitions(
    "question",
    {QuestionState.ASKED: "a client asks, and fewer than QUERIES_MAX questions are in flight"},
    {
        QuestionState.ASKED: {
            QuestionState.ASKED: "an instance answers, others are still pending",
            QuestionState.ANSWERED: "the last instance answers",
            QuestionState.REFUSED: "an instance does not have the state",
            QuestionState.RESTARTING: "an instance reports a failure, or its process is replaced",
            QuestionState.TOO_LARGE: "an instance says so, or all answers together are",
            QuestionState.FAILED: "an instance says so",
            QuestionState.MOVED: "the plan has changed the tasks of the component",
            QuestionState.TIMED_OUT: "its deadline has passed",
        }
    },
)
_ENDS: Mapping[QueryOutcome, QuestionState] = {
    QueryOutcome.STATELESS: QuestionState.REFUSED,
    QueryOutcome.UNKNOWN: QuestionState.REFUSED,
    QueryOutcome.OTHER_KIND: QuestionState.REFUSED,
    QueryOutcome.RESTARTING: QuestionState.RESTARTING,
    QueryOutcome.TOO_LARGE: QuestionState.TOO_LARGE,
    QueryOutcome.FAILED: QuestionState.FAILED,
}


class _Question(Struct):
    name: str
    component: str
    asker: bytes
    """The connection that waits for the reply."""
    tasks: tuple[int, ...]
    """All of the component, as they were when it was asked."""
    missing: set[int]
    """Queried instances without an answer."""
    limit: int
    secs: float
    deadline: float
    state: QuestionState = QuestionState.ASKED
    unknown: str = ""
    """Answer of an instance without the state; others may have created it meanwhile."""
    is_known: bool = False
    entries: list[tuple[bytes, str, int]] = field(default_factory=list)
    """(order, JSON, task), sorted, at most `limit`"""
    has_more: bool = False


class Queries:
    """The open queries of one topology."""

    def __init__(self, topology: TopologySpec) -> None:
        self._submitted = topology
        self._questions: dict[int, _Question] = {}
        self._number = 0
        self.counts = QueryCounts()

    @property
    def pending(self) -> int:
        """Questions that have not ended."""
        return len(self._questions)

    def begin(
        self, asker: bytes, arguments: Json, packing: PackingPlan, now: float
    ) -> tuple[QueryState, Reply | None]:
        """Accept a query: requests for the instances, and an immediate reply if available.
        HeronError for an invalid query."""
        topology = packing.topology_of(self._submitted)
        component, state = _named(topology, str(arguments.get("name", "")))
        asked = _Asked(arguments, component, state)
        tasks = tuple(packing.tasks_of.get(component.name, ()))
        query = QueryState(
            self._number + 1, asked.those_of(tasks), state, asked.limit, ANSWER_BYTES_MAX,
            asked.key, asked.map_key, asked.prefix,
        )  # fmt: skip
        if len(self._questions) >= QUERIES_MAX:
            self.counts.overloaded += 1
            reason = f"{QUERIES_MAX} queries are in flight, which is the limit: try again"
            return query, Reply(True, {"outcome": "overloaded", "reason": reason})
        self._number += 1
        self.counts.asked += 1
        self._questions[query.query] = _Question(
            f"{component.name}.{state}", component.name, asker, tasks, set(query.tasks),
            asked.limit, asked.secs, now + asked.secs, QUESTION.begin(QuestionState.ASKED),
        )  # fmt: skip
        return query, None

    def take(self, message: StateAnswered, packing: PackingPlan, out: Out) -> None:
        """An instance's answer; ProtocolError if invalid."""
        question = self._questions.get(message.query)
        if question is None or message.task not in question.missing:
            self.counts.late += 1
            return
        if tuple(packing.tasks_of.get(question.component, ())) != question.tasks:
            self._end(message.query, QuestionState.MOVED, _moved(question), packing, out)
            return
        end = _ENDS.get(message.outcome)
        if message.outcome is QueryOutcome.UNKNOWN:
            question.unknown = message.reason
        elif end is not None:
            reason = _reason(question, message, packing)
            self._end(message.query, end, reason, packing, out)
            return
        else:
            question.is_known = True
        self._collect(message, question, packing, out)

    def _collect(
        self, message: StateAnswered, question: _Question, packing: PackingPlan, out: Out
    ) -> None:
        added = [(order, text, message.task) for order, text in message.entries]
        if added != sorted(added):
            raise ProtocolError(f"task {message.task} answers a query out of order")
        merged = list(merge(question.entries, added))
        question.has_more |= len(merged) > question.limit or len(added) >= question.limit
        question.entries = merged[: question.limit]
        question.missing.discard(message.task)
        size = sum(len(text) for _, text, _ in question.entries)
        if size > ANSWER_BYTES_MAX:
            reason = _too_large(f"the answer has more than {ANSWER_BYTES_MAX} bytes")
            self._end(message.query, QuestionState.TOO_LARGE, reason, packing, out)
        elif question.missing:
            question.state = QUESTION.follow(question.state, QuestionState.ASKED)
        elif question.is_known:
            self._end(message.query, QuestionState.ANSWERED, "", packing, out)
        else:
            self._end(message.query, QuestionState.REFUSED, question.unknown, packing, out)

    def replaced(self, task: int, packing: PackingPlan, out: Out) -> None:
        """The process that was asked is gone."""
        for number, question in list(self._questions.items()):
            if task in question.missing:
                reason = _restarting(_instance(packing, task))
                self._end(number, QuestionState.RESTARTING, reason, packing, out)

    def expire(self, packing: PackingPlan, now: float, out: Out) -> None:
        """The questions whose time is over by now, or that a plan has overtaken."""
        for number, question in list(self._questions.items()):
            if tuple(packing.tasks_of.get(question.component, ())) != question.tasks:
                self._end(number, QuestionState.MOVED, _moved(question), packing, out)
            elif now >= question.deadline:
                silent = ", ".join(_instance(packing, each) for each in sorted(question.missing))
                reason = (
                    f"{silent:.200} has not answered in {question.secs:g} s: a call of user code"
                    " lasts, or back-pressure blocks one (`heronpy stats`): give more time"
                )
                self._end(number, QuestionState.TIMED_OUT, reason, packing, out)

    def _end(
        self, number: int, state: QuestionState, reason: str, packing: PackingPlan, out: Out
    ) -> None:
        question = self._questions.pop(number)
        QUESTION.follow(question.state, state)
        name = state.name.lower()
        setattr(self.counts, name, getattr(self.counts, name) + 1)
        reply: dict[str, Any] = {"outcome": name, "reason": reason, "name": question.name}
        if state is QuestionState.ANSWERED:
            reply["entries"] = [
                [task, _instance(packing, task), text] for _, text, task in question.entries
            ]
            reply["has_more"] = question.has_more
        out.append(events.Send(question.asker, Reply(True, reply)))

    def validate(self) -> None:
        """AssertionError if the parts do not fit together."""
        counts = self.counts
        ended = (
            counts.answered + counts.refused + counts.restarting + counts.too_large
            + counts.failed + counts.moved + counts.timed_out
        )  # fmt: skip
        assert counts.asked == ended + len(self._questions), counts
        assert len(self._questions) <= QUERIES_MAX
        for question in self._questions.values():
            assert question.missing <= set(question.tasks)
            assert question.missing, f"{question.name}: all have answered"
            assert len(question.entries) <= question.limit


def refused(error: HeronError) -> Reply:
    """The reply to a question that makes no sense."""
    outcome = QuestionState.REFUSED.name.lower() if isinstance(error, UnknownState) else "invalid"
    return Reply(True, {"outcome": outcome, "reason": str(error)})


def query_route(
    topology: TopologySpec, packing: PackingPlan, name: str, addresses: Mapping[int, str]
) -> Json:
    """Route by which a client finds the owner of a key of COMPONENT.STATE; HeronError if keys may
    be at any task. `addresses`: container -> address of its registered stream manager."""
    component, state = _named(topology, name)
    if state == PUT or not component.is_divided_by_key:
        raise HeronError(
            f"{name}: {component.name} is not grouped by fields, so its keys have no fixed task"
        )
    tasks = packing.tasks_of.get(component.name, ())
    return {
        "component": component.name,
        "state": state,
        "fields": _key_fields(component),
        "tasks": [
            [task, _instance(packing, task), addresses.get(packing.container_of[task], "")]
            for task in tasks
        ],
    }


def _key_fields(component: ComponentSpec) -> tuple[str, ...]:
    return next((each.grouping.fields for each in component.inputs if each.grouping.fields), ())


class _Asked:
    """The arguments of a question, checked."""

    def __init__(self, arguments: Json, component: ComponentSpec, state: str) -> None:
        self.limit = _number(arguments, "limit", LIMIT, 1, LIMIT_MAX)
        self.secs = float(_number(arguments, "secs", SECS, 0.01, SECS_MAX))
        self.map_key = _text(arguments, "map_key")
        self.prefix = _text(arguments, "prefix")
        self.key = ""
        self._owned_by: Any = None
        if given := _text(arguments, "key"):
            key = _key_given(component, state, _opened("key", given))
            self.key = typed_text(key)
            self._owned_by = (key,) if component.is_divided_by_key and state != PUT else None
        elif self.map_key:
            raise HeronError("a map key needs the key whose map it is of")
        if self.key and self.prefix:
            raise HeronError("key and prefix exclude each other: give one of them")

    def those_of(self, tasks: tuple[int, ...]) -> tuple[int, ...]:
        """The tasks that are asked, of those of the component."""
        if self._owned_by is None:
            return tasks
        (key,) = self._owned_by
        return (tasks[owner(key, len(tasks))],)


def _named(topology: TopologySpec, name: str) -> tuple[ComponentSpec, str]:
    """The component and the state of COMPONENT.STATE; a component alone means what it put()s."""
    components = [each for each in topology.components if f"{name}.".startswith(f"{each.name}.")]
    if not components:
        known = choices("components", name.partition(".")[0], topology.by_name)
        raise UnknownState(f"{topology.name} has no component of {name!r:.200}; {known}")
    component = max(components, key=lambda each: len(each.name))
    return component, name[len(component.name) + 1 :] or PUT


def _key_given(component: ComponentSpec, state: str, given: Any) -> Any:
    """A key in the form used by states; HeronError for wrong fields."""
    if state == PUT:
        return tuple(given) if isinstance(given, list) else given
    try:
        return CurrentKey(component.name, _key_fields(component)).given(given)
    except StateError as error:
        raise HeronError(str(error)) from None


def _number(arguments: Json, name: str, default: float, least: float, most: float) -> Any:
    value = arguments.get(name, default)
    kinds = (int,) if isinstance(default, int) else (int, float)
    if type(value) not in kinds or not least <= value <= most:
        raise HeronError(f"{name} is from {least} to {most}, not {reprlib.repr(value)}")
    return value


def _text(arguments: Json, name: str) -> str:
    """The JSON of a value; empty if it is not given."""
    value = arguments.get(name, "")
    if type(value) is not str or len(value) > KEY_CHARACTERS_MAX:
        raise HeronError(f"{name} is JSON of at most {KEY_CHARACTERS_MAX} characters")
    if value:
        _opened(name, value)
    return value


def _opened(name: str, text: str) -> Any:
    try:
        return value_in(text)
    except (ValueError, RecursionError) as error:
        raise HeronError(f"{name} is not JSON of a value: {error}") from None


def _instance(packing: PackingPlan, task: int) -> str:
    return instance_name(packing, task) if task in packing.instances else f"task {task}"


def _moved(question: _Question) -> str:
    return f"{question.component} is being scaled, and its keys have moved: ask again"


def _restarting(instance: str) -> str:
    return f"{instance} is starting, or its state is being restored: ask again in a moment"


def _too_large(reason: str) -> str:
    return f"{reason}: give a smaller --limit, a --map-key, or read a savepoint"


def _reason(question: _Question, message: StateAnswered, packing: PackingPlan) -> str:
    if message.outcome is QueryOutcome.RESTARTING:
        return _restarting(_instance(packing, message.task))
    if message.outcome is QueryOutcome.STATELESS:
        return (
            f"{question.component} is stateless: only a component that declares states, or has "
            "init_state, can be queried"
        )
    if message.outcome is QueryOutcome.TOO_LARGE:
        return _too_large(message.reason)
    return message.reason
