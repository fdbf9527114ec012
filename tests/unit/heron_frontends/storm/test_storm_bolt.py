"""Bolt of pystorm: what it is given, what its emits are anchored to, when its tuples are acked."""

import logging
import pickle
from typing import Any

import pytest

from heron_api.task_hook import ITaskHook
from heron_core.topology import StreamSpec
from heron_core.wire.frames import FrameKind
from tests.unit.heron_frontends.storm.storm_support import OTHER, ROOT, edge_of, keeping, start

TWO_STREAMS = (StreamSpec("default", ("a", "b")), StreamSpec("more", ("c",)))
WITH_DIRECT = (StreamSpec("default", ("a", "b")), StreamSpec("direct", ("c",), direct=True))


class Hook(ITaskHook):
    """Notes what it is told."""

    seen: list[str] = []

    def emit(self, info: Any) -> None:
        self.seen.append("emit")

    def bolt_ack(self, info: Any) -> None:
        self.seen.append("ack")

    def bolt_execute(self, info: Any) -> None:
        self.seen.append("execute")


# --- before the first tuple ----------------------------------------------------------------------


def test_a_component_knows_where_it_is_before_initialize(storm: Any) -> None:
    seen: dict[str, Any] = {}

    class Told(storm.Bolt):  # type: ignore[misc]
        def initialize(self, conf: Any, ctx: Any) -> None:
            seen.update(vars(self))

    made = start(Told, topology__debug=False, mine=5)
    assert (seen["topology_name"], seen["task_id"], seen["component_name"]) == ("t", 1, "tested")
    assert seen["debug"] is False
    assert seen["storm_conf"]["mine"] == 5
    assert seen["storm_conf"]["storm.id"] == "t-1-0"
    assert seen["storm_conf"]["topology.original_name"] == "t"
    assert seen["context"]["taskid"] == 1
    assert seen["context"]["task->component"]["6"] == "other"
    assert seen["context"]["source->stream->fields"]["other"]["default"] == ["word", "n"]
    assert isinstance(seen["pid"], int)
    assert isinstance(seen["logger"], logging.Logger)
    assert seen["logger"].name == "pystorm.component.tested"
    assert made.user.auto_ack


@pytest.mark.parametrize("taken", ["everything", "serializer", "nothing"])
def test_constructors_take_what_they_always_took(storm: Any, taken: str) -> None:
    class Everything(storm.Bolt):  # type: ignore[misc]
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            self.made = True

    class Serializer(storm.Bolt):  # type: ignore[misc]
        def __init__(self, serializer: str = "json") -> None:
            super().__init__(serializer=serializer)
            self.made = True

    class Nothing(storm.Bolt):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.made = True

    kinds = {"everything": Everything, "serializer": Serializer, "nothing": Nothing}
    assert start(kinds[taken]).user.made


def test_a_log_in_the_constructor_is_not_lost(storm: Any) -> None:
    class Early(storm.Bolt):  # type: ignore[misc]
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            self.log("early", "warn")

    assert ("WARNING", "early") in start(Early).lines


def test_an_overridden_setup_adds_no_handler_that_logs_twice(storm: Any) -> None:
    class Setting(storm.Bolt):  # type: ignore[misc]
        def _setup_component(self, conf: Any, context: Any) -> None:
            context = {**context, "source->stream->fields": {}}
            super()._setup_component(conf, context)
            self.extra = conf["topology.name"]

    before = list(logging.getLogger().handlers)
    made = start(Setting)
    assert made.user.extra == "t"
    assert logging.getLogger().handlers == before


# --- the tuple -----------------------------------------------------------------------------------


def test_a_tuple_is_pystorms_namedtuple(storm: Any) -> None:
    made = start(keeping(storm))
    made.feed(["dog", 1])
    (tup,) = made.user.got
    assert isinstance(tup, storm.Tuple)
    assert (tup.component, tup.stream, tup.task) == ("other", "default", OTHER)
    assert tup.id == "7"
    assert tup.values == ("dog", 1)
    assert (tup.values.word, tup.values.n, tup.values[0]) == ("dog", 1, "dog")
    assert type(tup.values).__name__ == "OtherDefaultTuple"
    word, count = tup.values
    assert (word, count) == ("dog", 1)


def test_a_tuple_as_a_whole_is_equal_to_pystorms(storm: Any) -> None:
    made = start(keeping(storm))
    made.feed(["dog", 1])
    (tup,) = made.user.got
    plain = storm.Tuple("7", "other", "default", OTHER, ("dog", 1))
    tup_id, component, stream, task, values = tup
    assert (tup_id, component, stream, task, values) == plain
    assert tup == plain
    assert plain == tup
    assert not (tup != plain)  # noqa: SIM202 (the operator is what is tested)
    assert hash(tup) == hash(plain)
    assert (len(tup), tup[0], tup[-1], tup[1:3]) == (5, "7", ("dog", 1), ("other", "default"))
    assert tup._asdict()["values"] == ("dog", 1)
    assert tup._replace(task=9).task == 9
    assert repr(tup).startswith("Tuple(id='7', component='other'")


