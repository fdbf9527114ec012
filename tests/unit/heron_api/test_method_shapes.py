"""Every method that a user may write as `async def` is awaited, or refused in one line: each method
of each base class of users, and each function passed by users."""

import asyncio
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from heron_api.batch_aware import BatchAware
from heron_api.bolt.base_bolt import BaseBolt
from heron_api.bolt.batch_bolt import BatchBolt
from heron_api.class_loading import load_grouping
from heron_api.component.base_component import BaseComponent
from heron_api.custom_grouping import ICustomGrouping
from heron_api.method_shapes import MethodShapeError, is_async
from heron_api.serializer import IHeronSerializer
from heron_api.spout.base_spout import BaseSpout
from heron_api.state.stateful_component import (
    StatefulComponent,
    TwoPhaseStatefulComponent,
)
from heron_api.stream import Grouping
from heron_api.task_hook import ITaskHook
from heron_api.topology import Topology
from heron_api.windows.batch_window_bolt import BatchWindowBolt
from heron_api.windows.event_time import EventClock, EventTimeSettings
from heron_api.windows.keyed_process_bolt import KeyedProcessBolt
from heron_api.windows.keyed_window_bolt import KeyedWindowBolt
from heron_api.windows.window_bolt import SlidingWindowBolt, TumblingWindowBolt
from heron_api.windows.window_runner import checked_aggregate
from heron_api.windows.windowed_bolt import WindowedBolt
from heron_core.algorithms.patterns import sequence
from heron_core.library import PACKAGES
from heron_frontends.adapters.awaiting import coroutines_of
from heron_frontends.loading.shape_checks import helper_problems, shape_problems
from heron_instance.runtime.hooks import METHODS, TaskHooks
from heronpy_compat import Bolt, Spout, pystorm, streamparse
from heronpy_compat.streamlet import streamlet as streamlets
from heronpy_compat.streamlet import timedstreamlet
from heronpy_compat.streamlet.builder import Builder
from heronpy_compat.streamlet.errors import StreamletError
from heronpy_compat.streamlet.generator import Generator
from heronpy_compat.streamlet.keyedprocess import KeyedProcess
from heronpy_compat.streamlet.transformoperator import TransformOperator
from heronpy_compat.streamlet.windowconfig import WindowConfig
from heronpy_compat.windows import BoundedDisorder, Count, Tumbling

BEGIN = {"initialize", "close"}
STATE = {"init_state", "pre_save"}
TWO_PHASES = {*STATE, "post_save", "pre_restore"}
TIME = {"process_tick", "on_watermark", "on_finish"}
BOLT = {"initialize", *TIME}
STORM_BOLT = {"initialize", "process_tick"}
SPOUT = {"activate", "deactivate", "ack", "fail", "initialize", "next_tuple"}
AWAITED: dict[tuple[type, bool], set[str]] = {
    (BaseComponent, False): set(),
    (BaseBolt, False): set(),
    (BaseSpout, True): set(),
    (Bolt, False): {*BOLT, "process"},
    (BatchBolt, False): {*BOLT, "process_batch"},
    (SlidingWindowBolt, False): {*BOLT, *STATE, "processWindow"},
    (TumblingWindowBolt, False): {*BOLT, *STATE, "processWindow"},
    (WindowedBolt, False): {*BOLT, *STATE, "execute"},
    (KeyedWindowBolt, False): {*BOLT, *STATE},
    (BatchWindowBolt, False): {*BOLT, *STATE, "process_batch"},
    (KeyedProcessBolt, False): {*BOLT, "init_state", "process_element", "on_timer"},
    (Spout, True): {*SPOUT, "close"},
    (StatefulComponent, False): STATE,
    (TwoPhaseStatefulComponent, False): TWO_PHASES,
    (BatchAware, False): {"begin_batch", "end_batch"},
    (pystorm.Bolt, False): {*STORM_BOLT, "process"},
    (pystorm.BatchingBolt, False): {*STORM_BOLT, "process_batch", "process_batches"},
    (pystorm.TicklessBatchingBolt, False): {*STORM_BOLT, "process_batch", "process_batches"},
    (pystorm.Spout, True): SPOUT,
    (pystorm.ReliableSpout, True): SPOUT,
    (streamparse.Bolt, False): {*STORM_BOLT, "process"},
    (streamparse.BatchingBolt, False): {*STORM_BOLT, "process_batch", "process_batches"},
    (streamparse.TicklessBatchingBolt, False): {
        *STORM_BOLT, "process_batch", "process_batches",
    },
    (streamparse.Spout, True): SPOUT,
    (streamparse.ReliableSpout, True): SPOUT,
}  # fmt: skip
"""By class and whether it is a spout: methods allowed as a coroutine; the rest is refused."""
CASES = [pytest.param(*each, id=f"{each[0].__module__}.{each[0].__name__}") for each in AWAITED]


