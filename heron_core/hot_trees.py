"""The hot path of ack trees: the values of the roots of one spout.

As hot_path.py, one source for two ways to run it: see there. hot_trees.h has the C functions that
take the place of the Python ones under `if not cython.compiled`. A number of Python's is an object
of its own, and a root with its value two of them and a place in a dict: tens of thousands of them
are more than the processor's caches have. The compiled table has 16 bytes for each, of roots that
follow each other side by side.
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
"""What a tree is after an ack: hot_trees.h has the same."""

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
    """root -> the xor of all edges that were begun and not acked. Root 0 is none."""

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
        """New roots as root, value, …, each with the xor of all edges of its first deliveries."""
        if cython.compiled:
            begin_trees(cython.address(self._trees), data)
            return
        numbers = iter(array("Q", data))
        self._trees.update(zip(numbers, numbers, strict=True))
        self._trees.pop(0, None)

    def settle(
        self, data: bytes, start: cython.Py_ssize_t, end: cython.Py_ssize_t, others: list[int]
    ) -> bytes:
        """Xor the pairs between two places of a packet into the trees; returns the roots of those
        that are done, and gone. The numbers of pairs whose roots are not here join `others`."""
        if cython.compiled:
            return settle_trees(cython.address(self._trees), data, start, end, others)  # type: ignore[no-any-return]
        done = array("Q")
        for pair in fold_into_trees(self._trees, array("Q", data[start:end]), done):
            others.extend(pair)
        return done.tobytes()

    def settle_one(self, root: int, value: int) -> int:
        """The same of one pair: OPEN, DONE or UNKNOWN."""
        if cython.compiled:
            return settle_tree(cython.address(self._trees), root, value)  # type: ignore[no-any-return]
        done = array("Q")
        others = fold_into_trees(self._trees, array("Q", (root, value)), done)
        return DONE if done else UNKNOWN if others else OPEN

    def end(self, root: int) -> bool:
        """Remove a tree; whether it was here."""
        if cython.compiled:
            return bool(end_tree(cython.address(self._trees), root))
        return self._trees.pop(root, None) is not None

    def items(self) -> list[tuple[int, int]]:
        """All roots with their values, by the numbers of the roots: those of one process of a spout
        in the order of their emit."""
        if not cython.compiled:
            return sorted(self._trees.items())
        numbers = iter(listed_trees(cython.address(self._trees)))
        return sorted(zip(numbers, numbers, strict=True))

    def roots(self) -> list[int]:
        """All roots, in the order of `items`."""
        return [root for root, _ in self.items()]


class OpenTrees:
    """The newest trees of one spout, to which nearly all acks belong."""

    def __init__(self) -> None:
        self.newest = TreeTable()
        self.done: array[int] = array("Q")
        """Roots whose trees are done, of which the spout has not been notified."""

    def begin(self, pairs: array[int]) -> None:
        """New roots, each with the xor of all edges of its first deliveries; root 0 is none."""
        self.newest.begin(pairs.tobytes())

    def settle(self, data: bytes, start: cython.Py_ssize_t, end: cython.Py_ssize_t) -> Any:
        """Acks: the pairs of root and value between two places of a packet."""
        others: list[int] = []
        done = self.newest.settle(data, start, end, others)
        if done:
            self.done.frombytes(done)
        numbers = iter(others)
        for root in numbers:
            self.apply_to_older(root, next(numbers))

    def apply_to_older(self, root: int, value: int) -> None:
        """An ack of a root that is not among the newest."""
        raise NotImplementedError
