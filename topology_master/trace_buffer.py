"""Traced trees whose instances have not all reported yet. Pure: the clock is an argument."""

from collections.abc import Iterable

from msgspec import Struct, field

from heron_core.traces import NO_TASK, Execution
from heron_engine.topology_master.spans import Executed, Span, spans_of

TREES_MAX = 2000
"""Limit of trees; above, the oldest are exported incomplete. A tree of ten spans takes 3 KiB."""
EXECUTIONS_MAX = 1000
"""Executions recorded per tree: further ones are left out, except the spout's."""


class Tree(Struct):
    """Spans of one tree."""

    complete_at: float
    """Deadline of the tree, on the caller's clock."""
    found: list[Executed] = field(default_factory=list)


class TraceBuffer:
    """Trees of one topology."""

    def __init__(self, topology: str, report_secs: float, tree_secs: float) -> None:
        """Instances report executions within `report_secs`; `tree_secs`: time after which the
        outcome of a tree is no longer awaited."""
        self._topology = topology
        self._report_secs = report_secs
        self._tree_secs = tree_secs
        self._trees: dict[int, Tree] = {}

    def __len__(self) -> int:
        return len(self._trees)

    def take(self, task: int, executions: Iterable[Execution], now: float) -> None:
        """Add an instance's report of executions."""
        for each in executions:
            tree = self._trees.get(each.root)
            if tree is None:
                tree = self._trees[each.root] = Tree(now + self._tree_secs)
            if len(tree.found) < EXECUTIONS_MAX or each.source == NO_TASK:
                tree.found.append(Executed(task, each))
            if each.source == NO_TASK:  # the others were executed before
                tree.complete_at = now + self._report_secs

    def ready(self, now: float) -> list[Span]:
        """Spans of finished trees, and of trees above the limit; they are removed."""
        over = len(self._trees) - TREES_MAX
        done = [
            root
            for at, (root, tree) in enumerate(self._trees.items())
            if at < over or tree.complete_at <= now
        ]
        return [span for root in done for span in self._spans(root)]

    def all(self) -> list[Span]:
        """The spans of all remaining trees, at the end."""
        return [span for root in list(self._trees) for span in self._spans(root)]

    def _spans(self, root: int) -> list[Span]:
        return spans_of(self._topology, root, self._trees.pop(root).found)
