"""The hot path of what is sent: the buffer of a tuple's key, and the emits.

One source in two forms, as hot_path.py explains. A compiled emit is a type of hot_emit.h; in Python
an emit is a closure.
"""

from __future__ import annotations

from _thread import get_ident
from collections.abc import Callable, Iterator
from operator import itemgetter
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import cython
else:
    cython = SimpleNamespace(compiled=False)  # as in hot_path.py

Emit = Callable[..., Any]
NextNumber = Callable[[], int]
Pack = Callable[[Any], bytes]
Pick = tuple[tuple[int, ...], Any, Iterator[Any]]
"""positions, keyed, turns: `keyed` has the buffer of a key, the value at a position, or those at
several; without `keyed` the next of `turns` is taken."""
Shares = list[Callable[[], None]]
FullPick = tuple[tuple[int, ...], Any, Iterator[Any] | None, list[Any] | None, Callable[[Any], Any]]
"""A consumer's pick among several: `turns`, or None for another selector; all buffers of each
tuple, or None; and the selector for any tuple."""
Several = tuple[list[FullPick], int, list[int], Any, bool]
"""A pick for each consumer, the stream's index, a list of one number with the count of emits, the
buffers by named task, and whether each emit has to name a task."""

NO_ROOT = (0, 0)
PACKS_PLAIN: str = "packs_plain"
"""What a packer has whose bytes of plain values are msgpack's."""
OBJECTS: int = 16
"""That new_emit takes: OWNED in hot_emit.h."""
SHARED: str = "\0"
"""A value unequal to every stream name: an emit shared by threads compares each stream with it."""


# --- keys -----------------------------------------------------------------------------------------

if not cython.compiled:
    from heron_core.hot_buffers import (
        NO_RUN,
        BufferRoom,
        EdgeNumbers,
        TupleBuffer,
        are_free,
        put_tuple,
    )  # fmt: skip
    from heron_core.hot_c import (
        know_buffers,
        know_edges,
        know_pending,
        know_runs,
        new_anchored,
        new_emit,
    )
    from heron_core.hot_path import RunState
    from heron_core.hot_trees import PendingIds

    def plain_slot(key: Any, are_several: bool, slots: int) -> int:
        """heron_core.algorithms.hashing's slot of plain values, in C; -1 for what is not plain."""
        return -1


class PlainKeys:
    """The buffers of a fields grouping: plain keys are hashed, in C faster than a dict look-up;
    other keys are looked up in `keyed`."""

    __slots__ = ("are_several", "buffers", "keyed", "sent")

    def __init__(
        self, keyed: Any, buffers: list[Any], are_several: bool, sent: list[int] | None = None
    ) -> None:
        self.keyed = keyed
        self.buffers = buffers
        """A buffer for each slot; the list is changed in place."""
        self.are_several = are_several
        """Whether a key is a tuple of the values of several fields."""
        self.sent = sent
        """Of a partial key grouping: how many tuples went to each slot; it is changed in place."""

    def __getitem__(self, key: Any) -> Any:
        at: cython.Py_ssize_t = -1
        if self.sent is None:
            at = plain_slot(key, self.are_several, len(self.buffers))
        return self.keyed[key] if at < 0 else self.buffers[at]


def plain_keys(
    keyed: Any, buffers: list[Any], are_several: bool, sent: list[int] | None = None
) -> Any:
    """Buffers by key: Python's own dict, or the faster compiled form."""
    return PlainKeys(keyed, buffers, are_several, sent) if cython.compiled else keyed


# --- emit -----------------------------------------------------------------------------------------


def _found_by(pick: Pick) -> tuple[int, Callable[[Any], Any] | None, Any, Callable[[], Any]]:
    """position, function, keyed, next: the buffer of a tuple is `keyed[values[position]]`, with a
    function `keyed[function(values)]`, and without `keyed` the next one."""
    positions, keyed, turns = pick
    key_of = itemgetter(*positions) if len(positions) > 1 else None
    return positions[0] if positions else 0, key_of, keyed, turns.__next__


