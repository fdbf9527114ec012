"""The components of random topologies: each bolt's task leaves in a file what it got and made.

Key and event time of a number are functions of it, so that the multiset of numbers that a bolt gets
says all that it may make: whatever the order in which they come.
"""

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.compute as pc

from heron_api.state.keyed_state import (
    list_state,
    map_state,
    reducing_state,
    value_state,
)
from heronpy_compat import BatchBolt, Bolt, Spout, Stream
from heronpy_compat.windows import KeyedProcessBolt, KeyedWindowBolt, Session, Sliding, Tumbling

DEFAULT, ODD, CHOSEN = "default", "odd", "chosen"
FIELDS = ["number", "key", "time_ms"]
TYPES = {"number": "bigint", "key": "int", "time_ms": "bigint"}
ROWS = 5
"""Of a spout's batch, at most."""
KEYS = 7
MODULUS = 1000
STEP_MS = 100
DISORDER_MS = 100
"""Of the numbers 0, 1, 2 …, as a spout emits them; `time_of` goes back by 60 ms at most."""
FULL_RANGE_MS = (MODULUS + 2) * STEP_MS
"""A lag without late numbers, in any order."""


def key_of(number: int) -> int:
    """By what the keyed bolts group."""
    return number % KEYS


def columns_of(numbers: list[int]) -> dict[str, list[int]]:
    """The values of the fields of some numbers."""
    return {
        "number": numbers,
        "key": list(map(key_of, numbers)),
        "time_ms": list(map(time_of, numbers)),
    }


def time_of(number: int) -> int:
    """Milliseconds of event time: a step for each number, and some disorder."""
    return number * STEP_MS + number * 37 % 5 * 40


def mixed(*parts: int) -> int:
    """A number of some numbers."""
    found = 0
    for each in parts:
        found = (found * 31 + each) % MODULUS
    return found


def window_of(kind: str, size_ms: int, slide_ms: int) -> Any:
    """The assigner of a kind of bolt."""
    if kind == "sliding":
        return Sliding(size_ms, slide_ms)
    return Session(size_ms) if kind == "session" else Tumbling(size_ms)


class Emitting:
    outputs = [*FIELDS, Stream(FIELDS, ODD), Stream(FIELDS, CHOSEN, direct=True)]

    def prepare(self, config: Any, context: Any) -> None:
        names = config["test.readers"]
        self.readers = [context.get_component_tasks(name) for name in names]
        self.own = context.get_component_tasks(context.get_component_id())
        self.index = self.own.index(context.get_task_id())
        file = f"{context.get_component_id()}-{self.index}.json"
        self.path = os.path.join(config["test.results"], file)
        self.got: Counter[tuple[str, str, int]] = Counter()
        self.made: list[Any] = []

    def take(self, tup: Any) -> int:
        """Note a tuple; returns its number."""
        number: int = tup.values[0]
        self.got[tup.component, tup.stream, number] += 1
        return number

    def send(self, number: int, **how: Any) -> None:
        """On every stream."""
        self.emit([number, key_of(number), time_of(number)], **how)
        self.send_others(number, **how)

    def send_others(self, number: int, **how: Any) -> None:
        values = [number, key_of(number), time_of(number)]
        if number % 2:
            self.emit(values, stream=ODD, **how)
        for tasks in self.readers:
            self.emit(values, stream=CHOSEN, direct_task=tasks[number % len(tasks)], **how)

    def leave_results(self) -> None:
        """At the end."""
        found = {"got": [[*key, n] for key, n in self.got.items()], "made": self.made}
        Path(self.path).write_text(json.dumps(found))


class Numbers(Emitting, Spout):
    """The tasks share the numbers from 0 on."""

    def initialize(self, config: Any, context: Any) -> None:
        self.prepare(config, context)
        self.left = list(range(config["test.numbers"]))[self.index :: len(self.own)]

    def next_tuple(self) -> None:
        if not self.left:
            self.finish()
            return
        number = self.left.pop(0)
        self.send(number, tup_id=number)


