"""Requirements of heronpy's users beyond signatures: order, wrapping, config, context,
callbacks."""

from typing import Any

import pytest

from heron_api.bolt.bolt import Bolt
from heron_api.class_loading import load_class
from heron_api.custom_grouping import ICustomGrouping
from heron_api.spout.spout import Spout
from heron_api.stream import Grouping, Stream
from heron_api.topology import Topology, TopologyBuilder
from heron_core.errors import ComponentError
from heron_core.topology import topology_from_json, topology_to_json
from heron_core.wire.pickled import Pickled, opened
from tests.unit.local_cluster import LocalCluster, submitted

AT_LEAST: dict[str, Any] = {"topology_reliability_mode": "ATLEAST_ONCE"}


class Phases(Spout):
    """Emits three data tuples, then a marker on its control stream, twice; then nothing."""

    outputs = ["number", Stream(fields=["phase"], name="control")]

    def initialize(self, config: Any, context: Any) -> None:
        self.settled: list[Any] = []
        self.script: list[Any] = [0, 1, 2, "first", 3, 4, 5, "second"]

    def next_tuple(self) -> None:
        if self.script:
            value = self.script.pop(0)
            stream = "control" if isinstance(value, str) else "default"
            self.emit([value], tup_id=["not hashable", value], stream=stream)

    def ack(self, tup_id: Any) -> None:
        self.settled.append(("ack", tup_id[1]))

    def fail(self, tup_id: Any) -> None:
        self.settled.append(("fail", tup_id[1]))


class Reader(Bolt):
    """Keeps its input, and the arguments of initialize; fails number 4 once."""

    outputs = ["number"]

    def initialize(self, config: Any, context: Any) -> None:
        self.config, self.context = config, context
        self.seen: list[Any] = []

    def process(self, tup: Any) -> None:
        self.seen.append(tup.values[0])
        self.emit([tup.values[0]], anchors=[tup])
        if tup.values[0] == 4:
            self.fail(tup)
        else:
            self.ack(tup)


class Idle(Bolt):
    """Its only data grouping sends everything to the lowest task."""

    def initialize(self, config: Any, context: Any) -> None:
        self.seen: list[Any] = []

    def process(self, tup: Any) -> None:
        self.seen.append(tup.values[0])
        self.ack(tup)


class Wrapping(Bolt):
    """Runs the bolt that its config names, with itself as the delegate."""

    outputs = ["number"]

    def initialize(self, config: Any, context: Any) -> None:
        self.inner = load_class(config["wrapped"])(delegate=self)
        self.inner.initialize(config, context)
        self.went_through: list[str] = []

    def process(self, tup: Any) -> None:
        self.inner.process(tup)

    def emit(self, tup: Any, *arguments: Any, **named: Any) -> Any:
        self.went_through.append("emit")
        return super().emit(tup, *arguments, **named)

    def ack(self, tup: Any) -> None:
        self.went_through.append("ack")
        super().ack(tup)

    def fail(self, tup: Any) -> None:
        self.went_through.append("fail")
        super().fail(tup)


def cluster(bolt: type = Reader, config: Any = None, **extra: Any) -> LocalCluster:
    """The spout, three readers of both streams, and a bolt behind."""
    builder = TopologyBuilder("phases")
    phases = builder.add_spout("phases", Phases, 1)
    read = builder.add_bolt(
        "read",
        bolt,
        3,
        inputs={phases: Grouping.SHUFFLE, phases["control"]: Grouping.ALL},
        config=config,
    )
    builder.add_bolt("last", Idle, 1, inputs=[read])
    builder.add_bolt(
        "idle", Idle, 3, inputs={phases: Grouping.GLOBAL, phases["control"]: Grouping.ALL}
    )
    made = LocalCluster(submitted(builder.build_and_submit), **extra)
    for _ in range(10):
        made.turn()
    return made


def test_a_marker_on_a_control_stream_never_overtakes_data() -> None:
    """FIFO for each pair of tasks, over both streams."""
    none: dict[str, Any] = {}
    for mode in (none, AT_LEAST):
        seen = [bolt.seen for bolt in cluster(**mode).components("read")]
        before = [number for each in seen for number in each[: each.index("first")]]
        assert sorted(before) == [0, 1, 2]
        assert all(each[-1] == "second" for each in seen)