def methods_of(base: type) -> list[str]:
    return sorted(
        {
            name
            for each in base.__mro__
            if each.__module__.startswith(PACKAGES)
            for name, found in vars(each).items()
            if inspect.isfunction(getattr(found, "__func__", found))
            and not (name.startswith("__") and name.endswith("__"))
        }
    )


ran: list[str] = []
"""Names of methods that have run to their end."""


def own(base: type, name: str) -> type:
    """A class of a user's with the named method as a coroutine."""

    async def method(self: Any, *arguments: Any) -> None:
        await asyncio.sleep(0)
        ran.append(name)

    method.__name__ = name
    return type("Own", (base,), {name: method})


@pytest.mark.parametrize(("base", "is_spout"), CASES)
def test_each_method_of_each_class_is_awaited_or_refused(base: type, is_spout: bool) -> None:
    accepted = set()
    for name in methods_of(base):
        problems = list(shape_problems("bolt 'own'", own(base, name), is_spout))
        if not problems:
            accepted.add(name)
            continue
        assert f"{Path(__file__).name}:" in problems[0]
        assert f"bolt 'own': {name} of class Own is `async def`" in problems[0]
        assert "write `" in problems[0] or "leave" in problems[0]
    assert accepted == AWAITED[base, is_spout]


@pytest.mark.parametrize(("base", "is_spout"), CASES)
def test_what_is_accepted_runs_to_its_end_where_the_engine_calls_it(
    base: type, is_spout: bool
) -> None:
    for name in AWAITED[base, is_spout] - {"process", "next_tuple"}:
        kind: Any = own(base, name)
        user = kind.__new__(kind)
        coroutines = coroutines_of(user, is_spout)
        assert coroutines is not None
        ran.clear()
        getattr(user, name)(1)
        assert ran == [name]
        assert not is_async(getattr(user, name))

        async def within(user: Any = user, name: str = name) -> Any:
            await getattr(user, name)(1)  # as a user's other coroutine calls it

        coroutines.run(within())
        assert ran == [name, name]
        coroutines.close()


def test_hooks_of_a_plain_class_and_its_own_helpers() -> None:
    async def method(self: Any, *arguments: Any) -> None:
        pass

    names = ("process", "on_finish", "execute", "on_timer", "ask_the_service", "migrate")
    kind = type("Plain", (), dict.fromkeys(names, method))
    assert list(shape_problems("bolt 'own'", kind, False)) == []
    for name in ("emit", "ack", "is_idle"):
        kind = type("Plain", (), {"process": method, name: method})
        (problem,) = shape_problems("bolt 'own'", kind, False)
        assert f"{name} of class Plain is `async def`, but the engine does not await its" in problem


def test_the_state_of_a_spout_is_saved_between_two_of_its_emits() -> None:
    kind = own(type("Saved", (Spout, TwoPhaseStatefulComponent), {}), "pre_save")
    (problem,) = shape_problems("spout 'own'", kind, True)
    assert problem.endswith("write `def pre_save`, and await in next_tuple")


