"""XOR trees of tracked tuples, expiring in rotating buckets (Storm's Acker and RotatingMap).

A root's value is the xor of all edges begun and not yet acked; at zero the whole tree is done. The
trees live in the stream manager of the spout's container, one `Trees` for each spout task. A root
lives between T and T + T/buckets without being finished: it is dropped at rotation number
buckets + 1 after the bucket it began in was opened.
"""

from array import array
from collections import deque

from heron_core.native import OpenTrees, fold_into_trees


class Trees(OpenTrees):
    """The unfinished trees of one spout task."""

    def __init__(self, buckets: int) -> None:
        super().__init__()
        self._older: deque[dict[int, int]] = deque({} for _ in range(buckets))
        self.unknown = 0
        """Acks and fails for roots that are not (or no longer) here: counted, not an error."""

    def __len__(self) -> int:
        return len(self.newest) + sum(map(len, self._older))

    def apply(self, pairs: "array[int]") -> None:
        """Xor (root, value) pairs in; the roots whose trees are thereby done join `done`."""
        for root, value in fold_into_trees(self.newest, pairs, self.done):
            self.apply_to_older(root, value)

    def take_done(self) -> "array[int]":
        """What is done since the last call."""
        done, self.done = self.done, array("Q")
        return done

    def apply_to_older(self, root: int, value: int) -> None:
        """An ack of a root that is not among the newest."""
        for bucket in self._older:
            known = bucket.get(root)
            if known is not None:
                if known == value:
                    del bucket[root]
                    self.done.append(root)
                else:
                    bucket[root] = known ^ value
                return
        self.unknown += 1

    def fail(self, roots: "array[int]") -> "array[int]":
        """End trees by failure; returns those that were still unfinished."""
        failed = array("Q")
        for root in roots:
            for bucket in (self.newest, *self._older):
                if bucket.pop(root, None) is not None:
                    failed.append(root)
                    break
            else:
                self.unknown += 1
        return failed

    def clear(self) -> "array[int]":
        """Give all trees up; returns their roots."""
        roots = array("Q", self.roots())
        for bucket in (self.newest, *self._older):
            bucket.clear()
        return roots

    def rotate(self) -> "array[int]":
        """Open a new bucket and drop the oldest; returns the roots that thereby expire."""
        self._older.appendleft(self.newest)
        self.newest = {}
        return array("Q", self._older.pop())

    def roots(self) -> list[int]:
        """The roots of all unfinished trees."""
        return [root for bucket in (self.newest, *self._older) for root in bucket]

    def validate(self) -> None:
        """AssertionError unless root 0, which is none, has no tree."""
        assert all(0 not in bucket for bucket in (self.newest, *self._older))
        assert self.unknown >= 0
