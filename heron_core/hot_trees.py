"""The hot path of ack trees: the values of the roots of one spout.

One source, plain or compiled, as hot_path.py says. hot_trees.h has the C functions in place of the
Python ones under `if not cython.compiled`. In Python a root and its value are two objects and a
place in a dict, and tens of thousands of roots are more than the caches of a processor hold. The
compiled table has 16 bytes for each root, and consecutive roots stand side by side.
"""

from __future__ import annotations

from array import array
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import cython
else:
    cython = SimpleNamespace(compiled=False)  # as in hot_path.py

OPEN, DONE, UNKNOWN = range(3)
"""The state of a tree after an ack; hot_trees.h has the same numbers."""

if not cython.compiled:
    from heron_core.hot_c import (
        begin_trees,
        end_tree,
        free_trees,
        listed_trees,
        settle_tree,
        settle_trees,
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
