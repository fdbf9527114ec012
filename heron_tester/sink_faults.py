"""A two-phase sink with planned deaths, and a source for it."""

import sys
import sysconfig
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from heron_api.spout.spout import Spout
from heron_api.state.stateful_component import StatefulComponent
from heron_connectors.two_phase import TwoPhaseSink
from heron_tester.faults import InstanceKilled

Row = Callable[[int], Sequence[Any]]

_LIBRARIES = tuple(
    sysconfig.get_path(each) for each in ("stdlib", "platstdlib", "purelib", "platlib")
)


class FaultPlan:
    """Planned faults of the sink, consulted at each of its calls."""

    def __init__(self) -> None:
        self.kill_at: str | None = None
        """ "before pre_commit", "after pre_commit", "before commit", "after commit", once."""
        self.kill_in_line: int | None = None
        """Ordinal, from 1, of the line at which a commit dies, counting distinct lines; a loop
        counts each line once.
        """
        self.raise_in_commits = 0
        """So many commits fail."""
        self.fails_checkpoint = False
        """Whether another component cannot save its state."""
        self.was_killed = False
        self._seen: set[tuple[str, int]] = set()

    def at(self, moment: str) -> None:
        """A moment has come."""
        if self.kill_at == moment:
            self.kill_at = None
            self.die()

    def die(self) -> None:
        """The moment is now."""
        self.was_killed = True
        raise InstanceKilled

    def committing(self) -> None:
        """A commit begins."""
        if self.raise_in_commits:
            self.raise_in_commits -= 1
            raise OSError("the target takes no commit, says the test")

    @contextmanager
    def lines(self) -> Iterator[None]:
        """During the first commit: die at the chosen line."""
        if self.kill_in_line is None:
            yield
            return
        before = sys.gettrace()
        sys.settrace(self._trace)
        try:
            yield
        finally:
            sys.settrace(before)
            self.kill_in_line = None

    def _trace(self, frame: Any, event: str, argument: Any) -> Any:
        if frame.f_code.co_filename.startswith(_LIBRARIES):
            return None
        if frame.f_globals.get("__name__") == __name__:
            return None
        if event == "line":
            self._seen.add((frame.f_code.co_filename, frame.f_lineno))
            if len(self._seen) == self.kill_in_line:
                self.die()
        return self._trace


class Numbers(Spout, StatefulComponent):
    """Emits rows of numbers from a first one on, and continues at its checkpoint's position."""

    first: int
    plan: FaultPlan
    row: Row

    def init_state(self, stateful_state: Any) -> None:
        """Keep the state."""
        self.state = stateful_state

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        """Go to the position."""
        self.next: int = self.state.get("next") or self.first

    def pre_save(self, checkpoint_id: Any) -> None:
        """Save the position, or fail the checkpoint."""
        if self.plan.fails_checkpoint:
            self.plan.fails_checkpoint = False
            raise RuntimeError("this checkpoint fails, says the test")
        self.state.put("next", self.next)

    def next_tuple(self) -> None:
        """One number."""
        self.emit(list(type(self).row(self.next)), tup_id=self.next)
        self.next += 1


def watched(sink: type[TwoPhaseSink], plan: FaultPlan) -> type[TwoPhaseSink]:
    """The sink with the planned deaths and failures."""

    class Watched(sink):  # type: ignore[misc, valid-type]
        def pre_commit(self, transaction: Any, transaction_id: Any) -> Any:
            plan.at("before pre_commit")
            prepared = super().pre_commit(transaction, transaction_id)
            plan.at("after pre_commit")
            return prepared

        def commit(self, prepared: Any, transaction_id: Any) -> None:
            plan.at("before commit")
            plan.committing()
            with plan.lines():
                super().commit(prepared, transaction_id)
            plan.at("after commit")

    return Watched
