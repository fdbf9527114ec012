"""What streamlets are configured with, and mistakes, which are one line each."""

import threading
from datetime import timedelta
from typing import Any

import pytest

from heron_api.topology import TopologyBuilder
from heron_core.algorithms.hashing import stable_hash
from heron_core.errors import TopologyError
from heron_core.topology import topology_to_json
from heron_engine.scheduler.packing import pack
from heronpy_compat.streamlet.builder import Builder
from heronpy_compat.streamlet.config import Config
from heronpy_compat.streamlet.context import Context
from heronpy_compat.streamlet.generator import Generator
from heronpy_compat.streamlet.impl.joinbolt import JoinStreamlet
from heronpy_compat.streamlet.keyedwindow import KeyedWindow
from heronpy_compat.streamlet.resources import Resources
from heronpy_compat.streamlet.runner import Runner
from heronpy_compat.streamlet.streamlet import Streamlet
from heronpy_compat.streamlet.transformoperator import TransformOperator
from heronpy_compat.streamlet.window import Window
from heronpy_compat.streamlet.windowconfig import WindowConfig
from tests.unit.heronpy_compat.streamlet.streamlet_support import given, spec_of

WINDOW = WindowConfig.create_tumbling_window(1)


def test_resources_are_set_in_a_row() -> None:
    resources = Resources().set_cpu(2).set_ram_in_mb(3)
    assert (resources.get_cpu(), resources.get_ram()) == (2.0, 3 * 1024 * 1024)
    assert Resources().set_ram_in_gb(1.5).get_ram() == 1536 * 1024 * 1024
    assert Resources().set_ram(7).get_ram() == 7
    assert repr(Resources().set_cpu(0.5)) == "Resource {cpu: 0.500000, ram: 0}"


def test_a_config_becomes_the_topologys() -> None:
    config = Config()
    config.set_delivery_semantics(Config.ATLEAST_ONCE)
    config.set_num_containers(2)
    config.set_container_resources(Resources().set_cpu(8).set_ram_in_gb(16))
    config.set_user_config("mine", [1])
    topology = spec_of(lambda builder: builder.new_source(given([])).log(), config)
    assert topology.config == {
        "topology.reliability.mode": "ATLEAST_ONCE",
        "topology.stmgrs": 2,
        "topology.container.cpu": 8.0,
        "topology.container.ram": 16 * 1024**3,
        "mine": [1],
    }
    assert [each.resource.cpu for each in pack(topology).containers] == [8.0, 8.0]


@pytest.mark.parametrize(
    ("semantics", "mode"),
    [(1, "ATMOST_ONCE"), (2, "ATLEAST_ONCE"), (3, "EFFECTIVELY_ONCE")],
)
def test_delivery_semantics(semantics: int, mode: str) -> None:
    config = Config()
    config.set_delivery_semantics(semantics)
    assert config._api_config == {"topology.reliability.mode": mode}


def test_resources_that_are_not_set_are_left_to_the_packing() -> None:
    """heronpy wrote 0 cores and 0 bytes down."""
    config = Config()
    config.set_container_resources(Resources().set_cpu(1))
    assert config._api_config == {"topology.container.cpu": 1.0}


def test_windows_compare_print_and_group() -> None:
    keyed = KeyedWindow("k", Window(1, 2))
    assert repr(keyed) == "KeyedWindow {key: k, window: Window {start_time: 1, end_time: 2}}"
    assert (keyed._key, keyed._window._start_time, keyed._window._end_time) == ("k", 1, 2)
    same = KeyedWindow("k", Window(start_time=1, end_time=2))
    assert keyed == same
    assert hash(keyed) == hash(same)
    assert stable_hash([keyed]) == stable_hash([same])
    assert stable_hash([keyed]) != stable_hash([KeyedWindow("k", Window(1, 3))])


