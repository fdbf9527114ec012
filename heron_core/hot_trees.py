"""The hot path of ack trees: the values of the roots of one spout, and their tuple ids.

One source, plain or compiled, as hot_path.py says. hot_trees.h has the C functions in place of the
Python ones under `if not cython.compiled`. In Python a root and its value are two objects and a
place in a dict, and tens of thousands of roots are more than the caches of a processor hold. The
compiled table has 16 bytes for each root, and consecutive roots stand side by side.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import cython
else:
    cython = SimpleNamespace(compiled=False)  # as in hot_path.py

OPEN, DONE, UNKNOWN = range(3)
"""The state of a tree after an ack; hot_trees.h has the same numbers."""

NUMBER_BYTES: int = 8
MISSING = object()
"""Instead of the id of a root that is not pending."""

if not cython.compiled:
    from heron_core.hot_buffers import BufferRoom
    from heron_core.hot_c import (
        begin_trees,
        end_pending,
        end_tree,
        free_trees,
        is_first,
        know_pending,
        known_id,
        listed_roots,
        listed_trees,
        newest_id,
        number_in,
        put_id,
        settle_tree,
        settle_trees,
        take_id,
        time_id,
    )
    from heron_core.hot_path import fold_into_trees


class TreeTable:
    """root -> the xor of all edges begun and not acked. Root 0 stands for an untracked tuple."""

    __slots__ = ("_trees",)

    def __init__(self) -> None:
        if not cython.compiled:
            self._trees: Any = {}

    def __dealloc__(self) -> None:
        if cython.compiled:
            free_trees(cython.address(self._trees))

    def __len__(self) -> int:
        return int(self._trees.used) if cython.compiled else len(self._trees)

    def begin(self, data: bytes) -> None:
        """Add the roots of a packet (root, value, …): a value is the xor of the edges of the first
        deliveries of its root."""
        if cython.compiled:
            begin_trees(cython.address(self._trees), data)
            return
        numbers = iter(array("Q", data))
        self._trees.update(zip(numbers, numbers, strict=True))
        self._trees.pop(0, None)

    def settle(
        self, data: bytes, start: cython.Py_ssize_t, end: cython.Py_ssize_t, others: list[int]
    ) -> bytes:
        """Xor the pairs between two offsets (bytes) of a packet into the trees. Trees at zero are
        removed, and their roots returned; pairs of unknown roots join `others`, as numbers."""
        if cython.compiled:
            return settle_trees(cython.address(self._trees), data, start, end, others)  # type: ignore[no-any-return]
        done = array("Q")
        for pair in fold_into_trees(self._trees, array("Q", data[start:end]), done):
            others.extend(pair)
        return done.tobytes()

    def settle_one(self, root: int, value: int) -> int:
        """Settle a single pair; returns OPEN, DONE or UNKNOWN."""
        if cython.compiled:
            return settle_tree(cython.address(self._trees), root, value)  # type: ignore[no-any-return]
        done = array("Q")
        others = fold_into_trees(self._trees, array("Q", (root, value)), done)
        return DONE if done else UNKNOWN if others else OPEN

    def end(self, root: int) -> bool:
        """Remove a tree; False for an unknown root."""
        if cython.compiled:
            return bool(end_tree(cython.address(self._trees), root))
        return self._trees.pop(root, None) is not None

    def items(self) -> list[tuple[int, int]]:
        """All roots with their values, sorted by root: the roots of a process of a spout are in the
        order of their emits."""
        if not cython.compiled:
            return sorted(self._trees.items())
        numbers = iter(listed_trees(cython.address(self._trees)))
        return sorted(zip(numbers, numbers, strict=True))

    def span(self) -> tuple[int, int]:
        """The least and the greatest root; ValueError without any."""
        if not cython.compiled:
            return min(self._trees), max(self._trees)
        roots = listed_trees(cython.address(self._trees))[::2]
        return min(roots), max(roots)

    def roots(self) -> list[int]:
        """All roots, in the order of `items`."""
        return [root for root, _ in self.items()]


class OpenTrees:
    """The newest trees of a spout, to which nearly all acks belong."""

    def __init__(self) -> None:
        self.newest = TreeTable()
        self.done: array[int] = array("Q")
        """Roots of complete trees of which the spout has not been notified."""

    def begin(self, pairs: array[int]) -> None:
        """Add roots, as TreeTable.begin does."""
        self.newest.begin(pairs.tobytes())

    def settle(self, data: bytes, start: cython.Py_ssize_t, end: cython.Py_ssize_t) -> Any:
        """Settle the acks of a packet between two offsets, in bytes."""
        others: list[int] = []
        done = self.newest.settle(data, start, end, others)
        if done:
            self.done.frombytes(done)
        numbers = iter(others)
        for root in numbers:
            self.apply_to_older(root, next(numbers))

    def apply_to_older(self, root: int, value: int) -> None:
        """Settle an ack of an older root."""
        raise NotImplementedError


# --- tuple ids ------------------------------------------------------------------------------------


class PendingIds:
    """root -> the tuple id that the user gave, in the order of the roots, which is that of the
    emits. A dict in C, with 16 bytes for each root and 16 free ones; KeyError as a dict's. Python's
    garbage collector does not look into the table: an id in a cycle of objects is freed once the
    root is settled."""

    __slots__ = ("_pending",)

    def __init__(self) -> None:
        if cython.compiled:
            assert is_first(self, cython.address(self._pending))
        else:
            self._pending: Any = None

    def __dealloc__(self) -> None:
        if cython.compiled:
            end_pending(cython.address(self._pending))

    def __len__(self) -> int:
        return int(self._pending.ids.used)

    def __contains__(self, root: int) -> bool:
        return known_id(cython.address(self._pending), root, MISSING) is not MISSING

    def __getitem__(self, root: int) -> Any:
        found = known_id(cython.address(self._pending), root, MISSING)
        if found is MISSING:
            raise KeyError(root)
        return found

    def __setitem__(self, root: int, tup_id: Any) -> None:
        put_id(cython.address(self._pending), root, tup_id)

    def __delitem__(self, root: int) -> None:
        self.pop(root)

    def __iter__(self) -> Iterator[int]:
        return iter(self.keys())

    def __reversed__(self) -> Iterator[int]:
        roots: list[int] = list(self.keys())
        return reversed(roots)

    def __eq__(self, other: object) -> bool:
        mine = dict(self.items())
        return mine == (dict(other.items()) if isinstance(other, PendingIds) else other)

    __hash__ = None  # type: ignore[assignment]

    def pop(self, root: int) -> Any:
        """Forget a root, and return its id."""
        found = take_id(cython.address(self._pending), root, MISSING)
        if found is MISSING:
            raise KeyError(root)
        return found

    def clear(self) -> None:
        """Forget all roots."""
        end_pending(cython.address(self._pending))

    def keys(self) -> Any:
        """All roots, as the view of a dict."""
        return dict.fromkeys(sorted(listed_roots(cython.address(self._pending)))).keys()

    def values(self) -> list[Any]:
        """All ids, in the order of their roots."""
        return [self[root] for root in self.keys()]

    def items(self) -> list[tuple[int, Any]]:
        """All roots with their ids."""
        return [(root, self[root]) for root in self.keys()]

    def newest(self) -> int:
        """The root of the last emit that is pending; 0 without any."""
        return int(newest_id(cython.address(self._pending)))

    def time(self, root: int) -> None:
        """`settle_acked` calls `complete` with this root."""
        time_id(cython.address(self._pending), root)


def pending_ids() -> Any:
    """root -> tuple id, in the order of emits: Python's own dict, or what is faster when
    compiled."""
    return PendingIds() if cython.compiled else {}


def newest_root(pending: Any) -> int:
    """The root of the last emit that is pending; 0 without any."""
    if isinstance(pending, PendingIds):
        return pending.newest()
    return next(reversed(pending), 0)


def time_root(pending: Any, started: dict[int, float], root: int, now: float) -> None:
    """A root joins the sample of latencies, unless it belongs to the sample."""
    started.setdefault(root, now)
    if isinstance(pending, PendingIds):
        pending.time(root)


def settle_acked(
    pending: Any, roots: array[int], started: dict[int, float], complete: Callable[[int], object],
    ack: Callable[[Any], object] | None, raised: Callable[[str], object],
) -> int:  # fmt: skip
    """Call `ack` with the tuple id of each of these roots that is pending, and `complete` with
    those of the sample `started`; returns how many were pending. The others were settled before.
    `raised` takes the name of a call that has raised, in the handler of its exception."""
    if isinstance(pending, PendingIds):
        return int(settle_taken(pending, roots.tobytes(), complete, ack, raised))
    settled = 0
    for root in roots:
        if root in started:
            complete(root)
        try:
            tup_id = pending.pop(root)
        except KeyError:  # settled before: expired, or failed by its tree
            continue
        settled += 1
        if ack is not None:
            try:
                ack(tup_id)
            except Exception:
                raised(f"ack({tup_id!r})")
    return settled


def settle_taken(
    pending: PendingIds, data: bytes, complete: Any, ack: Any, raised: Any
) -> cython.Py_ssize_t:
    """The same in C."""
    settled: cython.Py_ssize_t = 0
    at: cython.Py_ssize_t = 0
    size: cython.Py_ssize_t = len(data)
    while at < size:
        root: cython.ulonglong = number_in(data, at)
        at += NUMBER_BYTES
        tup_id = take_id(cython.address(pending._pending), root, MISSING)
        if tup_id is MISSING:
            continue
        settled += 1
        if pending._pending.was_timed:
            complete(root)
        if ack is not None:
            try:
                ack(tup_id)
            except Exception:
                raised(f"ack({tup_id!r})")
    return settled


# --- calls of a spout -----------------------------------------------------------------------------


def next_tuples(
    driver: Any, outbox: BufferRoom, next_tuple: Callable[[], object], most: cython.Py_ssize_t
) -> cython.Py_ssize_t:
    """Call next_tuple so many times, until a call emits nothing, or until `driver.finished`;
    returns the number of calls, negative if the last one has emitted nothing."""
    call: cython.Py_ssize_t = 0
    room: cython.Py_ssize_t = 0
    flushes: cython.Py_ssize_t = 0
    while call < most:
        call += 1
        room, flushes = outbox.room, outbox.flushes
        try:
            value: Any = next_tuple()
            if value is not None:
                driver.component.refuse_returned(value)
        except Exception:
            driver.user_raised("next_tuple")
        if room == outbox.room and flushes == outbox.flushes:
            return -call
        if driver.finished:
            break
    return call


if cython.compiled:
    know_pending(PendingIds)
