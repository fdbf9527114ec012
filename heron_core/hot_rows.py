"""The hot path of receiving: the plain tuples of messages, each created in its turn.

One source in two forms, as hot_path.py explains. hot_rows.h has the C functions that replace the
Python functions under `if not cython.compiled`.

A message of some thousand tuples created at once leaves the processor's caches before the last
tuple is processed, and so does the memory to free. A cursor creates one tuple, freed when the loop
requests the next; by then the acks of the previous tuple are folded. Without a compiler lists are
faster, since Python builds lists in C (hot_path.made_rows): `RowCursor` is the equivalent, for the
tests of both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import count
from operator import attrgetter, eq
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import cython
else:
    cython = SimpleNamespace(compiled=False)  # as in hot_path.py

Settle = Callable[[Any], None]
CLOCK_EVERY = 8
"""Fast tuples between two readings of the clock. After a sudden slowdown, acks and ticks wait for
at most this number of tuples.
"""
SLOW_SECS = 0.001
"""If so few have taken longer, the clock is read for every tuple."""
STATES_KEPT: int = 4
"""The last two tuples are kept (hot_rows.h), and a run begins before the older one is made anew."""

if not cython.compiled:
    from heron_core.hot_buffers import AckPairs, BufferRoom
    from heron_core.hot_c import (
        acks_by_itself,
        call_ack,
        end_current,
        is_next,
        is_unused,
        know_runs,
        make_current,
        settle_newest,
        settle_next,
    )
    from heron_core.hot_path import RunState, SharedAnchorState, begin_run, made_tuple

    roots_of, key_of = attrgetter("roots"), attrgetter("tuple_key")
    is_number = eq

    def first_plain_row(body: bytes, rows: int) -> int:
        """Where the first of so many rows of plain values is in a body; -1 for any other body."""
        try:
            read = _unpacked(body, ext_hook=_refused, object_hook=_refused)
        except Exception:
            return -1
        is_list = type(read) is list and len(read) == rows and body[:1] == b"\xdd"
        return 5 if is_list and all(map(_is_plain, read)) else -1

    def _unpacked(body: bytes, **hooks: Any) -> Any:
        import msgpack  # late: where the extensions are built it need not be installed

        return msgpack.unpackb(body, **hooks)

    def _refused(*anything: Any) -> Any:
        raise ValueError

    def _is_plain(row: Any) -> bool:
        if type(row) is not list or len(row) > 15:
            return False
        return not any(isinstance(value, list | dict) for value in row)

    def is_plain_class(kind: Any) -> bool:
        """Whether instances of a class are plain Python tuples of the constructor's items."""
        is_made_by_python = isinstance(kind, type) and type(kind).__call__ is type.__call__
        if not is_made_by_python or not issubclass(kind, tuple):
            return False
        return kind.__new__ is tuple.__new__ and kind.__init__ is object.__init__

    def id_at(numbers: Any, index: int) -> int:
        """One of a list of 64-bit numbers."""
        return int.from_bytes(numbers[8 * index : 8 * index + 8], "little")

    def size_at(sizes: bytes, index: int) -> int:
        """One of a list of 32-bit numbers."""
        return int.from_bytes(sizes[4 * index : 4 * index + 4], "little")

    def drop_first(items: list[Any], number: int) -> None:
        """Take the first items out of a list."""
        del items[:number]

    def next_tuple(
        last: Any, is_plain: Any, kind: Any, key: Any, component: Any, stream: Any, task: Any,
        created: Any, roots: Any, body: Any, at: Any, values_kind: Any,
    ) -> Any:  # fmt: skip
        """In C alone: the next tuple, in the memory of the tuple before the last if unused."""
        raise NotImplementedError

    def newest(last: Any) -> Any:
        """In C alone: the tuple that was made last."""
        raise NotImplementedError

    def end_turn(last: Any) -> Any:
        """In C alone: let go of both."""
        raise NotImplementedError


class RowKeys:
    """Numbers for tuples that share an edge."""

    __slots__ = ("_next",)

    def __init__(self, first: cython.ulonglong) -> None:
        self._next = first

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> Any:
        return take_keys(self, 1)


