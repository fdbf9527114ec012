"""A plain model of keyed states, and sequences of operations for both."""

from collections.abc import Callable
from random import Random
from typing import Any

from hypothesis import strategies as st

from heron_core.state.codec import StateCodec
from heron_core.state.current_key import CurrentKey
from heron_core.state.named_states import NamedStates
from heron_core.state.protocol import StateBackend

KEYS = ["a", 1, ("p", ("q",)), 10**20, "", "ä", 0, -7, 2.5, None, b"x", ("p", 1), ()]
VALUES = st.one_of(
    st.integers(),
    st.text(max_size=3),
    st.none(),
    st.lists(st.integers(0, 3), max_size=2),
    st.tuples(st.integers(0, 3), st.text(max_size=1)),
    st.sets(st.integers(0, 3), max_size=2),
)
MAP_KEYS = st.sampled_from(["x", "y", 3, ("z", 1), None])
TTL_SECS = 10.0

OPERATIONS = st.one_of(
    st.tuples(st.just("put"), VALUES),
    st.tuples(st.just("clear_value")),
    st.tuples(st.just("mutate"), st.integers(0, 9)),
    st.tuples(st.just("add"), st.integers(0, 9)),
    st.tuples(st.just("clear_sum")),
    st.tuples(st.just("append"), VALUES),
    st.tuples(st.just("update"), st.lists(VALUES, max_size=4)),
    st.tuples(st.just("clear_list")),
    st.tuples(st.just("mutate_element"), st.integers(0, 9)),
    st.tuples(st.just("put_entry"), MAP_KEYS, VALUES),
    st.tuples(st.just("remove_entry"), MAP_KEYS),
    st.tuples(st.just("clear_map")),
)
KEYED_OPERATIONS = st.tuples(st.sampled_from(KEYS[:4]), OPERATIONS)
"""Of few keys, so that much happens to each."""


def random_operation(rng: Random) -> tuple[Any, tuple[Any, ...]]:
    """As KEYED_OPERATIONS, drawn in a hundredth of the time, for long runs."""

    def value() -> Any:
        return rng.choice([rng.random(), "text", None, [1], [2], [3], (3, "x"), {4}, 2**70])

    sub = rng.choice(["x", "y", 3, ("z", 1), None])
    number = rng.randrange(10)
    names = {
        "put": (value(),), "clear_value": (), "mutate": (number,), "add": (number,),
        "clear_sum": (), "append": (value(),), "clear_list": (), "clear_map": (),
        "update": ([value() for _ in range(rng.randrange(4))],), "mutate_element": (number,),
        "put_entry": (sub, value()), "remove_entry": (sub,),
    }  # fmt: skip
    name = rng.choice(list(names))
    return rng.choice(KEYS[:5]), (name, *names[name])


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        """Seconds."""
        return self.now


class Real:
    """The four kinds of states in a backend."""

    def __init__(
        self,
        make_backend: Callable[[StateCodec], StateBackend],
        ttl_secs: float | None = None,
        clock: Callable[[], float] = lambda: 0.0,
        in_place: bool = False,
    ) -> None:
        """`in_place`: values read are changed without a put."""
        self._in_place = in_place
        self.codec = StateCodec("count")
        self.backend = make_backend(self.codec)
        self.named = NamedStates(self.backend, CurrentKey("count"), clock)
        self.value = self.named.value_state("value", ttl_secs=ttl_secs)
        self.sum = self.named.reducing_state("sum", lambda a, b: a + b, ttl_secs=ttl_secs)
        self.list = self.named.list_state("list", ttl_secs=ttl_secs)
        self.map = self.named.map_state("map", ttl_secs=ttl_secs)

    def do(self, key: Any, operation: tuple[Any, ...]) -> None:
        """One operation at a key."""
        name, *arguments = operation
        states: dict[str, Callable[..., Any]] = {
            "put": self.value.for_key(key).put,
            "clear_value": self.value.for_key(key).clear,
            "mutate": lambda number: self._mutate(key, number),
            "add": self.sum.for_key(key).add,
            "clear_sum": self.sum.for_key(key).clear,
            "append": self.list.for_key(key).add,
            "update": self.list.for_key(key).update,
            "clear_list": self.list.for_key(key).clear,
            "mutate_element": lambda number: self._mutate_element(key, number),
            "put_entry": self.map.for_key(key).put,
            "remove_entry": self.map.for_key(key).remove,
            "clear_map": self.map.for_key(key).clear,
        }
        states[name](*arguments)

    def _mutate(self, key: Any, number: int) -> None:
        value = self.value.for_key(key).get()
        if isinstance(value, list):
            value.append(number)
            if not self._in_place:
                self.value.for_key(key).put(value)

    def _mutate_element(self, key: Any, number: int) -> None:
        elements = self.list.for_key(key).get()
        if not elements or not isinstance(elements[0], list):
            return
        elements[0].append(number)
        if not self._in_place:
            self.list.for_key(key).update(elements)

    def contents(self) -> dict[str, dict[Any, Any]]:
        return {
            "value": dict(self.value.all_items()),
            "sum": dict(self.sum.all_items()),
            "list": dict(self.list.all_items()),
            "map": dict(self.map.all_items()),
        }


class Model:
    """The expected content: plain dicts."""

    def __init__(self) -> None:
        self.value: dict[Any, Any] = {}
        self.sum: dict[Any, Any] = {}
        self.list: dict[Any, list[Any]] = {}
        self.map: dict[Any, dict[Any, Any]] = {}

    def do(self, key: Any, operation: tuple[Any, ...]) -> None:
        match operation:
            case "put", value:
                self.value[key] = list(value) if isinstance(value, list) else value
            case "mutate", number if isinstance(self.value.get(key), list):
                self.value[key].append(number)
            case "add", number:
                self.sum[key] = self.sum.get(key, 0) + number
            case "append", value:
                self.list.setdefault(key, []).append(value)
            case "update", values:
                self.list[key] = list(values)
            case "mutate_element", number:
                elements = self.list.get(key)
                if elements and isinstance(elements[0], list):
                    elements[0].append(number)
            case "put_entry", sub, value:
                self.map.setdefault(key, {})[sub] = value
            case "remove_entry", sub:
                self.map.get(key, {}).pop(sub, None)
            case name, *_ if name.startswith("clear_"):
                getattr(self, name.removeprefix("clear_")).pop(key, None)

    def contents(self) -> dict[str, dict[Any, Any]]:
        """All content; a list or map without entries is absent."""
        return {
            "value": dict(self.value),
            "sum": dict(self.sum),
            "list": {key: each for key, each in self.list.items() if each},
            "map": {key: each for key, each in self.map.items() if each},
        }