def _pick_in_c(pick: Any, everything: Any = None, choose: Any = None) -> tuple[Any, ...]:
    """A pick as hot_emit.h has it."""
    positions, keyed, turns = pick
    buffers = sent = None
    plain: PlainKeys
    if isinstance(keyed, PlainKeys):
        plain = keyed
        keyed, buffers, sent = plain.keyed, plain.buffers, plain.sent
    return positions, keyed, buffers, sent, turns, everything, choose


def _in_c(
    given: Any, how: Any, numbers: Any, picks: tuple[Any, ...], several: Any, tracked: cython.bint,
    shares: Shares,
) -> Emit:  # fmt: skip
    """An emit in C: `given` are its first arguments and the stream's name; `how`: the user, the
    thread, the main thread, and four items of a spout; `numbers`: the width, the maximum of bytes
    and the overhead; `several`: the last four items of a route of several buffers."""
    width, most, overhead = numbers
    index, emits, direct, wants_direct = several
    objects = (*given, picks, *how, emits, direct, None)
    is_spout, packs_plain = how[3] is not None, hasattr(given[2], PACKS_PLAIN)
    emit = new_emit(
        objects, width, most, overhead, index, tracked, is_spout, packs_plain, wants_direct,
        how[1] is not get_ident,
    )  # fmt: skip
    shares.append(emit.share)
    return emit  # type: ignore[no-any-return]


def _of_one(pick: Pick) -> tuple[tuple[Any, ...], Any]:
    """Arguments of `_in_c` for a route with one buffer per tuple: picks, several."""
    return (_pick_in_c(pick),), (0, None, None, False)


def _of_several(route: Several) -> tuple[tuple[Any, ...], Any]:
    """The same of a route whose tuples have several."""
    picks, *rest = route
    return tuple([_pick_in_c(each[:3], each[3], each[4]) for each in picks]), rest


def _by_stream_in_c(general: Emit, emits: dict[str, Emit], unnamed: Any, is_spout: bool) -> Emit:
    objects: list[Any] = [None] * OBJECTS
    objects[1], objects[4], objects[-1] = general, unnamed, emits
    return new_emit(tuple(objects), 0, 0, 0, 0, False, is_spout, False, False, True)  # type: ignore[no-any-return]


def bolt_emit(
    outbox: BufferRoom, general: Emit, pack: Pack, next_edge: NextNumber, pick: Pick,
    width: cython.Py_ssize_t, most: cython.Py_ssize_t, overhead: cython.Py_ssize_t,
    tracked: cython.bint, unnamed: str | None, user: Any, thread: NextNumber, shares: Shares,
) -> Emit:  # fmt: skip
    """The emit of a bolt's stream with one consumer, grouped according to `pick`. A call of the
    function added to `shares` redirects all emits to `general`, for several threads."""
    main_thread = thread()
    if cython.compiled:
        how = (user, thread, main_thread, None, None, None, None)
        given, numbers = (outbox, general, pack, next_edge, unnamed), (width, most, overhead)
        return _in_c(given, how, numbers, *_of_one(pick), tracked, shares)
    position, key_of, keyed, next_buffer = _found_by(pick)

    def emit(
        tup: Any, stream: Any = unnamed, anchors: Any = None, direct_task: Any = None,
        need_task_ids: Any = False,
    ) -> Any:  # fmt: skip
        if stream is not unnamed or direct_task is not None or (need_task_ids and user is not None):
            return general(tup, stream, anchors, direct_task, need_task_ids)
        if user is not None:
            if thread() != main_thread or not are_current(anchors, user):
                return general(tup, stream, anchors, None, need_task_ids)
            anchors = users_anchors(user) if anchors is None else anchors
        tup = list(tup) if type(tup) is tuple else tup
        try:
            data = pack(tup)
            size = len(data)
            if type(tup) is not list or len(tup) != width or size > most:
                return general(tup, stream, anchors, None, need_task_ids)
            root, anchor_state = 0, None
            if tracked and anchors:
                (anchor,) = anchors
                if (anchor_state := anchor.roots) is not None:
                    root, value = anchor_state
            # The buffer is taken last: a fallback to `general` would skip a buffer.
            key = 0 if keyed is None else tup[position] if key_of is None else key_of(tup)
            buffer = next_buffer() if keyed is None else keyed[key]
            if buffer.run is not root and tracked and buffer.run != root:
                buffer.run = NO_RUN if buffer.extras else root  # what follows shares the edge
                buffer.starts.append(len(buffer.parts))
                if anchor_state is None:
                    buffer.ids += NO_ROOT
                else:
                    buffer.ids += (root, edge := next_edge())
                    anchor_state[1] = value ^ edge
        except Exception:  # several anchors or roots, settled ones, values that need care
            return general(tup, stream, anchors, None, need_task_ids)
        buffer.parts.append(data)
        outbox.room -= size + overhead
        if outbox.room < 0:
            outbox.flush()
        return [buffer.destination] if need_task_ids else None

    def share() -> None:
        nonlocal unnamed
        unnamed = SHARED

    shares.append(share)
    return emit