def test_values_travel_as_a_plain_tuple(storm: Any) -> None:
    made = start(keeping(storm))
    made.feed(["dog", 1])
    found = pickle.loads(pickle.dumps(made.user.got[0].values))
    assert (type(found), found) == (tuple, ("dog", 1))


def test_field_names_that_are_no_names_do_no_harm(storm: Any) -> None:
    made = start(keeping(storm))
    maker = made.component.values_maker("other", "odd names")
    values = maker([1, 2, 3, 4, 5])
    assert (values, values.twice) == ((1, 2, 3, 4, 5), 4)
    assert type(values).__name__ == "OtherOdd_NamesTuple"
    assert made.component.values_maker("other", "unheard of") is tuple


def test_ids_are_unique_for_tuples_that_nobody_tracks(storm: Any) -> None:
    made = start(keeping(storm))
    made.feed(["a", 1], ["b", 2], roots=[None, None])
    first, second = made.user.got
    assert first.id == first.id
    assert first.id != second.id


# --- emits and anchors ---------------------------------------------------------------------------


def test_an_emit_is_anchored_and_the_tuple_acked_after_it(storm: Any) -> None:
    made = start(keeping(storm, script=lambda self, tup: self.emit([tup.values.word, 2])))
    made.feed(["dog", 1])
    assert made.values() == [["dog", 2]]
    assert made.words_of(FrameKind.ACK) == [ROOT, 7 ^ edge_of(made)]


def test_without_auto_anchor_an_emit_is_on_its_own(storm: Any) -> None:
    kind = keeping(storm, script=lambda self, tup: self.emit(("x", 2)), auto_anchor=False)
    made = start(kind)
    made.feed(["dog", 1])
    assert made.words_of(FrameKind.ACK) == []
    made.core.flush()
    assert made.words_of(FrameKind.ACK) == [ROOT, 7]
    assert made.batches()[0].ids == [0, 0]


@pytest.mark.parametrize("by", ["tuple", "id"])
def test_several_anchors_by_tuple_or_by_id(storm: Any, by: str) -> None:
    def script(self: Any, tup: Any) -> None:
        if len(self.got) == 2:
            self.emit(["x", 1], anchors=[each if by == "tuple" else each.id for each in self.got])

    made = start(keeping(storm, script=script, auto_ack=False))
    made.feed(["a", 1], ["b", 2], roots=[(ROOT, 7), (ROOT + 1, 9)])
    for each in made.user.got:
        made.user.ack(each if by == "tuple" else each.id)
    made.core.flush()
    edge = edge_of(made)
    assert made.words_of(FrameKind.ACK) == [ROOT, 7 ^ edge, ROOT + 1, 9 ^ edge]
    assert made.component.live.by_id == {}


def test_what_can_be_emitted(storm: Any) -> None:
    def script(self: Any, tup: Any) -> None:
        self.emit(("a", 1))
        self.emit(tup.values)
        with pytest.raises(TypeError, match="must be either lists or tuples"):
            self.emit("ab")

    made = start(keeping(storm, script=script))
    made.feed(["dog", 1])
    assert made.values() == [["a", 1], ["dog", 1]]


def test_streams_and_task_ids(storm: Any) -> None:
    told = []

    def script(self: Any, tup: Any) -> None:
        told.append(self.emit([1], stream="more", need_task_ids=True))
        told.append(self.emit(["a", 1]))

    made = start(keeping(storm, script=script), outputs=TWO_STREAMS)
    made.feed(["dog", 1])
    (tasks, nothing) = told
    assert nothing is None
    assert len(tasks) == 1
    assert 2 <= tasks[0] <= 5
    assert made.values(1) == [[1]]


def test_direct_emits(storm: Any) -> None:
    told = []

    def script(self: Any, tup: Any) -> None:
        told.append(self.emit([1], stream="direct", direct_task=3, need_task_ids=True))
        self.emit(["a", 1], direct_task=3)

    made = start(keeping(storm, script=script), outputs=WITH_DIRECT)
    made.feed(["dog", 1])
    assert told == [[3]]
    assert made.emitted() == [(3, [1])]
    assert "tested.default is not a direct stream" in made.errors[0]
    assert made.failed() == [0]


def test_an_undeclared_stream_fails_the_tuple_and_names_the_component(storm: Any) -> None:
    made = start(keeping(storm, script=lambda self, tup: self.emit([1], stream="typo")))
    made.feed(["dog", 1])
    assert "tested emits on stream 'typo', which it does not declare" in made.errors[0]
    assert made.failed() == [0]


def test_task_hooks_see_what_a_bolt_does(storm: Any) -> None:
    Hook.seen.clear()
    kind = keeping(storm, script=lambda self, tup: self.emit([tup.values.word, 2]))
    made = start(kind, topology__auto__task__hooks=[f"{Hook.__module__}.Hook"])
    made.feed(["dog", 1])
    assert Hook.seen == ["emit", "ack", "execute"]
    edge = edge_of(made)
    assert made.words_of(FrameKind.ACK) == [ROOT, 7 ^ edge]