def take_keys(keys: RowKeys, number: cython.Py_ssize_t) -> cython.ulonglong:
    """The first of `number` consecutive keys."""
    first: cython.ulonglong = keys._next
    keys._next += number
    return first


def row_keys(first: int) -> Iterator[int]:
    """Numbers from `first` on: Python's own counter, or a counter from which a cursor takes a run
    at once.
    """
    return RowKeys(first) if cython.compiled else count(first)


class RowCursor:
    """The tuples of plain batches as an iterator, equal to the tuples of `made_rows`.

    `body`, `ids` and `sizes` are the frames of a checked message (wire/batch.py). Values are lists,
    or of a class constructed from a row as `tuple` is. The iterator stops for due work according to
    `stretch`, and continues from there. `then` adds further messages.
    """

    __slots__ = (
        "_anchor_state", "_at", "_body", "_clock", "_component", "_created", "_due", "_few",
        "_further", "_ids", "_is_plain_class", "_key", "_keys", "_kind", "_left_in_run",
        "_outbox", "_rows", "_run", "_runs", "_sizes", "_states", "_stops_at", "_stream",
        "_task", "_turn", "_values_kind", "few_began_at", "is_plain", "items", "left",
        "left_in_message", "messages_begun",
    )  # fmt: skip

    items: int
    """Tuples of all messages."""
    left: int
    """Tuples not taken yet."""
    left_in_message: int
    """Tuples not taken yet of the message that has begun last."""
    messages_begun: int
    """A message begins with its first tuple, except the first message."""

    def __init__(
        self, kind: Any, component: str, stream: str, task: int, created: float, body: bytes,
        rows: cython.Py_ssize_t, ids: bytes | None, sizes: bytes | None, keys: Any,
        outbox: BufferRoom, clock: Callable[[], float], values_kind: Any = None,
    ) -> None:  # fmt: skip
        self._kind = kind
        self._values_kind = values_kind
        self._component = component
        self._stream = stream
        self._task = task
        self._created = created
        self._body = body
        self._ids = ids
        self._sizes = sizes
        self._keys = keys
        self._outbox = outbox
        self._clock = clock
        self._at = first_plain_row(body, rows)
        has_rows: cython.bint = values_kind is None or is_plain_class(values_kind)
        self.is_plain = has_rows and self._at >= 0
        """Whether all values are plain and well-formed; otherwise the cursor is unusable."""
        self.items = self.left = self.left_in_message = rows
        self._further: list[Any] = []
        """Messages added."""
        self.messages_begun = 1
        self._anchor_state: Any = None
        self._states: list[RunState] = []
        """Anchor states of the cursor's runs; a state without a referring tuple is reused."""
        self._key = 0
        """Of the tuple that was taken last."""
        self._run = -1
        """Of the message."""
        self._runs = 0
        """Of all messages, for the choice of an anchor state."""
        self._left_in_run = 0
        self._few = 0
        self._due = 0.0
        self.few_began_at = 0.0
        """When the few tuples began that came last."""
        self._stops_at = rows
        """How many are left where the next loop ends."""
        if not cython.compiled:
            self._rows = iter(_unpacked(body) if self.is_plain else ())
            self._turn: Any = None
        else:
            self._is_plain_class = is_plain_class(kind)

    def __dealloc__(self) -> None:
        if cython.compiled:
            end_turn(cython.address(self._turn))

    def __length_hint__(self) -> int:
        return self.left

    def __getitem__(self, at: Any) -> Any:
        """The tuple taken last, for any index: the only one requested."""
        if cython.compiled:
            return newest(cython.address(self._turn))
        return self._turn

    def then(
        self, component: Any, stream: Any, task: Any, body: bytes, rows: cython.Py_ssize_t,
        ids: Any, sizes: Any, values_kind: Any = None,
    ) -> cython.bint:  # fmt: skip
        """Add a message behind the others, before the first `stretch`; False if `is_plain` would
        be, and the message is not added.
        """
        at: cython.Py_ssize_t = first_plain_row(body, rows)
        if at < 0 or not (values_kind is None or is_plain_class(values_kind)):
            return False
        self._further.append((component, stream, task, body, ids, sizes, values_kind, rows, at))
        self.left += rows
        self.items += rows
        return True

    @property
    def messages_done(self) -> int:
        """Added messages whose tuples are all taken, if the cursor began without tuples."""
        if not self.left:
            return len(self._further)
        return self.messages_begun - 1 - (self.left_in_message > 0)

    def keep_message(self) -> None:
        """Drop the messages that have not begun."""
        dropped: cython.Py_ssize_t = self.left - self.left_in_message
        del self._further[self.messages_begun - 1 :]
        self.items -= dropped
        self.left = self.left_in_message
        self._stops_at = max(0, self._stops_at - dropped)

    def stretch(self, tuples: cython.Py_ssize_t, now: cython.double, due: cython.double) -> None:
        """Limit of the next loop: `tuples` tuples, the time `due`, or a slow group of CLOCK_EVERY
        tuples. `now` is the start.
        """
        self._stops_at = max(0, self.left - tuples)
        self._few = CLOCK_EVERY
        self.few_began_at = now
        self._due = due

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> Any:
        if self._outbox.acked:
            self._fold()
        if self.left == self._stops_at:
            raise StopIteration
        if not self._few and self._must_stop():
            self._stops_at = self.left
            raise StopIteration
        while not self.left_in_message:
            self._begin_message()
        self._few -= 1
        self.left -= 1
        self.left_in_message -= 1
        if self._left_in_run:
            self._left_in_run -= 1
            self._key += 1
        elif self._ids is not None:
            self._begin_run()
        state: Any = self._anchor_state
        if cython.compiled:
            if state is not None and not self._is_plain_class:
                state = self._anchor_state.whole()
            return next_tuple(
                cython.address(self._turn), self._is_plain_class, self._kind, self._key,
                self._component, self._stream, self._task, self._created, state, self._body,
                cython.address(self._at), self._values_kind,
            )  # fmt: skip
        row = next(self._rows)
        self._turn = made_tuple(
            self._kind, self._key, self._component, self._stream, self._task,
            row if self._values_kind is None else self._values_kind(row),
            self._created, None if state is None else state.whole(),
        )  # fmt: skip
        return self._turn

    def _must_stop(self) -> cython.bint:
        now: cython.double = self._clock()
        if now >= self._due or now - self.few_began_at > SLOW_SECS:
            return True
        self.few_began_at = now
        self._few = CLOCK_EVERY
        return False

    def _begin_message(self) -> cython.bint:
        """Move to the next message."""
        (
            self._component, self._stream, self._task, self._body, self._ids, self._sizes,
            self._values_kind, self.left_in_message, self._at,
        ) = self._further[self.messages_begun - 1]  # fmt: skip
        self.messages_begun += 1
        self._run = -1
        self._key = self._left_in_run = 0
        self._anchor_state = None
        if not cython.compiled:
            self._rows = iter(_unpacked(self._body))
        return True

    def _begin_run(self) -> cython.bint:
        """Start the next run: its anchor state, and the key of its first tuple."""
        size: cython.Py_ssize_t = 1
        self._run += 1
        root: cython.ulonglong = id_at(self._ids, 2 * self._run)
        edge: cython.ulonglong = id_at(self._ids, 2 * self._run + 1)
        self._key = edge
        if self._sizes is not None:
            size = size_at(self._sizes, self._run)
            self._key = take_keys(self._keys, size)
        self._left_in_run = size - 1
        self._anchor_state = self._spare_state() if root else None
        if root:
            begin_run(self._anchor_state, root, edge, self._key, size)
        return True

    def _spare_state(self) -> Any:
        """An unused anchor state, or a new one."""
        at: cython.Py_ssize_t = self._runs % STATES_KEPT
        self._runs += 1
        if at < len(self._states):
            if cython.compiled and is_unused(self._states, at):
                return self._states[at]
            self._states[at] = RunState()
        else:
            at = len(self._states)
            self._states.append(RunState())
        return self._states[at]

    def _fold(self) -> cython.bint:
        """Fold the acks: nearly always of the newest tuple alone."""
        state: Any = self._anchor_state if self._outbox.tracked else None
        if cython.compiled and self._outbox.foreign is None:
            position: cython.Py_ssize_t = 0
            if state is not None:
                position = self._anchor_state._run.tuples - 1 - self._left_in_run
            if settle_newest(
                self._outbox.acked, cython.address(self._turn), state, position,
                cython.address(self._outbox.pairs._numbers),
            ):  # fmt: skip
                self._outbox.acks_counted += 1
                return True
        fold_done(self._outbox)
        return False


