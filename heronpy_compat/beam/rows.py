"""Rows of edges: elements divided among the tasks of a reader, and the grouping that follows it."""

import zlib
from collections.abc import Iterator
from typing import Any

from apache_beam.coders.coder_impl import create_InputStream

from heron_api.custom_grouping import ICustomGrouping
from heron_core.errors import ComponentError
from heronpy_compat.beam.plans import COPIED, EVERYONE, KEYED, EdgePlan


class BySlot(ICustomGrouping):
    """The sender has chosen the task."""

    def __init__(self, slots: int) -> None:
        """`slots`: tasks of the reader when the pipeline was planned."""
        self._slots = slots

    def prepare(self, context: Any, component: str, stream: str, target_tasks: list[int]) -> None:
        """Keep the tasks of the reader; ComponentError after a change of their number."""
        if len(target_tasks) != self._slots:
            raise ComponentError(
                f"the pipeline of {component} divides keys among {self._slots} tasks, not"
                f" {len(target_tasks)}: submit it again with another --parallelism"
            )
        self._tasks = sorted(target_tasks)

    def choose_tasks(self, values: list[Any]) -> list[int]:
        """The task of the slot, or all."""
        slot = values[1]
        return self._tasks if slot == EVERYONE else [self._tasks[slot]]


def elements_of(coder: Any, data: bytes) -> Iterator[tuple[Any, bytes]]:
    """(windowed value, its bytes) of encoded windowed values; `coder` is a CoderImpl."""
    stream, end = create_InputStream(data), len(data)
    begin = 0
    while stream.size() > 0:
        value = coder.decode_from_stream(stream, True)
        here = end - stream.size()
        yield value, data[begin:here]
        begin = here


class Divider:
    """Divides the output of an edge into rows."""

    def __init__(self, edge: EdgePlan, coder: Any) -> None:
        """`coder`: Beam's coder of the windowed values."""
        self._edge, self._coder = edge, coder.get_impl()
        self._turn = 0
        if edge.mode == KEYED:
            self._key_coder = coder.wrapped_value_coder.key_coder().get_impl()

    def rows(self, data: bytes) -> list[tuple[int, bytes]]:
        """(slot, encoded windowed values)"""
        edge = self._edge
        if edge.mode == COPIED:
            return [(EVERYONE, data)]
        if edge.slots == 1:
            return [(0, data)]
        slots: dict[int, bytearray] = {}
        for value, encoded in elements_of(self._coder, data):
            slots.setdefault(self._slot(value), bytearray()).extend(encoded)
        return [(slot, bytes(joined)) for slot, joined in slots.items()]

    def _slot(self, value: Any) -> int:
        if self._edge.mode == KEYED:
            return slot_of(self._key_coder.encode(value.value[0]), self._edge.slots)
        self._turn = (self._turn + 1) % self._edge.slots
        return self._turn


def slot_of(key: bytes, slots: int) -> int:
    """The slot of a key, the same in each process and each run."""
    return zlib.crc32(key) % slots
