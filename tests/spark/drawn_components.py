"""The components of drawn topologies: rows of any types, passed on, failed or put in windows by
bolts.

The row, its misfits and its failures at a bolt are functions of its number, so that plain Python
knows the input of each bolt. All knowledge of a component is state: a component may be killed.
"""

import asyncio
import json
import os
import zlib
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from random import Random
from typing import Any

from drawn_values import draw_misfit, draw_value, shown
from heron_api.state.stateful_component import StatefulComponent
from heronpy_compat import Bolt, ICustomGrouping, Spout
from heronpy_compat.windows import (
    BatchWindowBolt,
    KeyedWindowBolt,
    Sliding,
    Tumbling,
    WindowedBolt,
)
from random_components import Collected

LATE = "late"
DEFAULT, SIDE, CHOSEN = "default", "side", "chosen"
"""Streams: all rows, those of odd numbers, and one to a task of each reader, named by the row."""
ONE, TWO, DIRECT = "one", "two", "direct"
"""How a component sends its rows: on DEFAULT, on DEFAULT and SIDE, on CHOSEN."""
KEYS = 3
START_MS = 1_700_000_000_000
STEP_MS = 100
LATE_EVERY, LATE_MS = 5, 1000
MISFIT_EVERY = 9
BATCH = 4
NUMBER, TUPLES, TIMES = "bigint", "naive", "aware"
OFFSET = timezone(timedelta(hours=-3, minutes=-30))


def chance(*parts: Any) -> int:
    """A number determined by the arguments, in every process."""
    return zlib.crc32(repr(parts).encode())


def time_of(number: int) -> int:
    """The event time of a row; some come a second too late."""
    late = LATE_MS if chance("late", number) % LATE_EVERY == 0 else 0
    return START_MS + number * STEP_MS - late


def time_value(kind: str, number: int) -> Any:
    """The time as in the column."""
    if kind == NUMBER:
        return time_of(number)
    at = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=time_of(number))
    if kind == TUPLES:
        return at.replace(tzinfo=None)
    return at.astimezone(OFFSET if number % 2 else UTC)


def row_of(seed: str, types: list[str], number: int) -> list[Any]:
    """The values beside number, key and time."""
    random = Random(f"{seed} {number}")
    return [draw_value(random, each) for each in types]


def is_misfit(config: Any, number: int) -> bool:
    """Whether the spout tries a value outside of its type."""
    chosen = chance(config["test.seed"], "misfit", number) % MISFIT_EVERY == 0
    return bool(config["test.typed"]) and chosen


def emitted_row(config: Any, number: int) -> list[Any]:
    """The row tried by the spout."""
    seed, types = config["test.seed"], config["test.types"]
    values = row_of(seed, types, number)
    if is_misfit(config, number):
        random = Random(f"{seed} misfit {number}")
        at = random.randrange(len(types))
        values[at] = draw_misfit(random, types[at])
    return [number, number % KEYS, time_value(config["test.time"], number), *values]


def stream_of(sends: str, number: int) -> str:
    """On which stream a row is sent."""
    if sends == DIRECT:
        return CHOSEN
    return SIDE if sends == TWO and number % 2 else DEFAULT


class Placed:
    """Knows its own instance, and its readers."""

    def restore(self, config: Any, context: Any) -> None:
        """At the start."""
        self.config, self.name = config, context.get_component_id()
        own = context.get_component_tasks(self.name)
        self.index, self.tasks = own.index(context.get_task_id()), len(own)
        self.readers = {
            each: context.get_component_tasks(each) for each in config.get("test.readers", ())
        }

    def ways(self, number: int) -> list[dict[str, Any]]:
        """How a row is sent: with the arguments of emit, once for each."""
        stream = stream_of(self.config["test.sends"], number)
        if stream != CHOSEN:
            return [{"stream": stream}]
        return [
            {"stream": stream, "direct_task": tasks[number % len(tasks)]}
            for tasks in self.readers.values()
        ]


class Stateful(Placed, StatefulComponent):
    """Keeps `self.kept`, a dict, through kills."""

    def init_state(self, stateful_state: Any) -> None:
        self.state = stateful_state

    def restore(self, config: Any, context: Any) -> None:
        super().restore(config, context)
        self.kept: dict[str, Any] = dict(self.state.get("kept") or {})

    def pre_save(self, checkpoint_id: Any) -> None:
        self.state.put("kept", dict(self.kept))

    def leave(self, **found: Any) -> None:
        """A file of results."""
        path = os.path.join(self.config["test.results"], f"{self.name}-{self.index}.json")
        Path(path).write_text(json.dumps(found))


class Rows(Stateful, Spout):
    """Emits its rows; refused rows are noted."""

    def initialize(self, config: Any, context: Any) -> None:
        self.restore(config, context)

    def next_tuple(self) -> None:
        at = self.kept.get("at", self.index)
        if at >= self.config["test.rows"]:
            self.leave(refused=self.kept.get("refused", []))
            self.finish()
            return
        self.kept["at"] = at + self.tasks
        self.try_to_emit([at])

    def try_to_emit(self, numbers: list[int]) -> None:
        for each in numbers:
            row = emitted_row(self.config, each)
            try:
                for at, way in enumerate(self.ways(each)):
                    self.emit(row, tup_id=f"{each} {at}", **way)
            except TypeError:
                self.kept["refused"] = [*self.kept.get("refused", []), each]


