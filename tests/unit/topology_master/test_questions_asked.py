"""Questions about state at the topology master: who is asked, and how each question ends."""

import json
import re
from typing import Any

import pytest

from heron_core.errors import HeronError, UsageError
from heron_core.plans import ContainerPlan, InstancePlan, PackingPlan
from heron_core.state.key_order import order_of
from heron_core.state.keys import owner
from heron_core.state.questions import UnknownState
from heron_core.topology import (
    ComponentSpec,
    GroupingKind,
    GroupingSpec,
    InputSpec,
    StreamSpec,
    TopologySpec,
)
from heron_core.typed_values import typed_text
from heron_core.wire.messages import QueryOutcome, QueryState, Reply, StateAnswered
from heron_engine.topology_master import events, queries
from heron_engine.topology_master.queries import QUERIES_MAX, QUESTION, Queries, refused
from tests.transitions_seen import arrows, transitions_seen
from tests.unit.topology_master.test_trace_export import RESOURCE

ASKER = b"asker"
BY_WORD = InputSpec("lines", "default", GroupingSpec(GroupingKind.FIELDS, ("word",)))
BOTH = ("word", "day")
BY_BOTH = InputSpec("lines", "default", GroupingSpec(GroupingKind.FIELDS, BOTH))
ANYHOW = InputSpec("lines", "default", GroupingSpec(GroupingKind.SHUFFLE))
TOPOLOGY = TopologySpec(
    "words",
    (
        ComponentSpec("lines", True, "m.S", 1, (StreamSpec("default", ("word", "day")),)),
        ComponentSpec("count", False, "m.B", 4, (), (BY_WORD,)),
        ComponentSpec("count.all", False, "m.B", 2, (), (ANYHOW,)),
        ComponentSpec("days", False, "m.B", 2, (), (BY_BOTH,)),
    ),
)
LINES, COUNT, ALL, DAYS = (1,), (2, 3, 4, 5), (6, 7), (8, 9)


def packing(*left_out: int) -> PackingPlan:
    """Two containers."""
    names = {"lines": LINES, "count": COUNT, "count.all": ALL, "days": DAYS}
    instances = [
        InstancePlan(task, name, index, RESOURCE)
        for name, tasks in names.items()
        for index, task in enumerate(tasks)
        if task not in left_out
    ]
    return PackingPlan(
        "words",
        (
            ContainerPlan(1, tuple(instances[::2]), RESOURCE),
            ContainerPlan(2, tuple(instances[1::2]), RESOURCE),
        ),
    )


PACKING = packing()


class Asked:
    """The questions of a topology, and the replies to them."""

    def __init__(self) -> None:
        self.queries = Queries(TOPOLOGY)
        self.out: list[Any] = []
        self.now = 0.0

    def ask(self, name: str, **arguments: Any) -> QueryState:
        query, reply = self.queries.begin(ASKER, {"name": name, **arguments}, PACKING, self.now)
        assert reply is None
        self.queries.validate()
        return query

    def answer(
        self,
        query: QueryState,
        task: int,
        *keys: Any,
        outcome: QueryOutcome = QueryOutcome.ANSWERED,
        reason: str = "",
        plan: PackingPlan = PACKING,
    ) -> None:
        entries = tuple((order_of(key), json.dumps({"key": key})) for key in keys)
        message = StateAnswered(task, query.query, outcome, reason, entries)
        self.queries.take(message, plan, self.out)
        self.queries.validate()

    def replies(self) -> list[dict[str, Any]]:
        """Since the last time."""
        found, self.out = self.out, []
        for each in found:
            assert isinstance(each, events.Send)
            assert isinstance(each.message, Reply)
            assert (each.receiver, each.message.ok) == (ASKER, True)
        return [dict(each.message.data) for each in found]


@pytest.fixture
def asked() -> Asked:
    return Asked()


@pytest.mark.parametrize("word", ["storm", "heron", 7, None, 2.5])
def test_a_key_is_asked_of_the_task_to_which_fields_grouping_sends_it(
    asked: Asked, word: Any
) -> None:
    query = asked.ask("count.seen", key=typed_text(word))
    assert query.tasks == (COUNT[owner(word, 4)],)
    assert (query.state, query.key) == ("seen", typed_text(word))
    asked.answer(query, query.tasks[0], word)
    index = owner(word, 4)
    (reply,) = asked.replies()
    assert reply["entries"] == [[COUNT[index], f"count[{index}]", json.dumps({"key": word})]]
    assert (reply["outcome"], reply["name"]) == ("answered", "count.seen")


