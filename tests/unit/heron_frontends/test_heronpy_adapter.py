"""Adapters of heronpy's and of plain classes: whose methods the engine calls."""

from typing import Any

from heron_api.task_hook import EmitInfo, ITaskHook
from heron_api.topology import TopologyBuilder
from heron_frontends.adapters.heronpy_component import HeronpyBolt, HeronpySpout
from heronpy_compat import Bolt, Spout
from tests.unit.local_cluster import LocalCluster, submitted


class Plain:
    """A class unaware of the engine."""

    is_idle = True

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def process(self, tup: Any) -> None:
        self.seen.append(tup)


class Counting(Spout):
    """Emits two tuples, by two methods that take turns."""

    outputs = ["number"]

    def next_tuple(self) -> None:
        self.emit([1])
        self.next_tuple = self.second  # type: ignore[method-assign]

    def second(self) -> None:
        self.emit([2])
        self.finish()


class Early(Spout):
    """Has nothing to emit, as declared in its constructor."""

    outputs = ["number"]

    def __init__(self, delegate: Any) -> None:
        super().__init__(delegate)
        self.finish()

    def next_tuple(self) -> None:
        raise AssertionError("it has finished")


class Twice(Bolt):
    """Emits its input twice, by an overridden emit."""

    outputs = ["number"]

    def process(self, tup: Any) -> None:
        self.emit(tup.values)

    def emit(self, tup: Any, *arguments: Any, **named: Any) -> Any:
        for _ in range(2):
            super().emit(tup, *arguments, **named)


class Hooked(Twice):
    def initialize(self, config: Any, context: Any) -> None:
        self.hook = Recording()
        context.add_task_hook(self.hook)


class Recording(ITaskHook):
    def __init__(self) -> None:
        self.emitted: list[Any] = []

    def emit(self, emit_info: EmitInfo) -> None:
        self.emitted.append(emit_info.values)


def run(spout: type, bolt: type) -> LocalCluster:
    builder = TopologyBuilder("adapted")
    numbers = builder.add_spout("numbers", spout, 1)
    doubled = builder.add_bolt("bolt", bolt, 1, inputs=[numbers])
    builder.add_bolt("last", Twice, 1, inputs=[doubled])
    return LocalCluster(submitted(builder.build_and_submit)).run()


def test_the_engine_calls_the_users_own_methods(bolt_delegate: Any) -> None:
    """No call of ours is between a tuple and the user's process."""
    user = Twice(delegate=bolt_delegate)
    assert HeronpyBolt(user, True).process == user.process


def test_what_a_plain_class_lacks_does_nothing() -> None:
    """An attribute with a hook's name that is not a method is ignored as well."""
    bolt, spout = HeronpyBolt(Plain(), False), HeronpySpout(Plain(), False)
    bolt.initialize({}, None)
    bolt.process_tick("tick")
    bolt.on_finish()
    bolt.pre_save("1")
    bolt.close()
    spout.activate()
    spout.fail(1)
    assert bolt.is_idle()
    assert not spout.wants_acks


def test_a_spout_may_replace_its_next_tuple_while_it_runs() -> None:
    assert run(Counting, Twice).elements("numbers") == [1, 2]


def test_a_spout_may_finish_in_its_constructor() -> None:
    assert run(Early, Twice).elements("numbers") == []


def test_an_emit_of_the_users_stays_in_front_of_ours() -> None:
    assert run(Counting, Twice).elements("bolt") == [1, 1, 2, 2]


def test_task_hooks_see_what_leaves_the_component() -> None:
    """As in Heron, where hooks are called from super().emit."""
    made = run(Counting, Hooked)
    assert made.component("bolt").hook.emitted == [[1], [1], [2], [2]]
