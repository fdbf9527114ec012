"""What an adapter may have of its own: class and values of tuples, what exceptions come to."""

from array import array
from typing import Any

import msgpack
import pytest

from heron_api.task_hook import ITaskHook
from heron_core.component import BoltBindings
from heron_core.errors import ComponentError, ProtocolError
from heron_core.topology import ComponentSpec
from heron_core.wire.frames import Flag, FrameKind, header
from heron_frontends.adapters.heronpy_component import HeronpyBolt
from heron_frontends.adapters.tuple_layout import TupleLayout
from heron_instance.emit.collector import BoltCollector
from tests.unit.heron_instance.instance_support import (
    EPOCH,
    OTHER,
    SHUFFLE,
    SOURCE,
    Comfortable,
    Made,
    Middle,
    batch,
    body_of,
    make,
    reads,
)

ROOT = OTHER << 44


class OwnTuple(TupleLayout):
    """A tuple of another API."""

    __slots__ = ()


class OwnAdapter(HeronpyBolt):
    """An adapter with everything that one may have of its own."""

    tuple_class = OwnTuple

    def __init__(self, user: Any, bindings: BoltBindings) -> None:
        super().__init__(user, True)
        self.bindings = bindings
        self.handled: list[BaseException | None] = []
        self.leave = False

    def values_maker(self, component: str, stream: str) -> Any:
        def made(values: list[Any]) -> Any:
            return (component, stream, *iter(values))

        return made

    def handle_exception(self, error: BaseException | None) -> None:
        self.handled.append(error)
        if self.leave:
            self.bindings.leave("enough")

    def process_tick(self, tup: Any) -> None:
        raise ValueError("tick")


def adapted(spec: ComponentSpec, bindings: Any) -> OwnAdapter:
    return OwnAdapter(Middle(delegate=bindings), bindings)


def _adapter(made: Made) -> Any:
    return made.instance.adapter


def bolt(**config: Any) -> Made:
    return make(Middle, reads(SHUFFLE), config=config, constructed=adapted)


class PlainlyNamed(Middle):
    """A user's bolt with attributes that mean something to adapters only."""

    tuple_class = values_maker = handle_exception = "mine"
    port = shorten = run_tuples = 6379

    def initialize(self, config: Any, context: Any) -> None:
        super().initialize(config, context)
        context.add_task_hook(ITaskHook())


def test_a_users_bolt_may_have_attributes_of_the_contracts_names() -> None:
    """A port of a database was taken for what task hooks are put around."""
    made = make(PlainlyNamed, reads(SHUFFLE))
    made.core.deliver(batch(["x"]))
    assert [tup.values for tup in made.component.received] == [["x"]]
    assert made.errors == []


@pytest.mark.parametrize("tracked", [True, False])
def test_tuples_are_of_the_adapters_class(tracked: bool) -> None:
    made = bolt()
    made.core.deliver(batch(["x"], ["y"], roots=[(ROOT, 7), None] if tracked else ()))
    first, second = made.component.received
    assert type(first) is OwnTuple
    assert first.values == ("other", "default", "x")
    assert first.roots == ([ROOT, 7] if tracked else None)
    assert (second.tuple_key, second.roots) == (0, None)


def test_tuples_of_several_streams_and_roots_are_so_too() -> None:
    made = bolt()
    flags = Flag.TRACKED | Flag.MIXED | Flag.MULTI_ROOT
    frames = [
        header(FrameKind.DATA, EPOCH, OTHER, SOURCE, 2, 0, flags),
        body_of([["x"], ["y"]]),
        array("Q", [ROOT, 7, 0, 0]).tobytes(),
        array("H", [1, 0]).tobytes(),
        array("Q", [0, ROOT + 1]).tobytes(),
    ]
    made.core.deliver(frames)
    first, second = made.component.received
    assert (type(first), type(second)) == (OwnTuple, OwnTuple)
    assert (first.values, first.roots) == (("other", "more", "x"), [ROOT, 7, ROOT + 1, 7])
    assert (second.values, second.roots) == (("other", "default", "y"), None)
    made.core.deliver(batch(["x"], ["y"], ["z"]))
    inputs = made.core.statistics().executed_by_input
    assert inputs == {"other/more": 1, "other/default": 4}


@pytest.mark.parametrize("flag", [Flag.NONE, Flag.MIXED])
def test_a_row_that_is_no_list_is_a_malformed_batch(flag: Flag) -> None:
    made = bolt()
    frames = [header(FrameKind.DATA, EPOCH, OTHER, SOURCE, 1, 0, flag), msgpack.packb([5])]
    if flag:
        frames.append(array("H", [0]).tobytes())
    with pytest.raises(ProtocolError):
        made.core.deliver(frames)


def test_the_adapter_decides_what_an_exception_comes_to() -> None:
    made = bolt(**{"topology.bolt.on.exception": "exit", "topology.tick.tuple.freq.secs": 1})
    error = ValueError("bad")

    def script(tup: Any) -> None:
        raise error

    made.component.script = script
    made.core.deliver(batch(["x"], roots=[(ROOT, 7)]))
    assert _adapter(made).handled == [error]
    assert made.words_of(FrameKind.FAIL) == []
    made.core.begin(True, made.now)
    made.core.tick(made.core.next_tick)
    assert str(_adapter(made).handled[1]) == "tick"
    assert len(made.errors) == 2


def test_who_leaves_tells_first_what_was_acked() -> None:
    made = bolt()
    _adapter(made).leave = True

    def script(tup: Any) -> None:
        if tup.values[-1] == "bad":
            raise ValueError("bad")
        made.component.ack(tup)

    made.component.script = script
    with pytest.raises(ComponentError, match="enough"):
        made.core.deliver(batch(["x"], ["bad"], roots=[(ROOT, 7), (ROOT + 1, 8)]))
    assert made.words_of(FrameKind.ACK) == [ROOT, 7]


def test_bytes_are_no_exception_of_user_code() -> None:
    made = bolt()
    made.core.deliver(batch(["x"], roots=[(ROOT, 7)], body=b"\xc1"))
    assert _adapter(made).handled == []


def test_emits_anchored_to_a_tuple_that_nobody_tracks_take_the_fast_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An unreliable spout in a topology that anchor states (streamparse's quickstart)."""
    monkeypatch.setattr("threading.enumerate", list)  # threads that other tests have left
    general: list[Any] = []
    monkeypatch.setattr(BoltCollector, "emit_general", lambda *each: general.append(each))
    made = make(Comfortable, reads(SHUFFLE))
    made.component.script = lambda tup: made.component.emit(["a", 1])
    made.core.deliver(batch(["x"], ["y"], roots=[None, None]))
    made.core.flush()
    assert [row for each in made.batches() for row in each.values] == [["a", 1]] * 2
    assert [word for each in made.batches() for word in each.ids] == [0] * 4
    assert general == []
    assert made.words_of(FrameKind.ACK) == []
    assert made.core.statistics().acked == 2