class EmittingColumns(Emitting):
    """Emits batches; readers may take tuples."""

    outputs = [Stream(TYPES), Stream(TYPES, ODD), Stream(TYPES, CHOSEN, direct=True)]

    def send_batch(self, numbers: list[int], **how: Any) -> None:
        """On every stream."""
        self.emit_batch(columns_of(numbers), **how)
        self.emit_batch(columns_of([each for each in numbers if each % 2]), stream=ODD, **how)
        for tasks in self.readers:
            for index, task in enumerate(tasks):
                some = columns_of([each for each in numbers if each % len(tasks) == index])
                self.emit_batch(some, stream=CHOSEN, direct_task=task, **how)

    def take_batch(self, batch: Any) -> list[int]:
        """Note the tuples of a batch; their numbers."""
        source, numbers = self.current_tuple, batch["number"].to_pylist()
        self.got.update((source.component, source.stream, each) for each in numbers)
        return numbers


class NumbersByColumns(EmittingColumns, Numbers):
    """Some at once, and at times a single one as a tuple."""

    def next_tuple(self) -> None:
        if not self.left:
            self.finish()
            return
        count = self.left[0] % ROWS + 1
        numbers, self.left = self.left[:count], self.left[count:]
        if count == 1:
            self.send(numbers[0], tup_id=numbers[0])
        else:
            self.send_batch(numbers, tup_id=numbers[0])


class Mixing(Emitting, Bolt):
    """Emits an affine image of its input."""

    def initialize(self, config: Any, context: Any) -> None:
        self.prepare(config, context)
        self.factor, self.shift = config["test.factor"], config["test.shift"]

    def process(self, tup: Any) -> None:
        number = self.take(tup)
        self.send((number * self.factor + self.shift) % MODULUS, anchors=[tup])
        self.ack(tup)

    def on_finish(self) -> None:
        self.leave_results()


class MixingColumns(EmittingColumns, BatchBolt):
    """Mixing of columns."""

    def initialize(self, config: Any, context: Any) -> None:
        self.prepare(config, context)
        self.factor, self.shift = config["test.factor"], config["test.shift"]

    def process_batch(self, batch: Any) -> None:
        numbers = self.take_batch(batch)
        self.send_batch([(each * self.factor + self.shift) % MODULUS for each in numbers])

    def on_finish(self) -> None:
        self.leave_results()


class Remembering(Emitting, Bolt):
    """Has a state of each kind; emits how often it has seen a key."""

    auto_ack = auto_anchor = True
    count = value_state(default=0)
    numbers = list_state()
    times = map_state()
    largest = reducing_state(max)

    def initialize(self, config: Any, context: Any) -> None:
        self.prepare(config, context)

    def process(self, tup: Any) -> None:
        number = self.take(tup)
        self.count.put(self.count.get() + 1)
        self.numbers.add(number)
        self.times.put(number, self.times.get(number, 0) + 1)
        self.largest.add(number)
        self.send(mixed(key_of(number), self.count.get()))

    def on_finish(self) -> None:
        for key, count in self.count.all_items():
            numbers = sorted(self.numbers.for_key(key))
            times = sorted(self.times.for_key(key).items())
            self.made.append([key, count, numbers, times, self.largest.for_key(key).get()])
        self.leave_results()


class RememberingColumns(EmittingColumns, BatchBolt):
    """Remembering of columns: each key once for a batch."""

    count = value_state(default=0)
    numbers = list_state()
    times = map_state()
    largest = reducing_state(max)
    on_finish = Remembering.on_finish

    def initialize(self, config: Any, context: Any) -> None:
        self.prepare(config, context)

    def process_batch(self, batch: Any) -> None:
        self.take_batch(batch)
        made: list[int] = []
        for key in batch["key"].unique().to_pylist():
            numbers = batch["number"].filter(pc.equal(batch["key"], key)).to_pylist()
            count, times = self.count.for_key(key), self.times.for_key(key)
            made += [mixed(key, count.get() + each) for each in range(1, len(numbers) + 1)]
            count.put(count.get() + len(numbers))
            self.numbers.for_key(key).add_all(numbers)
            for number, seen in Counter(numbers).items():
                times.put(number, times.get(number, 0) + seen)
            self.largest.for_key(key).add(max(numbers))
        self.send_batch(made)