def test_a_coroutine_that_settles_its_tuple_later_is_refused() -> None:
    kind = type("Later", (own(Bolt, "process"),), {"acks_later": True})
    (problem,) = shape_problems("bolt 'own'", kind, False)
    assert problem.endswith("remove acks_later, and await the work that precedes the ack")


# --- what is no component -------------------------------------------------------------------------


async def coroutine(*arguments: Any) -> Any:
    return arguments


def generator(*arguments: Any) -> Iterator[Any]:
    yield arguments


class AsyncCall:
    async def __call__(self, *arguments: Any) -> Any:
        return arguments


def clock_of(strategy: Any) -> EventClock:
    settings = EventTimeSettings.of({}, "tasks", True)
    return EventClock("own", settings, None, float, lambda tup: 0, strategy)


HELPERS: list[tuple[Callable[[Any], object], tuple[str, ...]]] = [
    (lambda thing: TaskHooks([thing], 1, float), METHODS),
    (lambda thing: checked_aggregate(thing, "class Own"), ("create", "add", "merge", "result")),
    (clock_of, ("partition", "watermark_ms")),
    (lambda thing: load_grouping(Grouping.custom(thing).python_serialized),
     ("prepare", "choose_tasks")),
]  # fmt: skip
BASES: list[type] = [ITaskHook, Count, BoundedDisorder, ICustomGrouping]


@pytest.mark.parametrize("number", range(len(HELPERS)), ids=[each.__name__ for each in BASES])
def test_task_hooks_aggregates_watermarks_and_groupings_refuse_coroutines(number: int) -> None:
    make, names = HELPERS[number]
    for name in names:
        kind: Any = type("Helper", (BASES[number],), {name: coroutine})
        with pytest.raises(MethodShapeError, match=rf"\.py:\d+: .*{name} is `async def`"):
            make(kind.__new__(kind))


class Hook(ITaskHook):
    async def emit(self, emit_info: Any) -> None:  # type: ignore[override]
        pass


class Serializer(IHeronSerializer):
    async def serialize(self, obj: Any) -> bytes:  # type: ignore[override]
        return b""


class OneTask(ICustomGrouping):
    async def choose_tasks(self, values: list[Any]) -> list[int]:  # type: ignore[override]
        return [1]


def test_helpers_that_a_config_or_a_grouping_names_are_refused_when_the_file_is_loaded() -> None:
    def problem_of(config: dict[str, Any], grouping: Any = Grouping.SHUFFLE) -> str:
        words = Spout.spec(name="words", optional_outputs=["word"])
        count = Bolt.spec(name="count", inputs={words["default"]: grouping})
        made: Any = type("Own", (Topology,), {"config": config, "words": words, "count": count})
        return next(helper_problems(made.to_spec()), "")

    here = Hook.__module__
    assert problem_of({}) == ""
    assert "emit of class Hook is `async" in problem_of(
        {"topology.auto.task.hooks": [f"{here}.Hook"]}
    )
    assert "serialize of class Serializer is `async" in problem_of(
        {"topology.serializer.classname": f"{here}.Serializer"}
    )
    found = problem_of({}, Grouping.custom(f"{here}.OneTask"))
    assert found.startswith("bolt 'count': ")
    assert "grouping OneTask.choose_tasks is `async def`" in found


# --- streamlets -----------------------------------------------------------------------------------


def source() -> streamlets.Streamlet:
    return Builder().new_source(lambda: 1)