def by_stream(sends: str, numbers: list[int]) -> list[list[int]]:
    """Rows of each stream with rows."""
    streams = {stream_of(sends, each): None for each in numbers}
    return [[each for each in numbers if stream_of(sends, each) == one] for one in streams]


class RowsByColumns(Rows):
    """Some at once; after a refusal, each alone."""

    def next_tuple(self) -> None:
        at, behind = self.kept.get("at", self.index), self.config["test.rows"]
        if at >= behind:
            super().next_tuple()
            return
        numbers = list(range(at, behind, self.tasks))[:BATCH]
        self.kept["at"] = numbers[-1] + self.tasks
        for together in by_stream(self.config["test.sends"], numbers):
            self.try_to_emit(together)

    def try_to_emit(self, numbers: list[int]) -> None:
        """All on one stream; a direct one to the task named by the first row."""
        columns = self.columns(numbers)
        try:
            for at, way in enumerate(self.ways(numbers[0])):
                self.emit_batch(columns, tup_id=f"{numbers[0]} {at}", **way)
        except TypeError:
            if len(numbers) == 1:
                self.kept["refused"] = [*self.kept.get("refused", []), *numbers]
                return
            for each in numbers:
                self.try_to_emit([each])

    def columns(self, numbers: list[int]) -> dict[str, list[Any]]:
        """By the names of the fields."""
        rows = [emitted_row(self.config, each) for each in numbers]
        names = ["number", "key", "time", *self.config["test.names"]]
        return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))


class RowsAwaited(Rows):
    async def next_tuple(self) -> None:  # type: ignore[override]
        await asyncio.sleep(0)
        super().next_tuple()


class Windowed(Stateful, KeyedWindowBolt):
    """The numbers in each window."""

    window = Tumbling(STEP_MS)
    aggregate = Collected()
    timestamp_field = "time"
    key_fields = ["key"]

    def initialize(self, config: Any, context: Any) -> None:
        size, slide = config["test.size"], config["test.slide"]
        self.window = Sliding(size, slide) if slide < size else Tumbling(size)
        super().initialize(config, context)

    def init_state(self, stateful_state: Any) -> None:
        KeyedWindowBolt.init_state(self, stateful_state)

    def pre_save(self, checkpoint_id: Any) -> None:
        KeyedWindowBolt.pre_save(self, checkpoint_id)

    def value(self, tup: Any, timestamp_ms: int) -> Any:
        return tup.values[0]

    def values(self, result: Any) -> Any:
        return [result.key[0], *result.window, sorted(result.value)]


class Storms(Stateful, WindowedBolt):
    """Windows of tuples, or the last numbers after each few tuples."""

    def initialize(self, config: Any, context: Any) -> None:
        super().initialize(config, context)

    def init_state(self, stateful_state: Any) -> None:
        WindowedBolt.init_state(self, stateful_state)

    def pre_save(self, checkpoint_id: Any) -> None:
        WindowedBolt.pre_save(self, checkpoint_id)

    def execute(self, window: Any) -> None:
        start, numbers = window.get_start_timestamp(), [tup.values[0] for tup in window.get()]
        if start is None:
            self.emit([0, 0, 0, numbers])
        else:
            self.emit([0, start, window.get_end_timestamp(), sorted(numbers)])


class BatchWindowed(BatchWindowBolt):
    """How many rows are in each window, and the sum of their numbers."""

    window = Tumbling(STEP_MS)
    timestamp_field = "time"
    key_fields = ["key"]
    aggregates = {"total": ("number", "sum"), "rows": "count"}

    def initialize(self, config: Any, context: Any) -> None:
        size, slide = config["test.size"], config["test.slide"]
        self.window = Sliding(size, slide) if slide < size else Tumbling(size)
        super().initialize(config, context)


class Seen(Stateful, Bolt):
    """Leaves its input."""

    def initialize(self, config: Any, context: Any) -> None:
        self.restore(config, context)

    def process(self, tup: Any) -> None:
        text = json.dumps([tup.component, tup.stream, *map(shown, tup.values)])
        self.kept[text] = self.kept.get(text, 0) + 1
        self.ack(tup)

    def on_finish(self) -> None:
        self.leave(seen=[[json.loads(text), n] for text, n in self.kept.items()])


class Letters(Seen):
    """Leaves abandoned tuples; times, tasks, attempts and ids differ from run to run."""

    def process(self, tup: Any) -> None:
        letter = dict(zip(tup.fields, tup.values, strict=True))
        kept = [letter[each] for each in ("component", "source", "stream", "exception")]
        text = json.dumps([*map(str, kept), *map(shown, letter["values"])])
        self.kept[text] = self.kept.get(text, 0) + 1
        self.ack(tup)


class ByNumber(ICustomGrouping):
    """A row's task is told by its number."""

    def prepare(self, context: Any, component: str, stream: str, target_tasks: list[int]) -> None:
        self.tasks = target_tasks

    def choose_tasks(self, values: Any) -> list[int]:
        return [self.tasks[values[0] % len(self.tasks)]]
