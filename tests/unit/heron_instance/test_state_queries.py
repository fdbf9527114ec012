"""Questions about an instance's state: answered between two tuples, and in steps."""

from itertools import pairwise
from typing import Any

import pytest

from heron_core.hot_rows import CLOCK_EVERY
from heron_core.typed_values import typed_text
from heron_core.wire import messages
from heron_core.wire.messages import QueryOutcome, QueryState, StateAnswered, StateQuestion
from heron_instance import state_queries
from heron_instance.events import ControlReceived, InstanceReceived, Receive, SendControl, Turn
from heron_instance.input.driver import POLL_SECS
from heronpy_compat import Bolt
from heronpy_compat.api.state.keyed_state import map_state, value_state
from tests.unit.heron_instance.checkpointed_support import (
    INCARNATION,
    ME,
    Counting,
    Process,
)
from tests.unit.heron_instance.instance_support import batch

MANY = 60
SECS = 0.05
QUICK_SECS = 0.00001
AT = 12
BYTES = 1 << 20


class Asked(Counting):
    """Counts in keyed states, and has something happen in one of its calls."""

    totals = value_state(default=0)
    pages = map_state()
    process_of: Any = None
    heard: Any = None

    def process(self, tup: Any) -> None:
        value = tup.values[0]
        self.totals.for_key("all").put(self.totals.for_key("all").get() + 1)
        self.pages.for_key("all").put(value, value)
        type(self).process_of.now += SECS
        if value == AT and type(self).heard is not None:
            heard, type(self).heard = type(self).heard, None
            heard()
        # The second half of a tuple: no question may come between the two.
        self.totals.for_key("done").put(self.totals.for_key("done").get() + 1)


class Quick(Counting):
    """Counts in less time than lies between two looks."""

    totals = value_state(default=0)
    process_of: Any = None

    def process(self, tup: Any) -> None:
        self.totals.for_key("all").put(self.totals.for_key("all").get() + 1)
        type(self).process_of.now += QUICK_SECS


class Stateless(Bolt):
    def process(self, tup: Any) -> None:
        """Keep nothing."""


def asked(state: str, number: int = 1, **question: Any) -> QueryState:
    whole: dict[str, Any] = {"limit": 100, "bytes_max": BYTES, **question}
    return QueryState(number, (ME,), state, **whole)


def made(kind: Any = Asked) -> Process:
    process = Process(kind)
    kind.process_of = process
    process.begin(1)
    return process


def answers(said: list[Any]) -> list[StateAnswered]:
    return [each for each in said if isinstance(each, StateAnswered)]


def texts(said: list[Any]) -> list[str]:
    (answer,) = answers(said)
    assert (answer.task, answer.outcome) == (ME, QueryOutcome.ANSWERED), answer
    return [text for _, text in answer.entries]


def test_a_key_is_answered_at_once() -> None:
    bolt = made()
    bolt.receive(batch([1], [2], epoch=1))
    assert texts(bolt.hear(asked("totals", key='"all"'))) == ['{"key":"all","value":2}']
    assert texts(bolt.hear(asked("totals", key='"none"'))) == []
    pages = '{"key":"all","value":{"$map":[[1,1],[2,2]]}}'
    assert texts(bolt.hear(asked("pages", key='"all"'))) == [pages]
    entry = bolt.hear(asked("pages", key='"all"', map_key="2"))
    assert texts(entry) == ['{"key":"all","value":2}']
    first, second = texts(bolt.hear(asked("totals")))
    assert (first, second) == ('{"key":"all","value":2}', '{"key":"done","value":2}')
    assert texts(bolt.hear(asked("totals", prefix='"do"'))) == [second]


def test_what_put_keeps_is_asked_for_as_put() -> None:
    bolt = Process(Counting)
    bolt.begin(1)
    bolt.receive(batch(["storm"], ["storm"], epoch=1))
    assert texts(bolt.hear(asked("put", key='"storm"'))) == ['{"key":"storm","value":2}']


def test_a_question_comes_between_two_tuples_of_a_message_under_way() -> None:
    """The rest of the message comes behind it, and nothing twice."""
    bolt = made()
    Asked.heard = lambda: bolt.core.handle(ControlReceived(asked("totals")), bolt.now)
    said = bolt.receive(batch(*([each] for each in range(MANY)), epoch=1))
    first, second = texts(said)
    number = int(first.rpartition(":")[2][:-1])
    assert first == f'{{"key":"all","value":{number}}}'
    assert second == f'{{"key":"done","value":{number}}}', "amid a tuple"
    assert AT < number < MANY
    last = texts(bolt.hear(asked("totals", 2)))
    assert last[0] == f'{{"key":"all","value":{MANY}}}'
    assert not bolt.shared.interrupts