# --- acks and fails ------------------------------------------------------------------------------


def test_the_first_of_ack_and_fail_wins(storm: Any) -> None:
    """The docs' own SentenceSplitterBolt fails a tuple and leaves it to be acked as well."""
    made = start(keeping(storm, script=lambda self, tup: self.fail(tup)))
    made.feed(["dog", 1])
    assert (made.acked(), made.failed()) == ([], [0])
    assert made.errors == []


def test_without_auto_ack_nothing_is_acked(storm: Any) -> None:
    made = start(keeping(storm, auto_ack=False))
    made.feed(["dog", 1], ["cat", 2])
    assert made.acked() == []
    made.user.ack(made.user.got[1])
    assert made.acked() == [1]


def test_an_unknown_id_is_ignored_and_told_of_once(storm: Any) -> None:
    made = start(keeping(storm))
    made.user.ack("4711")
    made.user.fail("4712")
    (warning,) = [text for level, text in made.lines if level == "WARNING"]
    assert warning.startswith("tested: no tuple has the id '4711' (any more): an ack, fail or")


def test_the_users_own_emit_ack_and_fail_see_everything(storm: Any) -> None:
    seen: list[Any] = []

    class Own(storm.Bolt):  # type: ignore[misc]
        def process(self, tup: Any) -> None:
            if tup.values.n < 0:
                raise ValueError("negative")
            seen.append(self.emit([tup.values.word, 2], need_task_ids=True))

        def emit(self, tup: Any, **kwargs: Any) -> Any:
            seen.append(("emit", tup))
            return super().emit(tup, **kwargs)

        def ack(self, tup: Any) -> None:
            seen.append(("ack", tup.values.word))
            super().ack(tup)

        def fail(self, tup: Any) -> None:
            seen.append(("fail", tup.values.word))
            super().fail(tup)

    made = start(Own, tick_secs=1)
    made.feed(["dog", 1], ["bad", -1])
    (tasks,) = [each for each in seen if isinstance(each, list)]
    assert len(tasks) == 1
    seen.remove(tasks)
    assert seen == [("emit", ["dog", 2]), ("ack", "dog"), ("fail", "bad")]
    assert made.values() == [["dog", 2]]
    assert made.words_of(FrameKind.ACK) == [ROOT, 7 ^ edge_of(made)]
    assert made.failed() == [1]
    assert made.component.live.by_id == {}


def test_the_users_own_run_and_read_tuple(storm: Any) -> None:
    seen: list[Any] = []

    class Own(storm.Bolt):  # type: ignore[misc]
        def _run(self) -> None:
            seen.append("run")
            super()._run()

        def read_tuple(self) -> Any:
            tup = super().read_tuple()
            seen.append((tup.id, tup.values.word))
            return tup._replace(values=("changed", 0))

        def process(self, tup: Any) -> None:
            self.emit(list(tup.values))

    made = start(Own)
    made.feed(["dog", 1])
    assert seen == ["run", ("7", "dog")]
    assert made.values() == [["changed", 0]]
    assert made.words_of(FrameKind.ACK) == [ROOT, 7 ^ edge_of(made)]


def test_a_run_that_reads_twice_is_told_why_it_cannot(storm: Any) -> None:
    class Greedy(storm.Bolt):  # type: ignore[misc]
        def _run(self) -> None:
            self.read_tuple()
            self.read_tuple()

    made = start(Greedy)
    made.feed(["dog", 1])
    assert "gets one for each call of _run" in made.errors[0]


# --- ticks ---------------------------------------------------------------------------------------


def test_a_tick_is_storms_and_its_anchors_and_acks_do_no_harm(storm: Any) -> None:
    def process_tick(self: Any, tup: Any) -> None:
        self.ticks.append(tup)
        self.emit(["tick", 1])
        self.emit(["tick", 2], anchors=[tup])
        self.emit(["tick", 3], anchors=[tup.id])
        self.ack(tup)

    made = start(keeping(storm, process_tick=process_tick), tick_secs=2)
    made.tick()
    (tick,) = made.user.ticks
    assert storm.Bolt.is_tick(tick)
    assert not storm.Component.is_heartbeat(tick)
    assert (tick.component, tick.stream, tick.task) == ("__system", "__tick", -1)
    assert tick.values == (2.0,)
    assert sorted(made.values()) == [["tick", 1], ["tick", 2], ["tick", 3]]
    assert (made.acked(), made.failed(), made.errors) == ([], [], [])
    assert made.core.statistics().acked == 0
    assert made.component.live.by_id == {}


def test_a_tick_that_raises_is_reported(storm: Any) -> None:
    def process_tick(self: Any, tup: Any) -> None:
        raise ValueError("no time")

    made = start(keeping(storm, process_tick=process_tick), tick_secs=1)
    made.tick()
    assert "no time" in made.errors[0]
    made.feed(["dog", 1])
    assert made.acked() == [0]
