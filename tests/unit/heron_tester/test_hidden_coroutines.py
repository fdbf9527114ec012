"""Coroutines and generators hidden until called: each call is an error with the line of the code
not run. Visible ones run, in any form."""

import abc
import asyncio
import functools
import re
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from heron_api.method_shapes import MethodShapeError
from heron_api.state.stateful_component import StatefulComponent
from heron_api.windows.window_runner import checked_aggregate
from heron_core.errors import ComponentError
from heronpy_compat import Bolt, Grouping, Spout, Topology, TopologyBuilder, streamparse
from heronpy_compat.streamlet.builder import Builder
from heronpy_compat.testing import ComponentTester, TopologyTester
from heronpy_compat.windows import KeyedWindowBolt, Reduce, Sliding

HERE = Path(__file__).name
CALLS = 4


def hidden(function: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator without functools.wraps."""

    def run(*arguments: Any) -> Any:
        return function(*arguments)

    return run


async def awaited(self: Any, *arguments: Any) -> None:
    await asyncio.sleep(0)


async def yielded_async(self: Any, *arguments: Any) -> AsyncIterator[Any]:
    yield [1]


def yielded(self: Any, *arguments: Any) -> Iterator[Any]:
    yield [1]


FORMS = {"a coroutine": awaited, "an async generator": yielded_async, "a generator": yielded}


class Numbers(Spout):
    outputs = ["number"]

    def initialize(self, config: Any, context: Any) -> None:
        self.next = 0

    def next_tuple(self) -> None:
        if self.next < 3:
            self.next += 1
            self.emit([self.next], tup_id=self.next)
        else:
            self.finish()


def found(*bases: type, **members: Any) -> Any:
    """A class of its module, as found by the engine."""
    made = type("Own", bases, {"outputs": ["number"], **members})
    made.__qualname__ = made.__name__ = f"Own{len(_made)}"
    _made.append(made)
    globals()[made.__name__] = made
    return made


_made: list[type] = []


def topology(spout: Any, bolt: Any = None) -> Any:
    is_storm = issubclass(spout, streamparse.Spout)
    source = spout.spec(name="source")
    parts: dict[str, Any] = {"source": source, "__module__": __name__}
    if bolt is not None:
        parts["own"] = bolt.spec(name="own", inputs={source: Grouping.SHUFFLE})
    return type("Own", (streamparse.Topology if is_storm else Topology,), parts)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("base", [Spout, streamparse.Spout])
def test_a_next_tuple_behind_a_decorator_that_hides_what_it_is(base: type, form: str) -> None:
    """Earlier a spout without emits, for ever."""
    with TopologyTester(topology(found(base, next_tuple=hidden(FORMS[form])))) as tester:
        tester.run_spouts(2)
        error = str(tester.errors("source")[0])
    line = FORMS[form].__code__.co_firstlineno
    assert f"{HERE}:{line}: next_tuple returns {form}" in error


@pytest.mark.parametrize("form", FORMS)
def test_a_process_behind_a_decorator_that_hides_what_it_is(form: str) -> None:
    bolt = found(Bolt, process=hidden(FORMS[form]))
    with TopologyTester(topology(Numbers, bolt)) as tester:
        tester.run_spouts(CALLS)
        errors = [str(each) for each in tester.errors("own")]
        assert len(errors) == 3
    line = FORMS[form].__code__.co_firstlineno
    assert f"{HERE}:{line}: process returns {form}" in errors[0]


class Doubling:
    """A mixin."""

    async def double(self: Any, factor: int, tup: Any) -> None:
        await asyncio.sleep(0)
        self.emit([factor * tup.values[0]])

    process = functools.partialmethod(double, 2)


class Abstract(Bolt, abc.ABC):
    outputs = ["number"]

    @abc.abstractmethod
    async def process(self, tup: Any) -> None: ...


class Whole(Abstract):
    async def process(self, tup: Any) -> None:
        await asyncio.sleep(0)
        self.emit([2 * tup.values[0]])


class Plain(Abstract):
    def process(self, tup: Any) -> None:  # type: ignore[override]
        self.emit([2 * tup.values[0]])


class Bound:
    """A descriptor."""

    def __init__(self, function: Any) -> None:
        self.function = function

    def __get__(self, thing: Any, kind: type) -> Any:
        return functools.partial(self.function, thing)


class Described(Bolt):
    outputs = ["number"]

    @Bound
    async def process(self, tup: Any) -> None:
        await asyncio.sleep(0)
        self.emit([2 * tup.values[0]])


class Object:
    async def __call__(self, tup: Any) -> AsyncIterator[Any]:
        await asyncio.sleep(0)
        yield [2 * tup.values[0]]


SEEN = {
    "a mixin's partialmethod": found(Doubling, Bolt),
    "of an abstract base": Whole,
    "a function, of an abstract coroutine": Plain,
    "a descriptor's partial": Described,
    "an object with __call__ that yields": found(Bolt, process=Object()),
    "an async generator": found(Bolt, process=yielded_async),
}


@pytest.mark.parametrize("form", SEEN)
def test_a_process_that_can_be_seen_runs_in_whatever_form_it_comes(form: str) -> None:
    with TopologyTester(topology(Numbers, SEEN[form])) as tester:
        tester.run_spouts(CALLS)
        found = [each.values[0] for each in tester.emitted("own")]
        assert tester.acked("source") == [1, 2, 3]
    assert found == ([1, 1, 1] if form == "an async generator" else [2, 4, 6])


# --- functions ------------------------------------------------------------------------------------


async def fetch(*arguments: Any) -> Any:
    return arguments[-1]


LAMBDAS: dict[str, Callable[[Any], Any]] = {
    "map": lambda made: made.map(lambda x: fetch(x)),  # noqa: PLW0108
    "flat_map": lambda made: made.flat_map(lambda x: fetch(x)),  # noqa: PLW0108
    "filter": lambda made: made.filter(lambda x: fetch(x)),  # noqa: PLW0108
    "consume": lambda made: made.consume(lambda x: fetch(x)),  # noqa: PLW0108
    "key_by": lambda made: made.key_by(lambda x: fetch(x)).process(lambda x, context: [x]),  # noqa: PLW0108
}


STAGES = {"flat_map": "flatmap", "key_by": "process"}


@pytest.mark.parametrize("operation", LAMBDAS)
def test_a_lambda_of_a_streamlet_that_calls_a_coroutine_is_told(operation: str) -> None:
    """Earlier a filter let everything pass, and consume did nothing. Now the element stops."""
    builder = Builder()
    source = builder.new_source(iter(range(3)).__next__)
    source.set_name("source")
    LAMBDAS[operation](source)
    made = TopologyBuilder("Own")
    builder.build(made)
    stage = f"{STAGES.get(operation, operation)}-1"
    names = [stage, "source"]
    with TopologyTester(made) as tester:
        tester.run_spouts(CALLS)
        errors = [str(each) for name in names for each in tester.errors(name)]
        assert tester.emitted(stage) == []
    line = fetch.__code__.co_firstlineno
    assert f"{HERE}:{line}: the function of {operation} returns a coroutine" in errors[0]


def test_functions_of_states_and_aggregates_are_refused() -> None:
    with pytest.raises(MethodShapeError, match=rf"{HERE}:\d+: .*Reduce in class Own is `async"):
        checked_aggregate(Reduce(fetch), "class Own")
    bolt = found(
        Bolt,
        StatefulComponent,
        process=lambda self, tup: None,
        init_state=lambda self, state: state.reducing_state("sum", fetch),
    )
    with (
        pytest.raises(ComponentError, match=rf"{HERE}:\d+: .*reducing_state sum is `async def`"),
        TopologyTester(topology(Numbers, bolt)),
    ):
        pass


class Sum:
    """Of a user."""

    def create(self) -> Any:
        return 0

    def add(self, accumulator: Any, value: Any) -> Any:
        return accumulator + 1

    def merge(self, left: Any, right: Any) -> Any:
        return left + right

    def result(self, accumulator: Any) -> Any:
        return accumulator


def show_windows(tester: ComponentTester) -> None:
    for number in range(2):
        tester.process([number])
        tester.advance(1)
    tester.advance(3)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("where", ["create", "add", "merge", "result", "Reduce"])
def test_an_aggregate_whose_decorator_hides_a_coroutine_fails_with_its_line(
    where: str, form: str
) -> None:
    """A window's value would be the coroutine itself."""
    method = hidden(FORMS[form])
    made: Any = Reduce(method) if where == "Reduce" else type("Own", (Sum,), {where: method})()

    class Windows(KeyedWindowBolt):
        outputs = ["start_ms", "end_ms", "value"]
        window = Sliding(2000, 1000)
        aggregate = made

    with ComponentTester(Windows, inputs={"numbers": ["number"]}) as tester:
        with pytest.raises(ComponentError) as raised:
            show_windows(tester)
        found = str(raised.value)
        assert re.match(rf"\S*{HERE}:\d+: the function of \S+ returns {form}", found), found