class CurrentTuples:
    """Tuples in turn, as in pystorm's bolt loop: each is alone in the user's `_current_tups` until
    the next request, and acked then if the user's `auto_ack` is set. After an exception the tuple
    stays there: the loop continues with another iterator.
    """

    __slots__ = ("_ack", "_current", "_forget", "_named", "_source", "_tuple", "_user")

    def __init__(
        self, source: Iterable[Any], user: Any, ack: Settle | None, named: dict[str, Any],
        forget: Settle,
    ) -> None:  # fmt: skip
        self._source = iter(source)
        self._user = user
        self._ack = ack
        """None where acks are for later, whatever `auto_ack` says."""
        self._named = named
        """Tuples whose ids user code has seen, forgotten at their ack."""
        self._forget = forget
        self._tuple: Any = None
        """What is being processed."""
        if not cython.compiled:
            self._current: Any = None

    def __dealloc__(self) -> None:
        if cython.compiled:
            end_current(cython.address(self._current))

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> Any:
        if self._tuple is not None:
            self._settle()
        tup = next(self._source, None)
        if tup is None:
            self._user._current_tups = []
            raise StopIteration
        self._tuple = tup
        if cython.compiled:
            make_current(cython.address(self._current), self._user, tup)
        else:
            self._user._current_tups = [tup]
        return tup

    def _settle(self) -> cython.bint:
        tup, self._tuple = self._tuple, None
        if self._ack is None:
            return True
        if self._acks_by_itself():
            if self._named:
                self._forget(tup)
            if cython.compiled:
                call_ack(self._ack, tup)
            else:
                self._ack(tup)
        return True

    def _acks_by_itself(self) -> cython.bint:
        if cython.compiled:
            return acks_by_itself(cython.address(self._current), self._user)
        return bool(self._user.auto_ack)