def test_a_key_of_several_fields_is_a_list(asked: Asked) -> None:
    query = asked.ask("days.seen", key='["storm", 7]')
    assert query.tasks == (DAYS[owner(("storm", 7), 2)],)
    assert query.key == '{"$tuple":["storm",7]}'
    with pytest.raises(HeronError, match=r"days: a key is \(word, day\) here, not 'storm'"):
        asked.ask("days.seen", key='"storm"')


def test_a_list_of_one_field_is_one_value(asked: Asked) -> None:
    query = asked.ask("count.seen", key="[1, 2]")
    assert query.key == '{"$tuple":[{"$tuple":[1,2]}]}'
    assert query.tasks == (COUNT[owner(((1, 2),), 4)],)


def test_who_is_not_grouped_by_fields_is_asked_as_a_whole(asked: Asked) -> None:
    assert asked.ask("count.all.seen", key='"storm"').tasks == ALL
    assert asked.ask("count", key='"storm"').tasks == COUNT
    assert asked.ask("lines", key='["a", 1]').key == '{"$tuple":["a",1]}'


def test_answers_are_merged_in_the_order_of_keys_up_to_the_limit(asked: Asked) -> None:
    query = asked.ask("count.seen", limit=5)
    assert query.tasks == COUNT
    asked.answer(query, 2, "b", "f", "x")
    asked.answer(query, 4)
    asked.answer(query, 5, "a", "c", "y")
    assert asked.replies() == []
    asked.answer(query, 3, 7, "d")
    (reply,) = asked.replies()
    found = [(task, json.loads(text)["key"]) for task, _, text in reply["entries"]]
    assert found == [(3, 7), (5, "a"), (2, "b"), (5, "c"), (3, "d")]
    assert reply["has_more"]


@pytest.mark.parametrize(
    ("outcome", "name", "text"),
    [
        (QueryOutcome.STATELESS, "refused", "count is stateless"),
        (QueryOutcome.OTHER_KIND, "refused", "why"),
        (QueryOutcome.RESTARTING, "restarting", r"count\[0\] is starting"),
        (QueryOutcome.TOO_LARGE, "too_large", "why: give a smaller --limit"),
        (QueryOutcome.FAILED, "failed", "why"),
    ],
)
def test_one_instance_that_cannot_answer_ends_the_question(
    asked: Asked, outcome: QueryOutcome, name: str, text: str
) -> None:
    query = asked.ask("count.seen")
    asked.answer(query, 3, "a")
    asked.answer(query, 2, outcome=outcome, reason="why")
    (reply,) = asked.replies()
    assert reply["outcome"] == name
    assert re.match(text, reply["reason"])
    asked.answer(query, 4, "b")
    assert asked.replies() == []
    assert asked.queries.counts.late == 1


def test_a_state_that_some_instances_have_not_made_yet_is_there(asked: Asked) -> None:
    query = asked.ask("count.seen")
    for task in (2, 3, 4):
        asked.answer(query, task, outcome=QueryOutcome.UNKNOWN, reason="count has no state 'seen'")
    asked.answer(query, 5, "a")
    assert [reply["outcome"] for reply in asked.replies()] == ["answered"]
    query = asked.ask("count.seen")
    for task in COUNT:
        asked.answer(query, task, outcome=QueryOutcome.UNKNOWN, reason="count has no state 'seen'")
    (reply,) = asked.replies()
    assert (reply["outcome"], reply["reason"]) == ("refused", "count has no state 'seen'")


def test_the_death_of_an_instance_ends_the_questions_to_it_alone(asked: Asked) -> None:
    one, other = asked.ask("count.seen"), asked.ask("days.seen")
    asked.answer(one, 2, "a")
    asked.queries.replaced(2, PACKING, asked.out)  # it had answered before
    assert asked.replies() == []
    asked.queries.replaced(3, PACKING, asked.out)
    (reply,) = asked.replies()
    assert reply["outcome"] == "restarting"
    assert "count[1] is starting" in reply["reason"]
    for task in DAYS:
        asked.answer(other, task)
    assert [reply["outcome"] for reply in asked.replies()] == ["answered"]


def test_a_question_ends_by_its_deadline_and_names_who_was_silent(asked: Asked) -> None:
    query = asked.ask("count.seen", secs=2.0)
    asked.answer(query, 2, "a")
    asked.answer(query, 3, "a")
    asked.queries.expire(PACKING, 1.99, asked.out)
    assert asked.replies() == []
    asked.queries.expire(PACKING, 2.0, asked.out)
    (reply,) = asked.replies()
    assert reply["outcome"] == "timed_out"
    assert reply["reason"].startswith("count[2], count[3] has not answered in 2 s")


