"""The hidden spout `__replayed`: replays requested dead letters.

A letter goes to the bolt that abandoned the tuple, by the bolt's grouping; a letter abandoned by
a source goes to all readers of the source's stream. By mode:

    EFFECTIVELY_ONCE   the position is part of each checkpoint: once each
    ATLEAST_ONCE       until each is acked; after the usual number of failures, a letter again
    ATMOST_ONCE        each request is done before its letters are emitted
    Spark              the position is part of each batch: once each
"""

import time
from typing import Any

from heron_api.spout.spout import Spout
from heron_api.state.state import State
from heron_api.state.stateful_component import TwoPhaseStatefulComponent
from heron_connectors.letters.locations import requests_of
from heron_connectors.letters.records import values_of
from heron_connectors.replay_queue import ReplayQueue
from heron_core import config as keys
from heron_core.dead_letters import origin_of
from heron_core.errors import ComponentError

STATE_KEY = "heronpy.replayed_letters"
"""Under it the state has the position."""
POLL_SECS = 0.5
"""Between two looks for requests: a person waits for what comes of one."""
LetterId = tuple[int, int, str]
"""(request, row, stream)"""
Position = tuple[int, int]
"""(request, row) of the next letter; requests of lower numbers are done."""


class ReplayedLetters(Spout, TwoPhaseStatefulComponent):
    """Emits the letters of each request in order."""

    def init_state(self, stateful_state: State) -> None:
        """Keep the state."""
        self._state = stateful_state

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        """Go on where it was; another instance than the first emits nothing."""
        name = context.get_component_id()
        self._context = context
        self._requests = requests_of(config, context, self.logger)
        storm = context.to_storm()
        self._fields: dict[str, list[str]] = storm["stream->outputfields"]
        self._targets: dict[str, dict[str, Any]] = storm["stream->target->grouping"]
        self._is_first = context.get_component_tasks(name)[0] == context.get_task_id()
        self._pickles = keys.flag(keys.with_defaults(config), keys.VALUES_PICKLE)
        mode = keys.reliability(keys.with_defaults(config))
        self._is_exact = mode == keys.EFFECTIVELY_ONCE
        self._is_tracked = mode == keys.ATLEAST_ONCE
        self._position: Position = (0, 0)
        self._letters: list[dict[str, Any]] | None = None
        """Letters of the current request; None before they are read."""
        self._pending: dict[LetterId, list[Any]] = {}
        self._failed: ReplayQueue[LetterId] = ReplayQueue.of(config)
        self._saved: dict[int, Position] = {}
        """checkpoint -> position in the checkpoint"""
        self._is_closed = self._is_by_batches = False
        saved = self._state.get(STATE_KEY) if self._is_exact else None
        if saved is not None:
            self._position = tuple(saved)
            self._are_done(self._position)
        self._poll_later()

    # --- looking for requests ---------------------------------------------------------------------

    def _poll_later(self) -> None:
        self.delegate.call_later(POLL_SECS, self._poll)

    def _poll(self) -> None:
        if self._is_closed or self._is_by_batches or not self._is_first:
            return
        if self._next_request() is not None:
            self.delegate.reopen()
        self._poll_later()

    def _next_request(self) -> int | None:
        waiting = self._requests.waiting()
        return next((each for each in waiting if each >= self._position[0]), None)

    def _are_done(self, position: Position) -> None:
        """The requests before a position need not be read any more."""
        for number in self._requests.waiting():
            if number < position[0] and not any(each[0] == number for each in self._pending):
                self._requests.is_done(number)

    # --- emitting ---------------------------------------------------------------------------------

    def next_tuple(self) -> None:
        """Emit a letter that failed, or else the next one."""
        failed = self._failed.take(time.monotonic()) if self._failed else None
        if failed is not None:
            self._emit(failed, self._pending[failed])
        elif not self._is_first or not self._is_begun():
            if not self._failed:
                self.finish()
        else:
            self._emit_next()

    def _is_begun(self) -> bool:
        """Whether there is a request to go on with."""
        if self._letters is None:
            number = self._next_request()
            if number is None:
                return False
            row = self._position[1] if number == self._position[0] else 0
            self._position = number, row
            self._letters = self._requests.letters(number)
            if not (self._is_exact or self._is_tracked or self._is_by_batches):
                self._requests.is_done(number)
        return True

    def _emit_next(self) -> None:
        assert self._letters is not None
        number, row = self._position
        if row >= len(self._letters):
            self._position, self._letters = (number + 1, 0), None
            if self._is_tracked:
                self._are_done(self._position)
            return
        self._position = number, row + 1
        letter = self._letters[row]
        values = values_of(letter, pickles=self._pickles)
        for stream in self._streams_of(letter):
            self._emit((number, row, stream), values, self._direct_task(letter, stream))

    def _emit(self, letter: LetterId, values: list[Any], task: int | None = None) -> None:
        if self._is_tracked:
            self._pending[letter] = values
        self.emit(values, letter if self._is_tracked else None, letter[2], task)

    def _streams_of(self, letter: dict[str, Any]) -> list[str]:
        """Target of the letter; ComponentError without a reader."""
        origin, fields = (letter["source"], letter["stream"]), letter["fields"]
        by_source = letter["component"] == letter["source"]
        streams = [
            stream
            for stream, names in self._fields.items()
            if origin_of(stream) == origin
            and names == fields
            and (by_source or letter["component"] in self._targets[stream])
        ]
        if not streams:
            raise ComponentError(
                f"dead letter {letter['id']} is not sent again: {letter['component']} does not read"
                f" {origin[0]}.{origin[1]} with the fields {', '.join(fields)} (any more)"
            )
        return streams

    def _direct_task(self, letter: dict[str, Any], stream: str) -> int | None:
        """For a direct stream: the abandoning instance, if still present."""
        ((reader, grouping),) = self._targets[stream].items()
        if grouping["type"] != "DIRECT":
            return None
        tasks: list[int] = self._context.get_component_tasks(reader)
        index = letter["instance"].rpartition("[")[2].rstrip("]")
        return tasks[min(int(index), len(tasks) - 1)] if index.isdigit() else tasks[0]

    # --- what became of them ----------------------------------------------------------------------

    def ack(self, tup_id: Any) -> None:
        """A letter is processed; a request is done with the last of its letters."""
        if self._pending.pop(tup_id, None) is None:
            return
        self._failed.acked(tup_id)
        self._are_done(self._position)

    def fail(self, tup_id: Any) -> None:
        """Replay the letter. A component that abandons the tuple again creates a new letter."""
        if tup_id in self._pending and self._failed.failed(tup_id, time.monotonic()):
            values = self._pending.pop(tup_id)
            self.delegate.record_error(
                "a dead letter is abandoned", f"the replay failed: {values!r:.200}"
            )
            self._are_done(self._position)

    def pre_save(self, checkpoint_id: Any) -> None:
        """The position; at least once a new process emits again what is not acked."""
        if self._is_exact:
            self._saved[int(checkpoint_id)] = self._position
            self._state.put(STATE_KEY, list(self._position))

    def post_save(self, checkpoint_id: Any) -> None:
        """What a checkpoint has will not be emitted again."""
        done = [each for each in self._saved if each <= int(checkpoint_id)]
        positions = [self._saved.pop(each) for each in done]
        if positions:
            self._are_done(max(positions))

    def close(self) -> None:
        """Look no more."""
        self._is_closed = True
        self._requests.close()

    # --- engines of batches -----------------------------------------------------------------------

    def begin_batch(self, batch_id: int) -> None:
        """What was emitted in the batch before is done everywhere."""
        self._is_by_batches = True
        self._are_done(self._position)
        if self._is_first and self._next_request() is not None:
            self.delegate.reopen()

    def end_batch(self) -> None:
        """The position is saved with the batch."""

    def __getstate__(self) -> dict[str, Any]:
        """The position; the request is read again."""
        return {"_position": self._position, "_letters": None, "_is_by_batches": True}