WINDOW = WindowConfig.create_tumbling_window(1)
FUNCTIONS: dict[str, Callable[[Any], object]] = {
    "new_source": lambda function: Builder().new_source(function),
    "map": lambda function: source().map(function),
    "flat_map": lambda function: source().flat_map(function),
    "filter": lambda function: source().filter(function),
    "repartition": lambda function: source().repartition(2, function),
    "consume": lambda function: source().consume(function),
    "reduce_by_window": lambda function: source().reduce_by_window(WINDOW, function),
    "reduce_by_key_and_window": lambda function: source().reduce_by_key_and_window(
        WINDOW, function
    ),
    "join": lambda function: source().join(source(), WINDOW, function),
    "outer_left_join": lambda function: source().outer_left_join(source(), WINDOW, function),
    "outer_right_join": lambda function: source().outer_right_join(source(), WINDOW, function),
    "outer_join": lambda function: source().outer_join(source(), WINDOW, function),
    "key_by": lambda function: source().key_by(function),
    "group_by": lambda function: source().group_by(function),
    "with_event_time": lambda function: source().with_event_time(function),
    "process": lambda function: source().key_by(str).process(function),
    "window_join": lambda function: (
        source().key_by(str).window_join(source().key_by(str), Tumbling(1), function)
    ),
    "match": lambda function: source().key_by(str).match(sequence(function).within(1)),
    "interval_join": lambda function: (
        source()
        .with_event_time(int)
        .key_by(str)
        .interval_join(source().with_event_time(int).key_by(str), 0, 1, function)
    ),
    "reduce": lambda function: source().key_by(str).window(Tumbling(1)).reduce(function),
}
"""Operations that take a function."""
OBJECTS: dict[str, tuple[type, Callable[[Any], object], set[str]]] = {
    "new_source": (Generator, Builder().new_source, {"setup", "get", "position", "seek"}),
    "transform": (TransformOperator, lambda made: source().transform(made),
                  {"setup", "transform"}),
    "process": (KeyedProcess, lambda made: source().key_by(str).process(made),
                {"open", "process_element", "on_timer"}),
}  # fmt: skip
WITHOUT = {"local", "clone", "union", "log", "window", "aggregate", "set_name", "get_name",
           "set_num_partitions", "get_num_partitions", "transform", "late_elements",
           "group_by_key", "processed", "sql"}  # fmt: skip
"""Operations without a function; transform and aggregate take objects."""


def test_every_operation_of_streamlets_is_looked_at() -> None:
    kinds = (streamlets.Streamlet, timedstreamlet.TimedStreamlet, timedstreamlet.KeyedStreamlet,
             timedstreamlet.WindowedStreamlet)  # fmt: skip
    operations = {
        name
        for each in kinds
        for name, found in vars(each).items()
        if inspect.isfunction(found) and not name.startswith("_")
    }
    assert operations - WITHOUT == FUNCTIONS.keys() - {"new_source"}


@pytest.mark.parametrize("operation", FUNCTIONS)
def test_a_function_of_a_streamlet_that_would_not_run_is_refused(operation: str) -> None:
    for each in (coroutine, AsyncCall()):
        with pytest.raises(StreamletError, match=r"test_method_shapes\.py:\d+: .* is `async def`"):
            FUNCTIONS[operation](each)
    if operation in ("flat_map", "process"):
        FUNCTIONS[operation](generator)
        return
    with pytest.raises(StreamletError, match=r"test_method_shapes\.py:\d+: .* has a `yield`"):
        FUNCTIONS[operation](generator)


def test_a_function_of_running_values_that_would_not_run_is_refused() -> None:
    for each in (coroutine, AsyncCall(), generator):
        with pytest.raises(StreamletError, match=r"test_method_shapes\.py:\d+: "):
            source().group_by(str).reduce(each)


@pytest.mark.parametrize("operation", OBJECTS)
def test_an_object_of_a_streamlet_with_a_coroutine_is_refused(operation: str) -> None:
    base, make, names = OBJECTS[operation]
    methods = {each for each, found in vars(base).items() if inspect.isfunction(found)}
    assert {each for each in methods if not each.startswith("_")} == names
    for name in names:
        with pytest.raises(StreamletError, match=f"{name} is `async def`"):
            make(type("Own", (base,), {name: coroutine})())
