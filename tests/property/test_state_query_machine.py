"""The topology master's table of questions as a state machine: whatever happens in whatever order,
each question that was taken gets exactly one reply, and what is answered is what instances said."""

import json
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from heron_core.state.key_order import order_of
from heron_core.state.keys import owner
from heron_core.typed_values import typed_text
from heron_core.wire.messages import QueryOutcome, QueryState, StateAnswered
from heron_engine.topology_master import events
from heron_engine.topology_master.queries import QUERIES_MAX, Queries
from tests.unit.topology_master.test_questions_asked import COUNT, TOPOLOGY, packing

WORDS = ("a", "b", "c", "d", "e", "f", "g")
SECS = 5.0
ANSWERED, UNKNOWN = QueryOutcome.ANSWERED, QueryOutcome.UNKNOWN


class QuestionMachine(RuleBasedStateMachine):
    """Clients, instances that answer when they like, deaths, scalings and time."""

    def __init__(self) -> None:
        super().__init__()
        self.queries = Queries(TOPOLOGY)
        self.now = 0.0
        self.packing = packing()
        self.open: dict[bytes, tuple[QueryState, float]] = {}
        """asker -> its question, and until when"""
        self.said: dict[bytes, dict[int, list[str]]] = {}
        """asker -> task -> the keys that it has answered with"""
        self.replies: dict[bytes, int] = {}
        self.out: list[Any] = []
        self.askers = 0

    def _ask(self, **arguments: Any) -> None:
        self.askers += 1
        asker = b"%d" % self.askers
        whole = {"name": "count.seen", "secs": SECS, **arguments}
        is_full = self.queries.pending == QUERIES_MAX
        query, reply = self.queries.begin(asker, whole, self.packing, self.now)
        assert (reply is not None) == is_full
        if reply is None:
            self.open[asker] = query, self.now + SECS
            self.said[asker] = {}

    @rule(word=st.sampled_from(WORDS))
    def ask_for_a_key(self, word: str) -> None:
        self._ask(key=typed_text(word))

    @rule(limit=st.integers(1, 4))
    def ask_for_many(self, limit: int) -> None:
        self._ask(limit=limit)

    @precondition(lambda self: self.open)
    @rule(
        data=st.data(),
        task=st.sampled_from(COUNT),
        keys=st.sets(st.sampled_from(WORDS)),
        outcome=st.sampled_from([*[ANSWERED] * 6, UNKNOWN, QueryOutcome.FAILED]),
    )
    def an_instance_answers(
        self, data: Any, task: int, keys: set[str], outcome: QueryOutcome
    ) -> None:
        asker = data.draw(st.sampled_from(sorted(self.open)))
        query, _ = self.open[asker]
        own = sorted(key for key in keys if COUNT[owner(key, len(COUNT))] == task)
        first = own[: query.limit] if outcome is ANSWERED else []
        entries = tuple((order_of(key), json.dumps({"key": key})) for key in first)
        is_first = task in query.tasks and task not in self.said[asker]
        if is_first:
            self.said[asker][task] = first
        message = StateAnswered(task, query.query, outcome, "why", entries)
        self.queries.take(message, self.packing, self.out)
        self._take_replies()
        if is_first and outcome is QueryOutcome.FAILED:
            assert asker not in self.open

    @rule(task=st.sampled_from(COUNT))
    def an_instance_dies(self, task: int) -> None:
        self.queries.replaced(task, self.packing, self.out)
        self._take_replies()
        for asker, (query, _) in self.open.items():
            assert task not in set(query.tasks) - self.said[asker].keys()

    @rule(is_less=st.booleans())
    def the_component_is_scaled(self, is_less: bool) -> None:
        self.packing = packing(*([COUNT[-1]] if is_less else []))

    @rule(secs=st.sampled_from((0.0, 1.0, 4.0)))
    def time_passes(self, secs: float) -> None:
        self.now += secs
        self.queries.expire(self.packing, self.now, self.out)
        self._take_replies()
        assert all(until > self.now for _, until in self.open.values())

    def _take_replies(self) -> None:
        taken, self.out = self.out, []
        for each in taken:
            assert isinstance(each, events.Send)
            self.replies[each.receiver] = self.replies.get(each.receiver, 0) + 1
            query, _ = self.open.pop(each.receiver)
            data: Any = each.message
            if data.data["outcome"] == "answered":
                self._check(each.receiver, query, data.data["entries"])

    def _check(self, asker: bytes, query: QueryState, entries: list[Any]) -> None:
        said = self.said[asker]
        assert said.keys() == set(query.tasks)
        everything = sorted((key, task) for task, keys in said.items() for key in keys)
        found = [(json.loads(text)["key"], task) for task, _, text in entries]
        assert found == everything[: query.limit]

    @invariant()
    def each_question_has_one_reply(self) -> None:
        self.queries.validate()
        assert all(number == 1 for number in self.replies.values())
        assert self.queries.pending == len(self.open)
        assert self.queries.counts.asked == len(self.open) + len(self.replies)


TestQuestionMachine = QuestionMachine.TestCase
TestQuestionMachine.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
