"""States, and that a stateful component has one before it is initialised."""

from typing import Any

import pytest

from heron_api.bolt.bolt import Bolt
from heron_api.spout.spout import Spout
from heron_api.state.state import HashMapState, State
from heron_api.state.stateful_component import StatefulComponent
from heron_api.topology import TopologyBuilder
from tests.unit.local_cluster import LocalCluster, submitted


class Stateful(StatefulComponent):
    def init_state(self, stateful_state: State) -> None:
        self.state = stateful_state
        self.order = ["init_state"]

    def initialize(self, config: Any, context: Any) -> None:
        self.order.append("initialize")


class StatefulSpout(Stateful, Spout):
    outputs = ["word"]


class StatefulBolt(Stateful, Bolt):
    pass


class DuckBolt(Bolt):
    """Has the method without being a StatefulComponent."""

    def init_state(self, stateful_state: State) -> None:
        self.state = stateful_state


def test_a_hash_map_state() -> None:
    state = HashMapState()
    state.put("a", 1)
    state.put("b", 2)
    assert (state.get("a"), state.get("missing")) == (1, None)
    assert list(state.enumerate()) == [(0, "a"), (1, "b")]
    assert str(state) == "{'a': 1, 'b': 2}"
    state.clear()
    assert list(state.enumerate()) == []


@pytest.mark.parametrize(
    ("method", "arguments"),
    [("put", ("a", 1)), ("get", ("a",)), ("enumerate", ()), ("clear", ())],
)
def test_the_interface_must_be_filled_in(method: str, arguments: tuple[Any, ...]) -> None:
    with pytest.raises(NotImplementedError):
        getattr(State(), method)(*arguments)


def test_components_get_an_empty_state_before_they_are_initialised() -> None:
    builder = TopologyBuilder("stateful")
    words = builder.add_spout("words", StatefulSpout, 1)
    builder.add_bolt("kept", StatefulBolt, 1, inputs=[words])
    builder.add_bolt("duck", DuckBolt, 1, inputs=[words])
    cluster = LocalCluster(submitted(builder.build_and_submit))
    for name in ("words", "kept"):
        assert cluster.component(name).order == ["init_state", "initialize"]
    states = [cluster.component(name).state for name in ("words", "kept", "duck")]
    assert all(isinstance(state, HashMapState) and str(state) == "{}" for state in states)
    assert len({id(state) for state in states}) == 3


def test_a_component_need_not_save_anything() -> None:
    component = StatefulComponent()
    component.init_state(HashMapState())
    component.pre_save("checkpoint 1")