def spout_emit(
    outbox: BufferRoom, general: Emit, pack: Pack, next_edge: NextNumber, next_root: NextNumber,
    pick: Pick, width: cython.Py_ssize_t, most: cython.Py_ssize_t,
    overhead: cython.Py_ssize_t, tracked: cython.bint, unnamed: str | None,
    thread: NextNumber | None, pending: Any, done_at_once: Any, inits: Any,
    shares: Shares,
) -> Emit:  # fmt: skip
    """The emit of a spout's stream with one consumer, grouped according to `pick`; for `shares` see
    `bolt_emit`."""
    main_thread = thread() if thread else 0
    if cython.compiled:
        how = (None, thread, main_thread, next_root, pending, done_at_once, inits)
        given, numbers = (outbox, general, pack, next_edge, unnamed), (width, most, overhead)
        return _in_c(given, how, numbers, *_of_one(pick), tracked, shares)
    position, key_of, keyed, next_buffer = _found_by(pick)

    def emit(
        tup: Any, tup_id: Any = None, stream: Any = unnamed, direct_task: Any = None,
        need_task_ids: Any = False,
    ) -> Any:  # fmt: skip
        if stream is not unnamed or direct_task is not None or (need_task_ids and thread):
            return general(tup, tup_id, stream, direct_task, need_task_ids)
        if thread and thread() != main_thread:
            return general(tup, tup_id, stream, None, need_task_ids)
        tup = list(tup) if type(tup) is tuple else tup
        if type(tup) is not list or len(tup) != width:
            return general(tup, tup_id, stream, None, need_task_ids)
        try:
            data = pack(tup)
            size = len(data)
            if size > most:
                return general(tup, tup_id, stream, None, need_task_ids)
            # Taken last: a tuple that is left to `general` would skip a buffer.
            key = 0 if keyed is None else tup[position] if key_of is None else key_of(tup)
            buffer = next_buffer() if keyed is None else keyed[key]
        except Exception:
            return general(tup, tup_id, stream, None, need_task_ids)
        if tracked:
            if tup_id is None:
                buffer.ids += NO_ROOT
            else:
                root, edge = next_root(), next_edge()
                buffer.ids += (root, edge)
                if inits is not None:
                    inits.extend((root, edge))
                pending[root] = tup_id
        elif tup_id is not None:
            done_at_once.append(tup_id)
        buffer.parts.append(data)
        outbox.room -= size + overhead
        if outbox.room < 0:
            outbox.flush()
        return [buffer.destination] if need_task_ids else None

    def share() -> None:
        nonlocal unnamed
        unnamed = SHARED

    shares.append(share)
    return emit


def chosen_buffers(picks: list[FullPick], tup: Any, direct: Any, task: Any) -> list[Any]:
    """The buffers of a tuple: the choice of each consumer's grouping, and the buffer of a named
    task."""
    named = () if task is None else (direct[task],)
    buffers: list[Any] = []
    for pick in picks:
        buffers += pick[4](tup)
    return [*buffers, *named]


def is_general(direct: Any, wants_direct: bool, task: Any) -> bool:
    """Whether the general emit has to handle the task, or its absence."""
    return wants_direct if task is None else direct is None or type(task) is not int