def test_a_control_stream_grouped_all_reaches_tasks_without_data() -> None:
    first, *others = cluster().components("idle")
    assert first.seen == [0, 1, 2, "first", 3, 4, 5, "second"]
    assert [each.seen for each in others] == [["first", "second"]] * 2


def test_every_tuple_id_is_acked_or_failed_once() -> None:
    made = cluster(**AT_LEAST)
    settled = made.component("phases").settled
    acked = [("ack", each) for each in (0, 1, 2, 3, 5, "first", "second")]
    assert sorted(settled, key=str) == sorted([*acked, ("fail", 4)], key=str)


def test_without_acks_every_tuple_id_is_acked_at_once() -> None:
    """Also tuples failed by a bolt; the newest of a turn first, as in heronpy."""
    settled = cluster().component("phases").settled
    assert sorted(str(number) for kind, number in settled if kind == "ack") == [
        "0", "1", "2", "3", "4", "5", "first", "second",
    ]  # fmt: skip
    assert {kind for kind, _ in settled} == {"ack"}


def test_a_spout_that_emits_nothing_any_more_stays_alive() -> None:
    """Without finish() the spout is called again and again."""
    made = cluster()
    core = made.instances[1].driver
    calls = core.metrics.executed
    made.turn()
    assert core.metrics.executed > calls
    assert not core.finished
    assert core.may_emit


@pytest.mark.parametrize("mode", [{}, AT_LEAST])
def test_a_component_may_wrap_another_of_its_config(mode: dict[str, str]) -> None:
    """The inner one is constructed with delegate=outer; only duck typing is assumed of that."""
    made = cluster(Wrapping, {"wrapped": f"{__name__}.Reader"}, **mode)
    wrapped = made.components("read")
    seen = [value for each in wrapped for value in each.inner.seen]
    assert sorted(seen, key=str) == [0, 1, 2, 3, 4, 5, *["first"] * 3, *["second"] * 3]
    calls = [name for each in wrapped for name in each.went_through]
    assert {name: calls.count(name) for name in ("emit", "ack", "fail")} == {
        "emit": 12, "ack": 11, "fail": 1,
    }  # fmt: skip
    assert len(made.component("last").seen) == 12
    assert wrapped[0].inner.logger is wrapped[0].logger


# --- config --------------------------------------------------------------------------------------


class Opaque:
    """A value of a class of the user's."""

    def __init__(self, number: int) -> None:
        self.number = number


def test_config_values_arrive_as_heron_says() -> None:
    """Numbers as numbers, also in strings; lists, dicts, objects and functions unchanged; the
    component's over the topology's."""

    class Configured(Topology):
        config = {"int": 5, "both": "topology", "float": 0.5, "flag": True, "none": None}
        words = Phases.spec()
        read = Reader.spec(
            inputs=[words],
            config={
                "both": "component",
                "texts": ["0123", "1e3", "nan?", " 7", "TRUE", "nan"],
                "zip": "0123",
                "large": "1e3",
                "yes": "TRUE",
                "infinite": "inf",
                "text": "12 apples",
                "object": Opaque(3),
                "function": lambda number: number + 1,
            },
        )

    config = LocalCluster(Configured.to_spec()).component("read").config
    assert [config[key] for key in ("int", "float", "flag", "none", "both")] == [
        5, 0.5, True, None, "component",
    ]  # fmt: skip
    assert type(config["int"]) is int
    assert type(config["flag"]) is bool
    assert config["texts"] == ["0123", "1e3", "nan?", " 7", "TRUE", "nan"]
    assert [config[key] for key in ("zip", "large", "yes", "infinite", "text")] == [
        123, 1000.0, True, float("inf"), "12 apples",
    ]  # fmt: skip
    assert type(config["object"]) is Opaque
    assert config["object"].number == 3
    assert config["function"](1) == 2
    assert config["topology.component.parallelism"] == 1


