"""GroupByKey of one input: windows and triggers by Beam's TriggerDriver, over state by key.

Each key has an `InMemoryUnmergedState` of Beam's. Heaps have the next timers and the
earliest output of each key; an entry of a heap is stale if the key's value has changed.
"""

import heapq
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from apache_beam.transforms.timeutil import TimeDomain
from apache_beam.transforms.trigger import InMemoryUnmergedState, create_trigger_driver
from apache_beam.utils.timestamp import MAX_TIMESTAMP, Timestamp

from heronpy_compat.beam.saved import SavedParts

NEVER = float("inf")


class _Clock:
    """The clock of processing-time triggers; the tester replaces time.time."""

    def time(self) -> Timestamp:
        return Timestamp.of(time.time())


class Groups:
    """The groups of the keys of one task."""

    def __init__(self, name: str, coder: Any, windowing: Any, saved: SavedParts) -> None:
        """`name`: of the part of the state; `coder`: of windowed (key, value)."""
        self._part, self._saved = f"group {name}", saved
        self._key_coder = coder.wrapped_value_coder.key_coder().get_impl()
        self._driver = create_trigger_driver(windowing, False, clock=_Clock())
        self._states: dict[bytes, Any] = {}
        self._changed: set[bytes] = set()
        self._due: dict[TimeDomain, _Least] = {
            TimeDomain.WATERMARK: _Least(), TimeDomain.REAL_TIME: _Least(),
        }  # fmt: skip
        self._outputs = _Least()
        for key, parts in saved.restored(self._part):
            self._states[key] = _state_of(parts)
            self._note(key)

    def add(
        self, elements: Iterable[Any], watermark: Timestamp, output_watermark: Timestamp
    ) -> Iterator[Any]:
        """Add windowed (key, value); windowed (key, values) for which a trigger fires at once."""
        by_key: dict[bytes, list[Any]] = defaultdict(list)
        keys = {}
        for element in elements:
            key, value = element.value
            encoded = self._key_coder.encode(key)
            keys[encoded] = key
            by_key[encoded].append(element.with_value(value))
        for encoded, values in by_key.items():
            state = self._states.setdefault(encoded, InMemoryUnmergedState())
            fired = self._driver.process_elements(state, values, output_watermark, watermark)
            yield from _keyed(keys[encoded], fired)
            self._note(encoded)

    def advance(self, domain: TimeDomain, now: Timestamp, watermark: Timestamp) -> Iterator[Any]:
        """Windowed (key, values) of the timers that are due at `now`, in processing time or of the
        watermark."""
        due = self._due[domain]
        while (first := due.first()) is not None and first[0] <= now.micros:
            encoded = first[1]
            key, state = self._key_coder.decode(encoded), self._states[encoded]
            for window, name, tag, at in _expired(state, domain, now):
                state.clear_timer(window, name, domain, tag)
                # Beam takes the time of a timer for the watermark, of processing time as well.
                mark = watermark if domain == TimeDomain.REAL_TIME else at
                yield from _keyed(
                    key, self._driver.process_timer(window, name, domain, mark, state, watermark)
                )
            self._note(encoded)

    def _note(self, key: bytes) -> None:
        state = self._states[key]
        self._changed.add(key)
        for domain, least in self._due.items():
            least.put(key, _next_timer(state, domain))
        output_at = state.get_earliest_hold()
        self._outputs.put(key, None if output_at == MAX_TIMESTAMP else output_at.micros)

    @property
    def earliest_output(self) -> Timestamp:
        """Lower bound of the timestamps of later output."""
        first = self._outputs.first()
        return MAX_TIMESTAMP if first is None else Timestamp(micros=first[0])

    @property
    def next_due(self) -> float:
        """When the next processing-time timer is due, in seconds since 1970; NEVER for none."""
        first = self._due[TimeDomain.REAL_TIME].first()
        return NEVER if first is None else first[0] / 1e6

    def save(self) -> None:
        """Write the keys that have changed."""
        for key in self._changed:
            state = self._states[key]
            parts = _parts_of(state)
            self._saved.put(self._part, key, parts if any(parts) else None)
            if not any(parts):
                del self._states[key]
        self._changed.clear()


class _Least:
    """The least value of keys that change."""

    def __init__(self) -> None:
        self._values: dict[bytes, int] = {}
        self._heap: list[tuple[int, bytes]] = []

    def put(self, key: bytes, value: int | None) -> None:
        if value is None:
            self._values.pop(key, None)
        elif self._values.get(key) != value:
            self._values[key] = value
            heapq.heappush(self._heap, (value, key))

    def first(self) -> tuple[int, bytes] | None:
        heap = self._heap
        while heap and self._values.get(heap[0][1]) != heap[0][0]:
            heapq.heappop(heap)
        return heap[0] if heap else None


def _keyed(key: Any, fired: Iterable[Any]) -> Iterator[Any]:
    for each in fired:
        yield each.with_value((key, each.value))


def _next_timer(state: Any, domain: TimeDomain) -> int | None:
    times = [
        at.micros
        for timers in state.timers.values()
        for (_, of, _), at in timers.items()
        if of == domain
    ]
    return min(times) if times else None


def _expired(
    state: Any, domain: TimeDomain, now: Timestamp
) -> list[tuple[Any, str, str, Timestamp]]:
    found = [
        (window, name, tag, at)
        for window, timers in state.timers.items()
        for (name, of, tag), at in timers.items()
        if of == domain and at <= now
    ]
    return sorted(found, key=lambda each: each[3])


def _parts_of(state: Any) -> tuple[dict[Any, Any], dict[Any, Any], dict[Any, Any]]:
    return (
        {window: dict(timers) for window, timers in state.timers.items() if timers},
        {window: dict(tags) for window, tags in state.state.items() if tags},
        dict(state.global_state),
    )


def _state_of(parts: tuple[dict[Any, Any], dict[Any, Any], dict[Any, Any]]) -> Any:
    state = InMemoryUnmergedState()
    timers, tags, state.global_state = parts
    state.timers.update(timers)
    for window, values in tags.items():
        state.state[window].update(values)
    return state
