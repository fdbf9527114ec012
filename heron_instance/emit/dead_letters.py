"""Makes letters of the tuples that a component abandons (heron_core.dead_letters)."""

import sys
from collections.abc import Callable, Sequence
from typing import Any, Protocol
from zlib import crc32

from msgspec import Struct

from heron_api.user_errors import users_traceback
from heron_core.dead_letters import CALL_FIELDS, ERRORS
from heron_core.naming import component_of
from heron_frontends.adapters.batch_values import Misfit
from heron_instance.input.anchors import SharedAnchorState
from heron_instance.input.raised import line_of

TRACEBACK_CHARACTERS = 16_384
"""The end of a traceback is kept: what was raised stands there, and hundreds of frames are a
recursion."""
EXCEPTION_CHARACTERS = 500
"""Of its line: a list of letters is to be read."""
KNOWN_MAX = 10_000
"""Tuples that failed here and may come again; of the oldest the count begins again then."""
FAILED = "failed by the component"
NO_LETTER = "a tuple that is abandoned makes no dead letter"


class LetterFault(Struct, frozen=True):
    """Why a tuple, or a call, is abandoned."""

    exception: str
    traceback: str = ""
    attempt: int = 1
    about: str = ""
    """Notes of the exception: the window or timer concerned."""


def fault_of(error: BaseException | None, attempt: int = 1) -> LetterFault:
    """As text: the objects that a traceback keeps alive are not kept."""
    if error is None:
        return LetterFault(FAILED, "", attempt)
    text = users_traceback(error)[-TRACEBACK_CHARACTERS:]
    about = "; ".join(getattr(error, "__notes__", ()))
    return LetterFault(line_of(error)[:EXCEPTION_CHARACTERS], text, attempt, about)


def present_fault() -> LetterFault:
    """A letter for the exception being handled in the thread."""
    return fault_of(sys.exc_info()[1])


class LetterOrigin(Struct, frozen=True):
    """Where a tuple came from."""

    source: str
    stream: str
    task: int
    fields: Sequence[str]


class Emits(Protocol):
    """Emits the values of a letter, with anchors if it has any."""

    def __call__(self, values: list[Any], anchors: list[Any]) -> object: ...


class DeadLetters:
    """Letters of one instance whose stream `errors` is read; in the main thread."""

    def __init__(
        self,
        instance: str,
        emit: Emits,
        next_id: Callable[[], int],
        wall_ms: Callable[[], int],
        retries: int,
    ) -> None:
        """`instance`: component[index]; `retries`: how often a tuple that is tracked fails and
        comes again, before it is abandoned; `wall_ms`: since 1970."""
        self._instance = instance
        self._component = component_of(instance)
        self._emit = emit
        self._next_id = next_id
        self._wall_ms = wall_ms
        self._retries = retries
        self._failures: dict[int, int] = {}
        """Of tuples that are tracked: how often each has failed here."""
        self.fields_of: Callable[[Any], Sequence[str]] = lambda tup: ()
        self.record_error: Callable[[str, str], None] = lambda what, text: None
        self._newest: Any = None
        """The latest tuple turned into a letter: user code may also fail the tuple and then
        raise."""
        self.fault: LetterFault | None = None
        """Why the next tuple is abandoned, where the exception is not the one being handled."""

    def takes_failed(self, tup: Any) -> bool:
        """Whether a tuple that fails is abandoned, and is a letter now. One that is tracked comes
        again at first."""
        fault, self.fault = self.fault or present_fault(), None
        if tup is self._newest:
            return True
        if not tup.roots:
            return tup.roots is None and self.takes(tup, fault)
        if not _is_open(tup):
            return False
        key = key_of(tup)
        failures = self._failures.pop(key, 0) + 1
        if failures > self._retries:
            return self.takes(tup, LetterFault(fault.exception, fault.traceback, failures), [tup])
        if len(self._failures) >= KNOWN_MAX:
            self._failures.pop(next(iter(self._failures)))
        self._failures[key] = failures
        return False

    def takes_call(self, where: str, fault: LetterFault) -> bool:
        """Whether a failed call without a single tuple becomes a letter, which cannot be
        replayed: the letter names the call, window or timer."""
        return self.takes_values(LetterOrigin("", "", 0, CALL_FIELDS), [where, fault.about], fault)

    def takes(self, tup: Any, fault: LetterFault, anchors: Sequence[Any] = ()) -> bool:
        """Whether a tuple is a letter now; of a record batch each of its rows."""
        origin = LetterOrigin(tup.component, tup.stream, tup.task, list(self.fields_of(tup)))
        rows, self._newest = _rows_of(tup.values), tup
        taken = [self.takes_values(origin, values, fault, anchors) for values in rows]
        return all(taken)

    def takes_values(
        self,
        origin: LetterOrigin,
        values: Sequence[Any],
        fault: LetterFault,
        anchors: Sequence[Any] = (),
    ) -> bool:
        """Whether a tuple's values become a letter. An oversized letter omits the traceback."""
        try:
            for text in dict.fromkeys((fault.traceback, "")):
                if self._is_sent(self._letter(origin, values, fault, text), anchors):
                    return True
        except Exception as error:
            self.record_error(NO_LETTER, line_of(error))
            return False
        raise AssertionError("the last one is sent, or raises")

    def _is_sent(self, letter: list[Any], anchors: Sequence[Any]) -> bool:
        try:
            self._emit(letter, list(anchors))
        except Exception:
            if not letter[6]:
                raise
            return False
        return True

    def _letter(
        self, origin: LetterOrigin, values: Sequence[Any], fault: LetterFault, traceback: str
    ) -> list[Any]:
        return [
            f"{self._next_id():016x}", self._component, self._instance, self._wall_ms(),
            fault.attempt, fault.exception, traceback, origin.source, origin.stream,
            origin.task, list(origin.fields), list(values),
        ]  # fmt: skip


def _is_open(tup: Any) -> bool:
    """Whether a tracked tuple is neither acked nor failed yet."""
    state = tup.roots
    if type(state) is not SharedAnchorState:
        return bool(state)
    return bool(state.left) and not state.has_settled(tup.tuple_key)


def key_of(tup: Any) -> int:
    """Identity of a tuple across replays: source, stream and values, because a replay has a new
    root, and the spout's id is not transmitted. Equal tuples therefore share one failure count,
    and one of them may be abandoned early; a tuple that never failed is never abandoned."""
    values = tup.values.to_pylist() if hasattr(tup.values, "to_pylist") else tup.values
    return crc32(repr((tup.component, tup.stream, values)).encode(errors="replace"))


def _rows_of(values: Any) -> list[Sequence[Any]]:
    """Values as received by a tuple bolt, so that a replay is equal."""
    if not hasattr(values, "num_rows"):
        return [values or []]
    if isinstance(values, Misfit):
        return list(values.rows)
    from heron_core.wire.columns import rows_of  # imports Arrow

    return list(rows_of(values))


__all__ = [
    "ERRORS",
    "DeadLetters",
    "LetterFault",
    "LetterOrigin",
    "fault_of",
    "key_of",
    "present_fault",
]