def test_config_values_of_the_users_classes_are_opened_in_the_instance_alone() -> None:
    """The command line and the scheduler handle a topology without having the user's modules."""

    class Foreign(Topology):
        words = Phases.spec(config={"object": Opaque(3)})

    data = topology_to_json(Foreign.to_spec())
    travelled = topology_from_json(data)
    closed = travelled.components[0].config["object"]
    assert isinstance(closed, Pickled)
    assert topology_to_json(travelled) == data
    missing = closed.data.replace(b"Opaque", b"Opaqux")
    with pytest.raises(ComponentError, match="the config value of object cannot be loaded: Attr"):
        opened({"object": Pickled(missing)})


# --- context -------------------------------------------------------------------------------------


def test_the_context_tells_where_an_instance_is() -> None:
    context = cluster(Reader, {"mine": 1}).component("read", 1).context
    assert (context.get_task_id(), context.get_component_id()) == (3, "read")
    assert context.get_topology_name() == "phases"
    assert context.get_cluster_config()["mine"] == 1
    assert context.get_component_tasks("read") == [2, 3, 4]
    assert context.get_component_tasks("nobody") == []
    sources = {
        (each.id, each.component_name): kind for each, kind in context.get_this_sources().items()
    }
    assert sources == {("default", "phases"): Grouping.SHUFFLE, ("control", "phases"): Grouping.ALL}
    assert context.get_sources("phases") is None
    assert context.get_topology_pex_path() == ""


def test_the_context_tells_what_storms_does() -> None:
    context = cluster(Reader, {}).component("read", 1).context
    assert context.get_this_task_index() == 1
    assert set(context.get_component_streams("phases")) >= {"default", "control"}
    assert context.get_component_streams("nobody") == []
    assert context.get_this_streams() == context.get_component_streams("read")
    fields = context.get_component_output_fields("phases")
    assert fields
    assert fields == context.get_component_output_fields("phases", "default")
    targets = context.get_targets("phases")
    assert targets["default"]["read"] == Grouping.SHUFFLE
    assert targets["control"]["read"] == Grouping.ALL
    assert set(context.get_this_targets()) == set(context.get_this_streams())
    with pytest.raises(ValueError, match="there is no stream 'lost' of a component 'phases'"):
        context.get_component_output_fields("phases", "lost")


# --- custom groupings ----------------------------------------------------------------------------


class ByParity(ICustomGrouping):
    """Even numbers to the first task, odd ones to the rest, by the arguments of prepare."""

    def prepare(self, context: Any, component: str, stream: str, target_tasks: list[int]) -> None:
        assert (context.get_component_id(), component, stream) == ("phases", "phases", "default")
        self.first, *self.others = target_tasks

    def choose_tasks(self, values: list[Any]) -> list[int]:
        return self.others if values[0] % 2 else [self.first]


@pytest.mark.parametrize("grouping", [ByParity(), f"{__name__}.ByParity"])
def test_custom_groupings_by_object_and_by_class_path(grouping: Any) -> None:
    builder = TopologyBuilder("custom")
    phases = builder.add_spout("phases", Phases, 1)
    builder.add_bolt("idle", Idle, 3, inputs={phases: Grouping.custom(grouping)})
    made = LocalCluster(submitted(builder.build_and_submit))
    for _ in range(10):
        made.turn()
    assert [each.seen for each in made.components("idle")] == [[0, 2, 4], [1, 3, 5], [1, 3, 5]]


class OutsideOfItsTasks(ICustomGrouping):
    def prepare(self, context: Any, component: str, stream: str, target_tasks: list[int]) -> None:
        pass

    def choose_tasks(self, values: list[Any]) -> list[int]:
        return [99]


def test_a_custom_grouping_may_only_choose_its_tasks() -> None:
    builder = TopologyBuilder("custom")
    phases = builder.add_spout("phases", Phases, 1)
    builder.add_bolt("idle", Idle, 1, inputs={phases: Grouping.custom(OutsideOfItsTasks())})
    made = LocalCluster(submitted(builder.build_and_submit))
    made.turn()
    assert "choose_tasks must return a list of task ids out of [2], not [99]" in made.errors[0]