def test_a_long_scan_leaves_the_component_its_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_queries, "STEP_KEYS", 1)
    monkeypatch.setattr(state_queries, "STEP_SECS", 0.0)
    bolt = made()
    bolt.receive(batch([1], epoch=1))
    for number in range(20):
        bolt.component.totals.for_key(number).put(number)
    bolt.core.handle(ControlReceived(asked("totals")), bolt.now)
    before, said = bolt.component.totals.for_key("all").get(), list[Any]()
    out = list(bolt.core.handle(InstanceReceived(batch([2], epoch=1)), bolt.now))
    steps = 0
    while not answers(said) and steps < 100:
        said += [each.message for each in out if isinstance(each, SendControl)]
        out = list(bolt.core.handle(Turn(), bolt.now))
        steps += 1
    assert steps > 20
    assert bolt.component.totals.for_key("all").get() == before + 1, "it has gone on meanwhile"
    assert len(texts(said)) == 22
    assert not bolt.shared.interrupts


def test_an_answer_above_the_limit_says_so() -> None:
    bolt = made()
    bolt.receive(batch([1], epoch=1))
    (answer,) = answers(bolt.hear(asked("totals", bytes_max=30)))
    assert answer.outcome is QueryOutcome.TOO_LARGE
    assert answer.reason.endswith("and the limit is 30: ask for fewer keys")


@pytest.mark.parametrize(
    ("question", "outcome", "text"),
    [
        (
            asked("sen"),
            QueryOutcome.UNKNOWN,
            "tested has no state 'sen' (it has: put, totals, pages)",
        ),
        (asked("totals", key='"all"', map_key="1"), QueryOutcome.OTHER_KIND, "is a value state"),
        (asked("totals", prefix="7"), QueryOutcome.OTHER_KIND, "a prefix is a text"),
        (asked("totals", key="{"), QueryOutcome.FAILED, "JSONDecodeError"),
        (asked("totals", key='{"$map":[]}'), QueryOutcome.FAILED, "TypeError: unhashable"),
    ],
)
def test_what_cannot_be_answered_says_why_and_ends_nothing(
    question: QueryState, outcome: QueryOutcome, text: str
) -> None:
    bolt = made()
    (answer,) = answers(bolt.hear(question))
    assert answer.outcome is outcome
    assert text in answer.reason
    bolt.receive(batch([1], epoch=1))
    assert texts(bolt.hear(asked("totals", 2, key='"all"'))) == ['{"key":"all","value":1}']


def test_who_keeps_no_state_says_so() -> None:
    bolt = Process(Stateless)
    bolt.begin(1)
    (answer,) = answers(bolt.hear(asked("totals")))
    assert answer.outcome is QueryOutcome.STATELESS


def test_who_has_no_state_yet_says_so() -> None:
    bolt = Process(Asked, waits=True)
    (answer,) = answers(bolt.hear(asked("totals")))
    assert answer.outcome is QueryOutcome.RESTARTING
    bolt.plan(1)
    (answer,) = answers(bolt.hear(asked("totals", 2)))
    assert answer.outcome is QueryOutcome.RESTARTING


