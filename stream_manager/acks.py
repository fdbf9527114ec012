"""XOR trees of tracked tuples, expiring in rotating buckets (Storm's Acker and RotatingMap).

A root's value is the xor of all edges begun and not yet acked; at zero the whole tree is done. The
trees live in the stream manager of the spout's container, one `Trees` for each spout task. A root
lives between T and T + T/buckets without being finished: it is dropped at rotation number
buckets + 1 after the bucket it began in was opened.
"""

from array import array
from collections import deque

from heron_core.algorithms.finished_until import OpenNumbers
from heron_core.hot_trees import DONE, UNKNOWN
from heron_core.native import OpenTrees, TreeTable


class Trees(OpenTrees):
    """The unfinished trees of one spout task."""

    def __init__(self, buckets: int) -> None:
        super().__init__()
        self._older: deque[TreeTable] = deque(TreeTable() for _ in range(buckets))
        self.unknown = 0
        """Acks and fails for roots that are not (or no longer) here: counted, not an error."""

    def __len__(self) -> int:
        return len(self.newest) + sum(map(len, self._older))

    def apply(self, pairs: "array[int]") -> None:
        """Xor (root, value) pairs in; the roots whose trees are thereby done join `done`."""
        data = pairs.tobytes()
        self.settle(data, 0, len(data))

    def take_done(self) -> "array[int]":
        """What is done since the last call."""
        done, self.done = self.done, array("Q")
        return done

    def apply_to_older(self, root: int, value: int) -> None:
        """An ack of a root that is not among the newest."""
        for bucket in self._older:
            outcome = bucket.settle_one(root, value)
            if outcome == DONE:
                self.done.append(root)
            if outcome != UNKNOWN:
                return
        self.unknown += 1

    def fail(self, roots: "array[int]") -> "array[int]":
        """End trees by failure; returns those that were still unfinished."""
        failed = array("Q")
        for root in roots:
            for bucket in (self.newest, *self._older):
                if bucket.end(root):
                    failed.append(root)
                    break
            else:
                self.unknown += 1
        return failed

    def clear(self) -> "array[int]":
        """Give all trees up; returns their roots."""
        roots = array("Q", self.roots())
        self.newest = TreeTable()
        self._older = deque(TreeTable() for _ in self._older)
        return roots

    def rotate(self) -> "array[int]":
        """Open a new bucket and drop the oldest; returns the roots that thereby expire."""
        self._older.appendleft(self.newest)
        self.newest = TreeTable()
        return array("Q", self._older.pop().roots())

    def open_roots(self) -> OpenNumbers | None:
        """The first and the last root of the unfinished trees; None without any."""
        spans = [each.span() for each in (self.newest, *self._older) if len(each)]
        if not spans:
            return None
        return OpenNumbers(min(least for least, _ in spans), max(most for _, most in spans))

    def roots(self) -> list[int]:
        """The roots of all unfinished trees."""
        return [root for bucket in (self.newest, *self._older) for root in bucket.roots()]

    def validate(self) -> None:
        """AssertionError unless root 0, which is none, has no tree."""
        assert 0 not in self.roots()
        assert self.unknown >= 0
