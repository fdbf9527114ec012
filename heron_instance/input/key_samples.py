"""Which keys of a bolt's input are frequent, by a sample: one tuple of a batch now and then.

A batch is looked at if the last look is long enough ago, so the cost is bounded by the clock and
not by the rate; a sampled tuple stands for all that were processed since the one before.
"""

from collections.abc import Mapping, Sequence
from reprlib import Repr
from typing import Any

import msgpack

from heron_core.algorithms.hashing import NotHashable, stable_hash
from heron_core.algorithms.hot_keys import HotKeys
from heron_core.topology import ComponentSpec, TopologySpec

SAMPLE_SECS = 0.005
"""Of a busy bolt between two looks: 200 a second, of a few microseconds each."""
SAMPLE_SECS_MAX = 0.1
"""A bolt that is busy for a share of the time has as much fewer looks, and at least 10 a second:
with its caches cold, as after each of few wake-ups, a look takes some 50 microseconds."""
REPORT_SECS = 1.0
"""Between two snapshots: the master is sent them no sooner."""
TEXT_CHARACTERS_MAX = 40
ROWS_READ_MAX = 256
"""To pass over a row takes 50 ns: 13 µs of a message at most."""
NEVER = float("inf")
STEP = 7919
"""From batch to batch another position: a prime, so that no period of the data meets it."""

Positions = Mapping[tuple[str, str], tuple[int, ...]]
"""(component, stream) -> positions of the grouping fields."""


class PlainRows(Sequence[Any]):
    """Sampled rows of a plain body: one is read, the rest is not created.

    Of many rows one of the first ROWS_READ_MAX is taken: skipping to later rows would cost more
    than the sample is worth.
    """

    def __init__(self, body: bytes, rows: int) -> None:
        self._body = body
        self._rows = rows

    def __len__(self) -> int:
        return self._rows

    def __getitem__(self, at: Any) -> Any:
        """A row; ValueError if unreadable."""
        unpacker = msgpack.Unpacker(max_buffer_size=len(self._body), strict_map_key=False)
        unpacker.feed(self._body)
        unpacker.read_array_header()
        for _ in range(at % min(self._rows, ROWS_READ_MAX)):
            unpacker.skip()
        return unpacker.unpack()


class KeySamples:
    """The sample of one bolt."""

    def __init__(self, topology: TopologySpec, bolt: ComponentSpec, is_wanted: bool) -> None:
        self._positions = _positions(topology, bolt)
        self.due = 0.0 if is_wanted and self._positions else NEVER
        """When the next batch is to be looked at; NEVER for a bolt without a keyed input."""
        self._keys: HotKeys | None = None
        self._seen = 0
        self._taken_at = self._busy_secs = 0.0
        self._turn = 0
        self._report_due = 0.0
        self.snapshot: Mapping[str, Any] | None = None
        """For the master and any thread; None initially. Replaced, never modified."""

    def take(
        self,
        source: tuple[str, str],
        rows: Sequence[Sequence[Any]],
        executed: int,
        now: float,
        busy_secs: float,
    ) -> None:
        """Sample one tuple of a batch; `executed`: number of earlier tuples of the bolt,
        `busy_secs`: how long the bolt has worked on them."""
        self._set_due(now, busy_secs)
        keys = self._keys = self._keys or HotKeys(now)
        weight = float(max(1, executed + len(rows) - self._seen))
        self._seen = executed + len(rows)
        positions = self._positions.get(source)
        if positions is None or not rows:
            keys.add_other(weight)
            return
        self._turn += STEP
        try:
            row = rows[self._turn % len(rows)]
            values = [row[position] for position in positions]
            hashed = stable_hash(values)
            text = "" if keys.is_known(hashed) else _text(values)
        except (
            NotHashable,
            IndexError,
            TypeError,
            ValueError,
        ):  # the tuple fails by itself, where it matters
            return
        keys.add(hashed, text, weight, now)
        if now >= self._report_due:
            self._report_due = now + REPORT_SECS
            top = [list(each) for each in keys.top()]
            self.snapshot = {"total": keys.total, "keys": top, "seen": self._seen}

    def _set_due(self, now: float, busy_secs: float) -> None:
        worked_secs, passed_secs = busy_secs - self._busy_secs, now - self._taken_at
        self._taken_at, self._busy_secs = now, busy_secs
        secs = SAMPLE_SECS * passed_secs / worked_secs if worked_secs > 0 else SAMPLE_SECS_MAX
        self.due = now + min(SAMPLE_SECS_MAX, max(SAMPLE_SECS, secs))


def _positions(topology: TopologySpec, bolt: ComponentSpec) -> Positions:
    found = {}
    for each in bolt.inputs:
        stream = topology.by_name[each.component].stream(each.stream)
        keyed = each.grouping.kind.is_keyed
        if keyed and stream is not None:
            fields = each.grouping.fields
            found[each.component, each.stream] = tuple(stream.fields.index(x) for x in fields)
    return found


def _text(values: Sequence[Any]) -> str:
    """The key as people read it. A long value is cut before it is printed."""
    text = ", ".join(map(_shown, values))[: 2 * TEXT_CHARACTERS_MAX]
    return text.encode("utf-8", "backslashreplace").decode()


def _shown(value: Any) -> str:
    if isinstance(value, str | bytes) and len(value) > TEXT_CHARACTERS_MAX:
        return f"{value[:TEXT_CHARACTERS_MAX]!r}…"
    return _SHORT.repr(value)


_SHORT = Repr()
_SHORT.maxstring = _SHORT.maxother = 2 * TEXT_CHARACTERS_MAX
