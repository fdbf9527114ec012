"""The components of drawn topologies: rows of any types that bolts pass on, fail or put in windows.

What a row is, whether it fits its types and whether a bolt fails it are functions of its number, so
that plain Python says what each bolt gets. All that a component knows is state: it may be killed.
"""

import json
import os
import zlib
from collections import Counter
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from random import Random
from typing import Any

from drawn_values import draw_misfit, draw_value, shown
from heron_api.state.stateful_component import StatefulComponent
from heronpy_compat import BatchBolt, Bolt, Spout
from heronpy_compat.windows import KeyedWindowBolt, Sliding, Tumbling

LATE = "late"
KEYS = 3
START_MS = 1_700_000_000_000
STEP_MS = 100
LATE_EVERY, LATE_MS = 5, 1000
MISFIT_EVERY = 9
FAIL_EVERY = 6
BATCH = 4
RAISES, FAILS, RAISES_ONCE, NEVER = "raises", "fails", "raises once", "never"
NUMBER, TUPLES, TIMES = "bigint", "naive", "aware"
OFFSET = timezone(timedelta(hours=-3, minutes=-30))


class Misfortune(ValueError):
    """What a bolt raises for a row."""


def chance(*parts: Any) -> int:
    """A number that depends on these alone, in every process."""
    return zlib.crc32(repr(parts).encode())


def time_of(number: int) -> int:
    """The event time of a row; some come a second too late."""
    late = LATE_MS if chance("late", number) % LATE_EVERY == 0 else 0
    return START_MS + number * STEP_MS - late


def time_value(kind: str, number: int) -> Any:
    """The same as the column has it."""
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


def is_misfit(seed: str, number: int) -> bool:
    """Whether the spout tries a value that its type does not hold."""
    return chance(seed, "misfit", number) % MISFIT_EVERY == 0


def emitted_row(config: Any, number: int) -> list[Any]:
    """What the spout tries to emit."""
    seed, types = config["test.seed"], config["test.types"]
    values = row_of(seed, types, number)
    if is_misfit(seed, number):
        random = Random(f"{seed} misfit {number}")
        at = random.randrange(len(types))
        values[at] = draw_misfit(random, types[at])
    return [number, number % KEYS, time_value(config["test.time"], number), *values]


def fails(name: str, number: int) -> bool:
    """Whether a bolt of that name fails a row."""
    return chance(name, number) % FAIL_EVERY == 0


class Stateful(StatefulComponent):
    """Keeps `self.kept`, a dict, through kills."""

    def init_state(self, stateful_state: Any) -> None:
        self.state = stateful_state

    def restore(self, config: Any, context: Any) -> None:
        """At the start."""
        self.kept: dict[str, Any] = dict(self.state.get("kept") or {})
        self.config, self.name = config, context.get_component_id()
        own = context.get_component_tasks(self.name)
        self.index, self.tasks = own.index(context.get_task_id()), len(own)

    def pre_save(self, checkpoint_id: Any) -> None:
        self.state.put("kept", dict(self.kept))

    def leave(self, **found: Any) -> None:
        """A file of results."""
        path = os.path.join(self.config["test.results"], f"{self.name}-{self.index}.json")
        Path(path).write_text(json.dumps(found))


class Rows(Stateful, Spout):
    """Emits its rows; those that are refused are noted."""

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
        """Those that can be."""
        for each in numbers:
            try:
                self.emit(emitted_row(self.config, each), tup_id=each)
            except TypeError:
                self.kept["refused"] = [*self.kept.get("refused", []), each]


class RowsByColumns(Rows):
    """Some at once; if one is refused, each alone."""

    def next_tuple(self) -> None:
        at, behind = self.kept.get("at", self.index), self.config["test.rows"]
        if at >= behind:
            super().next_tuple()
            return
        numbers = list(range(at, behind, self.tasks))[:BATCH]
        self.kept["at"] = numbers[-1] + self.tasks
        self.try_to_emit(numbers)

    def try_to_emit(self, numbers: list[int]) -> None:
        try:
            self.emit_batch(self.columns(numbers), tup_id=numbers[0])
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


class Failing(Stateful):
    """How a bolt fails some of its rows."""

    def misfortune(self, number: int) -> bool:
        """Raises, or whether the tuple is to be failed."""
        how = self.config["test.how"]
        if how == NEVER or not fails(self.name, number):
            return False
        if how == RAISES or (how == RAISES_ONCE and self.is_first(number)):
            raise Misfortune(f"row {number}")
        return bool(how == FAILS)

    def is_first(self, number: int) -> bool:
        """Whether this is the first time that the row comes here, in whichever process."""
        path = os.path.join(self.config["test.results"], f"{self.name}-{self.index}-{number}.once")
        try:
            Path(path).touch(exist_ok=False)
        except FileExistsError:
            return False
        return True


class Passing(Failing, Bolt):
    """Emits what it gets."""

    auto_anchor = True

    def initialize(self, config: Any, context: Any) -> None:
        self.restore(config, context)

    def process(self, tup: Any) -> None:
        if self.config["test.emits.first"]:
            self.emit(list(tup.values), anchors=[tup])
        if self.misfortune(tup.values[0]):
            self.fail(tup)
            return
        if not self.config["test.emits.first"]:
            self.emit(list(tup.values), anchors=[tup])
        self.ack(tup)


class PassingColumns(Failing, BatchBolt):
    """The same of batches."""

    def initialize(self, config: Any, context: Any) -> None:
        self.restore(config, context)

    def process_batch(self, batch: Any) -> None:
        for each in batch["number"].to_pylist():
            self.misfortune(each)
        self.emit_batch(batch)


class Windowed(Stateful, KeyedWindowBolt):
    """The numbers in each window."""

    window = Tumbling(STEP_MS)
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


class Collected:
    """An aggregate: the numbers."""

    def create(self) -> list[int]:
        return []

    def add(self, numbers: list[int], number: int) -> list[int]:
        return [*numbers, number]

    def merge(self, left: list[int], right: list[int]) -> list[int]:
        return left + right

    def result(self, numbers: list[int]) -> list[int]:
        return numbers


Windowed.aggregate = Collected()


class Seen(Stateful, Bolt):
    """Leaves what it got."""

    def initialize(self, config: Any, context: Any) -> None:
        self.restore(config, context)

    def process(self, tup: Any) -> None:
        text = json.dumps([tup.component, tup.stream, *map(shown, tup.values)])
        self.kept[text] = self.kept.get(text, 0) + 1
        self.ack(tup)

    def on_finish(self) -> None:
        self.leave(seen=[[json.loads(text), n] for text, n in self.kept.items()])


class Letters(Seen):
    """Leaves what was given up; times, tasks, attempts and ids differ from run to run."""

    def process(self, tup: Any) -> None:
        letter = dict(zip(tup.fields, tup.values, strict=True))
        kept = [letter[each] for each in ("component", "source", "stream", "exception")]
        text = json.dumps([*map(str, kept), *map(shown, letter["values"])])
        self.kept[text] = self.kept.get(text, 0) + 1
        self.ack(tup)


CLASSES: dict[str, Any] = {
    "rows": Rows, "rows by columns": RowsByColumns, "pass": Passing, "pass columns": PassingColumns,
    "windows": Windowed, "seen": Seen, "letters": Letters,
}  # fmt: skip
__all__ = ["CLASSES", "Counter"]