class Timing(Emitting, KeyedProcessBolt):
    """Emits a key's input at the end of a stretch of time, by a timer."""

    auto_ack = True
    timestamp_field = "time_ms"
    numbers = list_state()

    def initialize(self, config: Any, context: Any) -> None:
        super().initialize(config, context)
        self.prepare(config, context)
        self.size_ms = config["test.size"]

    def process_element(self, tup: Any, timestamp_ms: Any) -> None:
        self.numbers.add(self.take(tup))
        end_ms = timestamp_ms - timestamp_ms % self.size_ms + self.size_ms
        # No event below the watermark is expected: events of `end_ms` itself still are.
        self.timers.register_event_time_timer(end_ms - 1)

    def on_timer(self, timestamp_ms: int, timer: Any) -> None:
        start_ms = timestamp_ms + 1 - self.size_ms
        due = sorted(each for each in self.numbers if time_of(each) <= timestamp_ms)
        self.numbers.update([each for each in self.numbers if time_of(each) > timestamp_ms])
        self.made.append([timer.key, start_ms, due])
        self.send(mixed(timer.key, start_ms, sum(due)))

    def on_finish(self) -> None:
        super().on_finish()
        self.leave_results()


class Collected:
    """An aggregate: the numbers."""

    def create(self) -> list[int]:
        return []

    def add(self, numbers: list[int], number: int) -> list[int]:
        return [*numbers, number]

    def merge(self, left: list[int], right: list[int]) -> list[int]:
        return left + right

    def result(self, numbers: list[int]) -> list[int]:
        return sorted(numbers)


class Windowing(Emitting, KeyedWindowBolt):
    """Emits a number of each window of a key."""

    window = Tumbling(STEP_MS)
    aggregate = Collected()
    key_fields = ["key"]
    timestamp_field = "time_ms"

    def initialize(self, config: Any, context: Any) -> None:
        self.window = window_of(config["test.kind"], config["test.size"], config["test.slide"])
        if not config["test.keyed"]:
            self.key_fields = []
        super().initialize(config, context)
        self.prepare(config, context)

    def value(self, tup: Any, timestamp_ms: int) -> int:
        return self.take(tup)

    def values(self, result: Any) -> Any:
        key = result.key[0] if result.key else 0
        start_ms, end_ms = result.window
        self.made.append([key, start_ms, end_ms, result.value])
        number = mixed(key, start_ms, end_ms, sum(result.value))
        self.send_others(number)
        return [number, key_of(number), time_of(number)]

    def on_finish(self) -> None:
        super().on_finish()
        self.leave_results()


class ByParity:
    """A custom grouping: even numbers to the first task, odd ones to all further tasks."""

    def prepare(self, context: Any, component: str, stream: str, target_tasks: list[int]) -> None:
        self.tasks = target_tasks

    def choose_tasks(self, values: list[Any]) -> list[int]:
        return self.tasks[:1] if values[0] % 2 == 0 else self.tasks[1:]


class ByParityOfColumns(ByParity):
    """ByParity of a whole batch."""

    def divide_batch(self, batch: Any) -> Any:
        odd = pc.equal(pc.bit_wise_and(batch["number"], 1), 1)
        yield self.tasks[:1], batch.filter(pc.invert(odd))
        yield self.tasks[1:], batch.filter(odd)


CLASSES: dict[str, type[Any]] = {
    "mix": Mixing,
    "state": Remembering,
    "timer": Timing,
    "tumbling": Windowing,
    "sliding": Windowing,
    "session": Windowing,
}
COLUMNAR: dict[str, type[Any]] = {
    "spout": NumbersByColumns,
    "mix": MixingColumns,
    "state": RememberingColumns,
}
"""Of the kinds that can be columnar as well."""