def test_window_configs_take_seconds_and_timedeltas() -> None:
    """heronpy's tumbling window did not take a number."""
    day = timedelta(days=1)
    for tumbling in (
        WindowConfig.create_tumbling_window(86400),
        WindowConfig.create_tumbling_window(day),
    ):
        assert (tumbling._window_duration, tumbling._slide_interval) == (day, day)
        assert (tumbling.duration_secs, tumbling.slide_secs) == (86400, 86400)
    sliding = WindowConfig.create_sliding_window(10, timedelta(seconds=5))
    assert (sliding.duration_secs, sliding.slide_secs) == (10, 5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: WindowConfig.create_tumbling_window(timedelta(milliseconds=1500)),
            "window_duration must be whole seconds, at least one, not 0:00:01.500000",
        ),
        (
            lambda: WindowConfig.create_sliding_window(5, timedelta(0)),
            "slide_interval must be whole seconds, at least one, not 0:00:00",
        ),
        (
            lambda: WindowConfig.create_sliding_window(5, 6),
            "slide_interval 0:00:06 is longer than the window: 0:00:05",
        ),
        (
            lambda: WindowConfig.create_tumbling_window("5"),  # type: ignore[arg-type]
            "window_duration must be a number of seconds or a timedelta, not '5'",
        ),
        (lambda: Config([]), r"Config takes a dict, not \[\]"),  # type: ignore[arg-type]
        (lambda: Config().set_delivery_semantics(4), "unknown delivery semantics: 4"),
        (
            lambda: Config().set_container_resources(1),  # type: ignore[arg-type]
            "container resources must be Resources, not 1",
        ),
        (lambda: Builder().new_source(5), "a source must be a Generator or a function, not 5"),  # type: ignore[call-overload]
        (lambda: Runner().run(1, Config(), Builder()), "must be a string, not 1"),  # type: ignore[arg-type]
        (lambda: Runner().run("a", {}, Builder()), "config must be"),  # type: ignore[arg-type]
        (lambda: Runner().run("a", Config(), None), "builder must be"),  # type: ignore[arg-type]
        (lambda: source().map(1), "map takes a function, not 1"),
        (lambda: source().filter(None), "filter takes a function, not None"),
        (lambda: source().flat_map(1), "flat_map takes a function, not 1"),
        (lambda: source().consume(1), "consume takes a function, not 1"),
        (lambda: source().repartition(2, 1), "repartition takes a function, not 1"),
        (
            lambda: source().repartition(2, lambda: 1),
            "takes the element, or the element and the number of partitions",
        ),
        (lambda: source().transform(1), "transform takes a TransformOperator, not 1"),
        (lambda: source().union(1), "union: its partner must be a Streamlet, not 1"),
        (lambda: source().reduce_by_window(5, max), "reducebywindow takes a WindowConfig, not 5"),
        (
            lambda: source().reduce_by_key_and_window(WINDOW, 1),
            "reducebykeyandwindow takes a function, not 1",
        ),
        (lambda: source().join(1, WINDOW, max), "join: its partner must be a Streamlet, not 1"),
        (
            lambda: JoinStreamlet(5, WINDOW, max, source(), source()),
            "the kind of a join must be one of JoinBolt's, not 5",
        ),
        (lambda: Streamlet()._build(TopologyBuilder("a"), set()), "must define _build_this"),
    ],
)
def test_mistakes_are_heronpys_runtime_errors(call: Any, message: str) -> None:
    """One line that names the operation and what it got."""
    with pytest.raises(RuntimeError, match=message) as caught:
        call()
    assert isinstance(caught.value, TopologyError)
    assert "\n" not in str(caught.value)


def source() -> Any:
    return Builder().new_source(given([]))


def test_a_function_that_cannot_travel_is_named() -> None:
    """It holds a lock: the command line gets one line, when the topology is about to travel."""
    lock = threading.Lock()
    topology = spec_of(lambda builder: builder.new_source(given([])).map(lambda _: lock).log())
    message = "config of map-1: the value of function cannot be pickled: TypeError: cannot pickle"
    with pytest.raises(TopologyError, match=message):
        topology_to_json(topology)


def test_two_stages_of_one_name() -> None:
    with pytest.raises(RuntimeError, match="two streamlets have the name 'same': rename one"):
        spec_of(lambda builder: builder.new_source(given([])).set_name("same").map(str).set_name(
            "same"
        ))  # fmt: skip


def test_a_partner_of_a_source_that_was_not_added() -> None:
    """Another builder's streamlet is in the union: nobody builds it."""
    with pytest.raises(RuntimeError, match="a source may be missing"):
        spec_of(lambda builder: builder.new_source(given([])).union(source()))


@pytest.mark.parametrize(
    ("interface", "methods"),
    [
        (Generator, {"setup": 1, "get": 0}),
        (TransformOperator, {"setup": 1, "transform": 1}),
        (
            Context,
            {
                "get_task_id": 0,
                "get_config": 0,
                "get_stream_name": 0,
                "get_num_partitions": 0,
                "get_partition_index": 0,
                "get_state": 0,
                "emit": 1,
            },
        ),
    ],
)
def test_interfaces_must_be_filled_in(interface: Any, methods: dict[str, int]) -> None:
    for name, arguments in methods.items():
        with pytest.raises(NotImplementedError):
            getattr(interface(), name)(*[None] * arguments)