def test_keys_that_have_moved_are_asked_again(asked: Asked) -> None:
    """A task that had a key may have lost it to another one: its answer would be that there is
    nothing."""
    query = asked.ask("count.seen", key='"storm"')
    asked.answer(query, query.tasks[0], plan=packing(5))
    assert [reply["outcome"] for reply in asked.replies()] == ["moved"]
    asked.ask("count.seen")
    asked.queries.expire(packing(5), 0.0, asked.out)
    assert [reply["outcome"] for reply in asked.replies()] == ["moved"]


def test_so_many_questions_are_in_flight_and_no_more(asked: Asked) -> None:
    first = asked.ask("days.seen")
    for _ in range(QUERIES_MAX - 1):
        asked.ask("count.seen")
    _, reply = asked.queries.begin(ASKER, {"name": "count.seen"}, PACKING, 0.0)
    assert reply is not None
    assert reply.data["outcome"] == "overloaded"
    assert str(QUERIES_MAX) in reply.data["reason"]
    asked.queries.validate()
    for task in DAYS:
        asked.answer(first, task)
    assert asked.ask("count.seen").query == QUERIES_MAX + 1
    assert asked.queries.counts.overloaded == 1


def test_an_answer_that_is_too_large_as_a_whole(
    asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queries, "ANSWER_BYTES_MAX", 30)
    query = asked.ask("count.seen")
    asked.answer(query, 2, "a" * 10)
    assert asked.replies() == []
    asked.answer(query, 3, "b" * 10)
    assert [reply["outcome"] for reply in asked.replies()] == ["too_large"]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"name": "count.seen", "limit": 0}, "limit is from 1 to 10000, not 0"),
        ({"name": "count.seen", "limit": 2.5}, "limit is from 1 to 10000"),
        ({"name": "count.seen", "secs": 61}, "secs is from 0.01 to 60"),
        ({"name": "count.seen", "key": "{"}, "key is not JSON of a value"),
        ({"name": "count.seen", "key": b"x"}, "key is JSON of at most"),
        ({"name": "count.seen", "key": '"a"', "prefix": '"a"'}, "exclude each other"),
        ({"name": "count.seen", "map_key": '"a"'}, "a map key needs the key"),
        ({"name": "count.seen", "prefix": '"' + "a" * 70_000 + '"'}, "at most 65536 characters"),
    ],
)
def test_a_question_that_makes_no_sense_is_refused(
    asked: Asked, arguments: dict[str, Any], text: str
) -> None:
    with pytest.raises(HeronError, match=text) as caught:
        asked.queries.begin(ASKER, arguments, PACKING, 0.0)
    assert refused(caught.value).data["outcome"] == "invalid"
    assert asked.queries.pending == 0


def test_a_component_that_is_not_there_is_named(asked: Asked) -> None:
    with pytest.raises(UnknownState, match=r"no component of 'cuont\.seen'") as caught:
        asked.ask("cuont.seen")
    assert isinstance(caught.value, UsageError)
    assert refused(caught.value).data["outcome"] == "refused"


def test_each_arrow_of_the_drawing_is_taken() -> None:
    with transitions_seen() as seen:
        test_a_state_that_some_instances_have_not_made_yet_is_there(Asked())
        for outcome in (QueryOutcome.RESTARTING, QueryOutcome.TOO_LARGE, QueryOutcome.FAILED):
            asked = Asked()
            asked.answer(asked.ask("count.seen"), 2, outcome=outcome)
        test_keys_that_have_moved_are_asked_again(Asked())
        test_a_question_ends_by_its_deadline_and_names_who_was_silent(Asked())
    assert seen == arrows(QUESTION)


def test_a_client_is_told_where_keys_are() -> None:
    addresses = {1: "tcp://one"}
    route = queries.query_route(TOPOLOGY, PACKING, "days.seen", addresses)
    assert (route["component"], route["state"], route["fields"]) == ("days", "seen", BOTH)
    assert route["tasks"] == [
        [task, f"days[{index}]", addresses.get(PACKING.container_of[task], "")]
        for index, task in enumerate(DAYS)
    ]


@pytest.mark.parametrize("name", ["count", "count.all.x", "lines.x", "nothing.x"])
def test_a_key_that_may_be_anywhere_has_no_route(name: str) -> None:
    with pytest.raises(HeronError):
        queries.query_route(TOPOLOGY, PACKING, name, {})