def are_current(anchors: Any, user: Any) -> bool:
    """Whether anchors of pystorm's bolt are not named, or none, or the one tuple that is being
    processed: all others the general emit has to find, by their ids if need be."""
    if anchors is None:
        return True
    if type(anchors) not in (list, tuple) or len(anchors) != 1:
        return type(anchors) in (list, tuple) and not anchors
    current: Any = getattr(user, "_current_tups", None)
    is_one = type(current) is list and len(current) == 1
    return is_one and current[0] is anchors[0]


def users_anchors(user: Any) -> Any:
    """The anchors of pystorm's bolt where an emit names none."""
    return user._current_tups if user.auto_anchor else None


def as_pystorm(route: Several) -> Several:
    """The same for pystorm's, whose general emit refuses a task where the stream is not direct."""
    picks, index, emits, direct, wants_direct = route
    return picks, index, emits, direct if wants_direct else None, wants_direct


def bolt_emit_to_several(
    outbox: BufferRoom, general: Emit, pack: Pack, next_edge: NextNumber, route: Several,
    width: cython.Py_ssize_t, most: cython.Py_ssize_t, overhead: cython.Py_ssize_t,
    tracked: cython.bint, unnamed: str | None, user: Any, thread: NextNumber, shares: Shares,
) -> Emit:  # fmt: skip
    """As `bolt_emit`, for a stream with several buffers per tuple, or with buffers shared by
    streams."""
    route = route if user is None else as_pystorm(route)
    main_thread = thread()
    if cython.compiled:
        how = (user, thread, main_thread, None, None, None, None)
        given, numbers = (outbox, general, pack, next_edge, unnamed), (width, most, overhead)
        return _in_c(given, how, numbers, *_of_several(route), tracked, shares)
    picks, index, emits, direct, wants_direct = route

    def emit(
        tup: Any, stream: Any = unnamed, anchors: Any = None, direct_task: Any = None,
        need_task_ids: Any = False,
    ) -> Any:  # fmt: skip
        if stream is not unnamed or need_task_ids or is_general(direct, wants_direct, direct_task):
            return general(tup, stream, anchors, direct_task, need_task_ids)
        if user is not None:
            if thread() != main_thread or not are_current(anchors, user):
                return general(tup, stream, anchors, direct_task)
            anchors = users_anchors(user) if anchors is None else anchors
        tup = list(tup) if type(tup) is tuple else tup
        try:
            data = pack(tup)
            size = len(data)
            if type(tup) is not list or len(tup) != width or size > most:
                return general(tup, stream, anchors, direct_task)
            root, anchor_state = 0, None
            if tracked and anchors:
                (anchor,) = anchors
                if (anchor_state := anchor.roots) is not None:
                    root, _ = anchor_state
            # Taken last: a fallback to `general` would skip a buffer.
            buffers = chosen_buffers(picks, tup, direct, direct_task)
        except Exception:  # several anchors or roots, settled ones, values that need care
            return general(tup, stream, anchors, direct_task)
        if not are_free(buffers) and outbox.make_way(buffers, False) and anchor_state == []:
            root, anchor_state = 0, None  # its ack was among what left
        total = put_tuple(buffers, data, root, index, tracked, True, next_edge)
        if anchor_state is not None:
            anchor_state[1] ^= total
        emits[0] += 1
        outbox.room -= (size + overhead) * len(buffers)
        if outbox.room < 0:
            outbox.flush()
        return None

    def share() -> None:
        nonlocal unnamed
        unnamed = SHARED

    shares.append(share)
    return emit