def fold_done(outbox: BufferRoom) -> None:
    """Fold the acks of processed tuples. Outbox.settle handles the rest: acks of tuples with
    several roots, and all acks while other threads emit.
    """
    shared: SharedAnchorState
    acked: list[Any] = outbox.acked
    number: cython.Py_ssize_t = len(acked)
    at: cython.Py_ssize_t = 0
    if outbox.foreign is not None:
        return
    while at < number:
        if outbox.tracked:
            tup = acked[at]
            state = state_to_settle(outbox, tup)
            if state is None:
                pass
            elif type(state) is list and len(state) == 2:
                add_pair(outbox.pairs, state)
            elif type(state) is SharedAnchorState and len(state) <= 2:
                shared = state
                key = key_of(tup)
                if (
                    shared.left
                    and shared.first_key
                    and is_number(key, shared.first_key + shared.in_order)
                ):
                    shared.in_order += 1
                    shared.left -= 1
                elif not shared.first_settle(key):
                    outbox.late += 1
                    outbox.acks_counted -= 1
                if not shared.left and not shared.has_failed and len(shared) == 2:
                    add_pair(outbox.pairs, shared)
            else:
                break
        outbox.acks_counted += 1
        at += 1
    drop_first(acked, at)
    if at < number:
        outbox.settle()


def state_to_settle(outbox: BufferRoom, tup: Any) -> Any:
    """The anchor state of an acked tuple, as a list; None without a state, or if the tuple was
    settled here, in its turn.
    """
    run: RunState
    state = roots_of(tup)
    if cython.compiled and isinstance(state, RunState):
        run = state
        if not is_next(cython.address(run._run), key_of(tup)):
            return run.whole()
        settle_next(cython.address(run._run), cython.address(outbox.pairs._numbers))
        return None
    return state


def add_pair(pairs: AckPairs, state: list[Any]) -> None:
    """Add root and value of an anchor state, and empty the state."""
    pairs.extend(state)
    state.clear()


if cython.compiled:
    know_runs(RunState)