def test_a_scan_ends_with_the_component_whose_state_it_reads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A restore makes another component, and closes the states of the one before."""
    monkeypatch.setattr(state_queries, "STEP_KEYS", 1)
    monkeypatch.setattr(state_queries, "STEP_SECS", 0.0)
    bolt = made()
    bolt.receive(batch([1], epoch=1))
    for number in range(20):
        bolt.component.totals.for_key(number).put(number)
    bolt.trigger(5)
    bolt.receive(batch([2], epoch=1))
    assert answers(bolt.hear(asked("totals"))) == []
    said = bolt.plan(2, 5) + bolt.plan(2, 5, INCARNATION)
    assert answers(said)[0].outcome is QueryOutcome.RESTARTING


def test_a_bolt_that_back_pressure_blocks_answers() -> None:
    bolt = made()
    bolt.receive(batch([1], epoch=1))
    bolt.hear(messages.Pause(on=True))
    assert texts(bolt.hear(asked("totals", key='"all"'))) == ['{"key":"all","value":1}']
    assert not bolt.shared.may_send, "back-pressure is not lifted for it"


def test_an_answer_is_sent_before_further_input_is_taken() -> None:
    bolt = made()
    bolt.receive(batch([1], epoch=1))
    bolt.core.handle(ControlReceived(asked("totals", key='"all"')), bolt.now)
    out = bolt.handle(Turn())
    assert isinstance(out[0], SendControl)
    assert isinstance(out[-1], Receive)


def test_keys_are_typed() -> None:
    bolt = made()
    bolt.component.totals.for_key("7").put("text")
    bolt.component.totals.for_key(7).put("number")
    for key, value in (("7", "text"), (7, "number")):
        (text,) = texts(bolt.hear(asked("totals", key=typed_text(key))))
        assert text == f'{{"key":{typed_text(key)},"value":"{value}"}}'


def test_fast_tuples_do_not_hide_what_has_come() -> None:
    """Python lets the control thread run 5 ms later: the main thread looks itself, each ms."""
    bolt = made(Quick)
    polled: list[float] = []

    def poll() -> None:
        polled.append(bolt.now)
        if len(polled) == 3:
            bolt.core.handle(ControlReceived(asked("totals", key='"all"')), bolt.now)

    bolt.core.driver.poll_by(poll)
    (text,) = texts(bolt.receive(batch(*([each] for each in range(1000)), epoch=1)))
    gaps = [after - before for before, after in pairwise(polled)]
    assert max(gaps) <= POLL_SECS + CLOCK_EVERY * QUICK_SECS + 1e-9
    assert min(gaps) >= POLL_SECS, "each costs a call of the kernel"
    counted = int(text.rpartition(":")[2][:-1])
    assert counted * QUICK_SECS <= 3 * (POLL_SECS + CLOCK_EVERY * QUICK_SECS)
    assert bolt.component.totals.for_key("all").get() == 1000, "the rest comes behind it"


def of_client(bolt: Process, **changed: Any) -> StateAnswered:
    """The answer to a client of the instance."""
    given = {"epoch": 1, "task": ME, "state": "totals", "key": '"all"', **changed}
    said: list[StateAnswered] = []
    bolt.core.queries.take_of_client(StateQuestion(8, **given), said.append)
    (answer,) = said
    assert (answer.task, answer.query) == (ME, 8)
    return answer


def test_a_client_beside_the_instance_has_its_answer_alone() -> None:
    bolt = made()
    bolt.receive(batch([1], [2], epoch=1))
    assert texts([of_client(bolt)]) == ['{"key":"all","value":2}']
    assert texts([of_client(bolt, key='"none"')]) == []
    assert texts([of_client(bolt, state="pages", map_key="2")]) == ['{"key":"all","value":2}']
    out = bolt.core.handle(Turn(), bolt.now)
    assert not [each for each in out if isinstance(each, SendControl)], "nothing for the master"
    assert texts(bolt.hear(asked("totals", key='"all"'))) == ['{"key":"all","value":2}']
    assert bolt.core.queries.counts.by_name() == {"asked": 3, "answered": 3}


@pytest.mark.parametrize(
    ("changed", "outcome", "count"),
    [
        ({"epoch": 2}, QueryOutcome.RESTARTING, "moved"),
        ({"state": "sen"}, QueryOutcome.UNKNOWN, "refused"),
        ({"map_key": "1"}, QueryOutcome.OTHER_KIND, "refused"),
        ({"key": "{"}, QueryOutcome.FAILED, "failed"),
    ],
)
def test_each_end_of_a_clients_question_is_counted(
    changed: dict[str, Any], outcome: QueryOutcome, count: str
) -> None:
    bolt = made()
    assert of_client(bolt, **changed).outcome is outcome
    assert bolt.core.queries.counts.by_name() == {"asked": 1, count: 1}


def test_a_client_is_not_answered_from_a_state_that_is_being_restored() -> None:
    bolt = made()
    bolt.shared.is_restoring = True
    assert of_client(bolt).outcome is QueryOutcome.RESTARTING
    assert bolt.core.queries.counts.by_name() == {"asked": 1, "restarting": 1}


def test_a_client_of_an_instance_without_state_is_refused() -> None:
    assert of_client(made(Stateless)).outcome is QueryOutcome.STATELESS


def test_a_client_is_answered_between_two_tuples_and_the_message_goes_on() -> None:
    bolt = made()
    seen: list[tuple[str, str]] = []

    def poll() -> None:
        (first,), (second,) = (texts([of_client(bolt, key=key)]) for key in ('"all"', '"done"'))
        seen.append((first.rpartition(":")[2], second.rpartition(":")[2]))

    bolt.receive(batch([MANY], epoch=1))
    bolt.core.driver.poll_by(poll)
    said = bolt.receive(batch(*([each] for each in range(MANY)), epoch=1))
    assert not answers(said)
    assert seen
    assert all(first == second for first, second in seen), "amid a tuple"
    assert len(set(seen)) > 1, "the message was over"
    assert texts([of_client(bolt)]) == [f'{{"key":"all","value":{MANY + 1}}}']