def spout_emit_to_several(
    outbox: BufferRoom, general: Emit, pack: Pack, next_edge: NextNumber, next_root: NextNumber,
    route: Several, width: cython.Py_ssize_t, most: cython.Py_ssize_t,
    overhead: cython.Py_ssize_t, tracked: cython.bint, unnamed: str | None,
    thread: NextNumber | None, pending: Any, done_at_once: Any, inits: Any,
    shares: Shares,
) -> Emit:  # fmt: skip
    """As `spout_emit`, of a stream as in `bolt_emit_to_several`."""
    route = route if thread is None else as_pystorm(route)
    main_thread = thread() if thread else 0
    if cython.compiled:
        how = (None, thread, main_thread, next_root, pending, done_at_once, inits)
        given, numbers = (outbox, general, pack, next_edge, unnamed), (width, most, overhead)
        return _in_c(given, how, numbers, *_of_several(route), tracked, shares)
    picks, index, emits, direct, wants_direct = route

    def emit(
        tup: Any, tup_id: Any = None, stream: Any = unnamed, direct_task: Any = None,
        need_task_ids: Any = False,
    ) -> Any:  # fmt: skip
        if stream is not unnamed or need_task_ids or is_general(direct, wants_direct, direct_task):
            return general(tup, tup_id, stream, direct_task, need_task_ids)
        if thread and thread() != main_thread:
            return general(tup, tup_id, stream, direct_task)
        tup = list(tup) if type(tup) is tuple else tup
        if type(tup) is not list or len(tup) != width:
            return general(tup, tup_id, stream, direct_task)
        try:
            data = pack(tup)
            size = len(data)
            if size > most:
                return general(tup, tup_id, stream, direct_task)
            buffers = chosen_buffers(picks, tup, direct, direct_task)
        except Exception:
            return general(tup, tup_id, stream, direct_task)
        if not are_free(buffers):
            outbox.make_way(buffers, False)
        root = 0
        if tup_id is not None:
            if tracked and buffers:
                root = next_root()
                pending[root] = tup_id
            else:
                done_at_once.append(tup_id)
        total = put_tuple(buffers, data, root, index, tracked, False, next_edge)
        if root:
            inits.extend((root, total))
        emits[0] += 1
        outbox.room -= (size + overhead) * len(buffers)
        if outbox.room < 0:
            outbox.flush()
        return None

    def share() -> None:
        nonlocal unnamed
        unnamed = SHARED

    shares.append(share)
    return emit


def bolt_emit_by_stream(general: Emit, emits: dict[str, Emit], unnamed: str | None) -> Emit:
    """A bolt's `general` with the emits of the named streams."""
    if cython.compiled:
        return _by_stream_in_c(general, emits, unnamed, False)
    names = {name: name for name in emits}

    def emit(
        tup: Any, stream: Any = unnamed, anchors: Any = None, direct_task: Any = None,
        need_task_ids: Any = False,
    ) -> Any:  # fmt: skip
        try:
            name = names[stream]  # what the emit compares it with by `is`
        except (KeyError, TypeError):
            return general(tup, stream, anchors, direct_task, need_task_ids)
        return emits[name](tup, name, anchors, direct_task, need_task_ids)

    return emit


def spout_emit_by_stream(general: Emit, emits: dict[str, Emit], unnamed: str | None) -> Emit:
    """The same of a spout."""
    if cython.compiled:
        return _by_stream_in_c(general, emits, unnamed, True)
    names = {name: name for name in emits}

    def emit(
        tup: Any, tup_id: Any = None, stream: Any = unnamed, direct_task: Any = None,
        need_task_ids: Any = False,
    ) -> Any:  # fmt: skip
        try:
            name = names[stream]
        except (KeyError, TypeError):
            return general(tup, tup_id, stream, direct_task, need_task_ids)
        return emits[name](tup, tup_id, name, direct_task, need_task_ids)

    return emit


def anchored_emit(emit: Emit, current: list[Any], unnamed: str) -> Emit:
    """A bolt's emit whose tuples are anchored to those of `current` where no anchors are named;
    `unnamed`: the stream of what names none."""
    if cython.compiled:
        return new_anchored(emit, current, unnamed)  # type: ignore[no-any-return]

    def anchored(
        tup: Any, stream: str = unnamed, anchors: Any = None, direct_task: Any = None,
        need_task_ids: Any = False,
    ) -> Any:  # fmt: skip
        chosen = current if anchors is None else anchors
        return emit(tup, stream, chosen, direct_task, need_task_ids)

    return anchored


if cython.compiled:
    know_buffers(TupleBuffer)
    know_edges(EdgeNumbers)
    know_pending(PendingIds)
    know_runs(RunState)
