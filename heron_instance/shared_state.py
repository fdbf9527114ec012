"""What the two threads of an instance share; no lock is needed, each attribute has one writer."""

from collections import deque
from collections.abc import Callable

from heron_core.plans import PhysicalPlan

NO_BARRIER = (0, 0)
"""(epoch, checkpoint) of none."""


class SharedState:
    """Written by the control thread unless an attribute says otherwise; any thread may read."""

    def __init__(self) -> None:
        self.epoch = 0
        """Epoch of the newest plan; 0 without a plan."""
        self.plan: PhysicalPlan | None = None
        """The newest physical plan, or None."""
        self.active = False
        """Whether the topology runs, by the newest plan."""
        self.paused = False
        """By back-pressure."""
        self.stopping = False
        """Set by the main thread, in its signal handler."""
        self.epoch_taken = 0
        """Of the plan by which the main thread works; written by the main thread."""
        self.is_restoring = False
        """Whether instances have still to get the state with which the newest plan begins, or this
        process has come too late for it: nothing is emitted or processed."""
        self.reset_epoch = 0
        """Of the plan for which the main thread has dropped all that was before; written by the
        main thread. Stays 0 in a topology that takes no checkpoints."""
        self.takes_checkpoints = False
        """Set once, before there are two threads."""
        self.wanted = NO_BARRIER
        """The newest barrier that is to be sent at once, in spite of back-pressure, and before the
        input that is in front of it."""
        self.barrier_taken = 0
        """The newest checkpoint of which the barrier is sent; written by the main thread."""
        self.is_overtaken = False
        """Whether a barrier is wanted and not sent yet. Written by `update`."""
        self.asked = 0
        """Calls of the control thread so far that are not to wait for back-pressure to end."""
        self.answered = 0
        """How many of them the main thread has made; written by the main thread."""
        self.questions = 0
        """Number of calls made between two tuples of the current message. Written by the
        requesting thread, and during the call by the main thread."""
        self.questions_taken = 0
        """How many of them the main thread has made; written by the main thread."""
        self.may_send = False
        """Whether tuples may be sent: there is a plan and no back-pressure, or the process ends
        and sends the rest. Written by `update`."""
        self.pending_calls: deque[Callable[[], None]] = deque()
        """Calls for the main thread, in order; any thread appends, the main thread takes."""

    def update(self) -> None:
        """Notify after a change of the flags. Another thread or the signal handler may change
        them concurrently, so the written value may already be outdated."""
        while True:
            allowed, overtaken = self._allows_sending, self._is_barrier_wanted
            self.may_send, self.is_overtaken = allowed, overtaken
            if (allowed, overtaken) == (self._allows_sending, self._is_barrier_wanted):
                return

    @property
    def _is_barrier_wanted(self) -> bool:
        epoch, checkpoint = self.wanted
        # Requests of an earlier plan are obsolete, and until all instances have their state none is
        # valid.
        return epoch == self.epoch and checkpoint > self.barrier_taken and not self.is_restoring

    @property
    def is_called(self) -> bool:
        """Whether the main thread must make a call (take a plan, or save its state for an
        update) before further input. Output held by back-pressure within user code is then sent,
        so that the call returns. Under checkpoints, barriers have the same effect."""
        return self.answered < self.asked and not self.takes_checkpoints

    @property
    def interrupts(self) -> bool:
        """Whether something comes before the rest of the message under way."""
        is_asked = self.questions_taken < self.questions
        return self.is_overtaken or self.is_called or is_asked

    @property
    def comes_first(self) -> bool:
        """Whether something comes before the next message, or back-pressure holds that."""
        return bool(self.pending_calls) or not self.may_send or self.stopping or self.is_overtaken

    @property
    def _is_restoring(self) -> bool:
        return self.takes_checkpoints and self.reset_epoch < self.epoch

    @property
    def _allows_sending(self) -> bool:
        if self._is_restoring:
            # A blocked send within a call must return, so that the main thread can drop the output;
            # its messages carry the previous epoch and are ignored.
            return True
        is_blocked = self.paused and not (self._is_barrier_wanted or self.is_called)
        return self.stopping or (self.epoch > 0 and not is_blocked and not self.is_restoring)

    def abandons(self) -> bool:
        """Whether the rest of a message, and all input behind it, counts for nothing here: the
        topology is restored from a checkpoint, or the process ends."""
        return self.stopping or self._is_restoring

    def want_barrier(self, epoch: int, checkpoint: int) -> None:
        """From the control thread: send the barrier of a checkpoint, whatever holds it up."""
        self.wanted = epoch, checkpoint
        self.update()

    def take_barrier(self, checkpoint: int) -> None:
        """From the main thread: the barrier of a checkpoint is sent, or never will be."""
        if checkpoint > self.barrier_taken:
            self.barrier_taken = checkpoint
            self.update()

    def call(self, function: Callable[[], None]) -> None:
        """Let the main thread call `function`; from any thread, which then wakes it."""
        self.pending_calls.append(function)

    def call_first(self, function: Callable[[], None]) -> None:
        """As `call`, from the control thread: before the input that is left, and whatever
        back-pressure holds."""
        self.call(function)
        self.asked += 1
        self.update()

    def call_between(self, function: Callable[[], None]) -> None:
        """As `call`: before the rest of the message under way, but back-pressure is not lifted for
        it."""
        self.call(function)
        self.questions += 1

    def run_pending_calls(self) -> None:
        """In the main thread: make the pending calls; calls requested by them wait for the next
        round, so that the main loop does other work in between (a request also wakes the loop)."""
        asked, self.questions_taken = self.asked, self.questions
        try:
            for _ in range(len(self.pending_calls)):
                # Pending until returned, so that the process does not report itself as idle.
                try:
                    self.pending_calls[0]()
                finally:
                    self.pending_calls.popleft()
        finally:
            if self.answered < asked:
                self.answered = asked
                self.update()

    def validate(self) -> None:
        """AssertionError if the invariants do not hold; in no thread while another one works."""
        assert self.may_send == self._allows_sending, f"may_send is {self.may_send}: not updated"
        assert self.is_overtaken == self._is_barrier_wanted, "a barrier: not updated"
        assert 0 <= self.epoch_taken <= self.epoch, (
            f"the main thread works by plan {self.epoch_taken}, the newest one is {self.epoch}"
        )
        assert self.answered <= self.asked, "more calls are made than were asked for"
        assert self.pending_calls or self.answered == self.asked, "a call was never made"
        assert self.reset_epoch <= self.epoch, "reset for a plan that is not there"
        planned = 0 if self.plan is None else self.plan.epoch
        assert self.epoch == planned, f"epoch {self.epoch} is not the plan's"
        assert self.pending_calls or self.epoch_taken == self.epoch, (
            f"nothing is pending, and plan {self.epoch} was never taken"
        )
