"""Saved input of a component's previous tasks, divided among its present tasks.

The grouping of the stream decides which present task processes a tuple, as it did for the sender:

    FIELDS                      the task that owns the tuple's key now
    SHUFFLE, NONE, LOCAL_OR_    any task: the tasks share the tuples evenly
    all others                  the task whose index is that of the tuple's previous task, modulo
                                the number of tasks: groupings to all tasks, to the first one, or
                                to a task that is named or chosen by code

Each tuple belongs to one task, whichever task computes the division, so a repeated restore divides
the input alike. The tuples of a previous task keep their order. Watermarks are left out: each had a
place among tuples that several tasks process now, and the sources repeat watermarks.
"""

from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from heron_core.algorithms.hashing import slot, stable_hash
from heron_core.errors import HeronError, StateError
from heron_core.state.parts import KeyRange
from heron_core.state.saved_input import InputSource, SavedInput
from heron_core.topology import GroupingKind, StreamSpec, TopologySpec
from heron_core.wire.batch import COLUMNS, check_batch, encode_batch, packed_rows
from heron_core.wire.frames import Flag, FrameKind, Frames, Header, header, header_of

Decode = Callable[[bytes], list[list[Any]]]
"""The rows of a body."""

_TRACKED, _MIXED = int(Flag.TRACKED), int(Flag.MIXED)
_STREAMS_AT = 2
"""Which frame of an untracked batch says the stream of each tuple."""


class PreviousInput(Struct, frozen=True):
    """Input that a previous task had not processed."""

    key_range: KeyRange
    saved: SavedInput


class _Rule(Struct, frozen=True):
    """Chooses the task for a tuple of one stream."""

    spec: StreamSpec
    keys: tuple[tuple[int, ...], ...]
    """The positions of the grouped fields, for each subscription by fields."""
    is_spread: bool

    def index(self, previous: KeyRange, tasks: int, at: int, row: Sequence[Any]) -> int:
        """Index of the task for this tuple, among `tasks` tasks; `at` counts the tuples of the
        previous task.

        A tuple of a stream grouped by fields may have been sent otherwise: to a task by name."""
        for positions in self.keys:
            hashed = stable_hash([row[each] for each in positions])
            if slot(hashed, previous.tasks) == previous.index:
                return slot(hashed, tasks)
        return (previous.index + at * self.is_spread) % tasks


class InputDivider:
    """Divides the input of one component."""

    def __init__(self, component: str, topology: TopologySpec, decode: Decode) -> None:
        self._component = component
        self._topology = topology
        self._decode = decode
        self._rules: dict[tuple[str, str], _Rule] = {}

    def share(self, previous: Iterable[PreviousInput], now: KeyRange) -> SavedInput:
        """Share of the task of `now` in the unprocessed input of the previous tasks; StateError for
        input that cannot be read."""
        messages: list[Frames] = []
        sources: dict[int, InputSource] = {}
        for previous_input in previous:
            sources |= previous_input.saved.sources or {}
            try:
                messages += self._of_one(previous_input, previous_input.saved.sources or {}, now)
            except StateError:
                raise
            except Exception as error:
                text = str(error) if isinstance(error, HeronError) else repr(error)
                raise StateError(f"the input in a state cannot be divided: {text}") from error
        return SavedInput(tuple(messages), 0, sources)

    def _of_one(
        self, previous: PreviousInput, sources: Mapping[int, InputSource], now: KeyRange
    ) -> Iterable[Frames]:
        at, first = 0, previous.saved.first_row
        for frames in previous.saved.messages:
            head = header_of(frames)
            if head.kind == FrameKind.DATA:
                check_batch(head, frames)
                rules = self._rules_of(head, frames, sources[head.source])
                rows = self._rows(head, frames, rules)
                ours = [
                    row
                    for row in range(first, head.items)
                    if rules[row].index(previous.key_range, now.tasks, at + row, rows[row])
                    == now.index
                ]
                at += head.items
                if ours:
                    yield _cut(head, frames, ours, rules[0].spec)
            first = 0

    def _rules_of(self, head: Header, frames: Frames, source: InputSource) -> list[_Rule]:
        """Of each tuple."""
        if not head.flags & _MIXED:
            return [self._rule(source, head.stream)] * head.items
        return [self._rule(source, each) for each in _streams_of(frames)]

    def _rule(self, source: InputSource, stream: int) -> _Rule:
        name = source.streams[stream]
        found = self._rules.get((source.component, name))
        if found is None:
            found = self._rules[source.component, name] = self._made(source.component, name)
        return found

    def _made(self, component: str, stream: str) -> _Rule:
        spec = self._topology.by_name[component].stream(stream)
        if spec is None:
            raise StateError(
                f"the checkpoint has saved input of the stream {stream} of {component}, "
                "which was removed"
            )
        groupings = [
            entry.grouping
            for entry in self._topology.by_name[self._component].inputs
            if (entry.component, entry.stream) == (component, stream)
        ]
        keys = tuple(
            tuple(spec.fields.index(field) for field in grouping.fields)
            for grouping in groupings
            if grouping.kind is GroupingKind.FIELDS
        )
        return _Rule(spec, keys, any(grouping.kind.is_spread for grouping in groupings))

    def _rows(self, head: Header, frames: Frames, rules: list[_Rule]) -> Sequence[Sequence[Any]]:
        """The values of each tuple if a rule has keys; otherwise an empty row for each tuple."""
        if not any(each.keys for each in rules):
            return [()] * head.items
        if not head.flags & COLUMNS:
            return self._decode(frames[1])
        # A late import: pyarrow, which every receiver of columns has.
        from heron_core.wire.columns import read, rows_of, schema_of

        return rows_of(read(frames[1], schema_of(rules[0].spec), head.items))


def _streams_of(frames: Frames) -> "array[int]":
    streams = array("H")
    streams.frombytes(frames[_STREAMS_AT])
    return streams


def _cut(head: Header, frames: Frames, rows: list[int], spec: StreamSpec) -> Frames:
    """The message with only the tuples of these rows."""
    if head.flags & _TRACKED:
        raise StateError("the input in a state is tracked, which no checkpoint's is")
    if len(rows) == head.items:
        return frames
    if head.flags & COLUMNS:
        from heron_core.wire.columns import taken

        body = taken(frames[1], spec, head.items, rows)
        first = header(
            head.kind, head.epoch, head.source, head.destination, len(rows), head.stream, COLUMNS
        )
        return [first, body]
    packed = packed_rows(frames[1])
    streams = _streams_of(frames) if head.flags & _MIXED else None
    return encode_batch(
        head.epoch,
        head.source,
        head.destination,
        [packed[row] for row in rows],
        head.stream,
        streams=None if streams is None else [streams[row] for row in rows],
    )
