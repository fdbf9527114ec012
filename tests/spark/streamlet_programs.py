"""Programs of streamlets that run natively, in the tester and on Spark; workers import this."""

import json
import operator
from collections.abc import Callable
from typing import Any

from heron_api.topology import TopologyBuilder
from heronpy_compat.streamlet.builder import Builder
from heronpy_compat.streamlet.statebykey import MappedState
from heronpy_compat.streamlet.streamlet import Streamlet
from heronpy_compat.windows import Sliding

LINES = ["to be or not to be", "that is the question", "to do is to be"] * 20


def shown(element: Any) -> None:
    """Print an element as JSON."""
    print(json.dumps(element))


def pair(word: str) -> tuple[str, int]:
    """A word that counts once."""
    return word, 1


def word_pairs(builder: Builder) -> Streamlet:
    """(word, 1) of each word of LINES."""
    return builder.from_collection(LINES).flat_map(str.split).map(pair)


def summed(builder: Builder) -> Streamlet:
    """Words counted without a window."""
    made: Streamlet = word_pairs(builder).group_by_key().sum()
    return made.set_num_partitions(2)


def tracked(builder: Builder) -> Streamlet:
    """Words counted by mapWithState, from initial states."""
    made: Streamlet = word_pairs(builder).group_by_key().map_with_state(track, initial={"to": 100})
    return made.set_num_partitions(2)


def track(word: str, one: int | None, state: MappedState) -> tuple[str, int]:
    """The seeds' function."""
    state.update((one or 0) + (state.getOption() or 0))
    return word, state.get()


def updated(builder: Builder) -> Streamlet:
    """updateStateByKey by batches of event time: each number is a second."""
    numbers = builder.from_collection(range(300)).with_event_time(_second_of)
    made: Streamlet = numbers.group_by(_last_digit).update_state(_count, batch_ms=20_000)
    return made.set_num_partitions(2)


def windowed(builder: Builder) -> Streamlet:
    """reduceByKeyAndWindow with an inverse function."""
    numbers = builder.from_collection(range(300)).with_event_time(_second_of)
    made: Streamlet = numbers.group_by(_last_digit).reduce_by_window(
        Sliding(60_000, 20_000), operator.add, operator.sub
    )
    return made.set_num_partitions(2).map(_as_json)


def _second_of(number: int) -> int:
    return number * 1000


def _last_digit(number: int) -> int:
    return number % 10


def _count(values: list[int], state: int | None) -> int:
    return len(values) + (state or 0)


def _as_json(element: Any) -> Any:
    window = element[0].window
    return [element[0].key, window.start_time, window.end_time, element[1]]


PROGRAMS = (summed, tracked, updated, windowed)


def built() -> TopologyBuilder:
    """The topology of all programs; a line says which of them it is of."""
    builder, topology = Builder(), TopologyBuilder("Streamlets")
    for program in PROGRAMS:
        program(builder).map(_named(program.__name__)).consume(shown)
    builder.build(topology)
    return topology


def _named(name: str) -> Callable[[Any], list[Any]]:
    return lambda element: [name, element]
