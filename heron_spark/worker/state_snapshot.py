"""What a component remembers, as bytes: its attributes after a batch, given back to a new one.

Everything in a component's __dict__ counts, or what its __getstate__ says. Parts of the engine in
it (emit, context, logger, ...) are named, not copied, and so are metrics, as a copy of one would be
counted with and never read. An attribute that cannot be pickled (a
connection, a generator, a lock) is left out and said so once: in a new process it is what
`initialize` makes it. A connection or a lock is as good as the one before; what an iterator or a
collection had by then is lost, which is counted when it comes to that.

An adapter of another API may hold the user's own object; what holds `process` or `next_tuple` is
such an object, and its attributes count one by one as well.
"""

import io
import pickle
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

import cloudpickle

Report = Callable[[str], None]
FORGOTTEN = "forgotten"
"""Beside the attributes of a state: the names of those that held data and are not in it."""
METRIC = "metric."
"""Before the names of registered metrics among the engine's parts. One that the class of now does
not register any more is None in the attributes that had it."""

RETRY_BYTES = 64 * 1024
"""Pickled in each batch, on average, to see whether an attribute that did not pickle does by now: a
try gets as far as the part that fails, through megabytes of a large collection."""

_parts: dict[str, Any] = {}
"""The engine's parts by name while a state is read: what `_part` answers from."""


class StateSnapshot:
    """Saves and restores the state of one live component."""

    def __init__(
        self, component: Any, engine: Mapping[str, Any], usual: set[str], report: Report
    ) -> None:
        """`engine`: parts of ours that attributes may refer to. `usual`: attributes that every
        component of its kind has; those may be left out without a word."""
        self._component = component
        self._engine = {"component": component, **engine}
        self._names = {id(part): name for name, part in self._engine.items()}
        self._usual = usual
        self._report = report
        self._reported: set[str] = set()
        self._left_out: dict[tuple[str, str], Any] = {}
        """(holder, attribute) that did not pickle the last time, and what it was"""
        self._pauses: dict[tuple[str, str], int] = {}
        """Batches before one of them is tried again"""
        self.forgotten: tuple[str, ...] = ()
        """Attributes that held data, and that the state did not have that was restored."""

    @property
    def unsaved(self) -> tuple[str, ...]:
        """The attributes that are left out, but for those of every component."""
        return tuple(sorted({name for _, name in self._left_out if name not in self._usual}))

    def save(self, extra: Mapping[str, Any]) -> bytes:
        """The state now; `extra` are picklable values to go with it."""
        self._forget_solved()
        try:
            return self._pickled(self._whole(extra))
        except Exception:
            self._find_unpicklable()
            return self._pickled(self._whole(extra))

    def _forget_solved(self) -> None:
        """Of what was left out: another value in its place, or the same without the part that does
        not pickle, is saved again."""
        holders = {name: vars(holder) for name, holder in self._holders()}
        self._left_out = {
            (name, attribute): value
            for (name, attribute), value in self._left_out.items()
            if holders.get(name, {}).get(attribute) is value
            and not self._is_solved((name, attribute), value)
        }
        # A pause is of the value, not of the name: another value does not inherit it.
        self._pauses = {each: self._pauses[each] for each in self._left_out}

    def _is_solved(self, attribute: tuple[str, str], value: Any) -> bool:
        if pause := self._pauses.get(attribute, 0):
            self._pauses[attribute] = pause - 1
            return False
        problem, pickled_bytes = self._try(value)
        self._pauses[attribute] = pickled_bytes // RETRY_BYTES
        return problem is None

    def _whole(self, extra: Mapping[str, Any]) -> dict[str, Any]:
        names = {name for (_, name), value in self._left_out.items() if holds_data(value)}
        return {
            "extra": dict(extra),
            "holders": {name: self._remembered(name, holder) for name, holder in self._holders()},
            FORGOTTEN: sorted(names - self._usual),
        }

    def restore(self, data: bytes) -> dict[str, Any]:
        """Give a state to the component, which was just initialised; returns the extra values."""
        _parts.clear()
        _parts.update(self._engine)
        try:
            whole = pickle.loads(data)
        finally:
            _parts.clear()
        holders = dict(self._holders())
        for name, state in whole["holders"].items():
            if name in holders:
                _give(holders[name], state)
        self.forgotten = tuple(whole.get(FORGOTTEN, ()))
        extra: dict[str, Any] = whole["extra"]
        return extra

    def _holders(self) -> Iterator[tuple[str, Any]]:
        """The component, and a user's object that it drives."""
        yield "", self._component
        for name, value in vars(self._component).items():
            if self._is_driven(value):
                yield name, value

    def _is_driven(self, value: Any) -> bool:
        works = hasattr(value, "process") or hasattr(value, "next_tuple")
        return works and hasattr(value, "__dict__") and id(value) not in self._names

    def _remembered(self, name: str, holder: Any) -> Any:
        if _says_itself(type(holder)):
            return holder.__getstate__()
        return {
            attribute: value
            for attribute, value in vars(holder).items()
            if (name, attribute) not in self._left_out and not self._is_driven(value)
        }

    def _find_unpicklable(self) -> None:
        """Something does not pickle: find out what, attribute by attribute."""
        self._left_out.clear()
        for name, holder in self._holders():
            state = self._remembered(name, holder)
            if not isinstance(state, dict):
                continue
            for attribute, value in state.items():
                if (error := self._problem_of(value)) is not None:
                    self._leave_out(name, attribute, value, error)

    def _problem_of(self, value: Any) -> Exception | None:
        """Why it does not pickle; None if it does."""
        return self._try(value)[0]

    def _try(self, value: Any) -> tuple[Exception | None, int]:
        """(why it does not pickle or None, bytes until then)"""
        file = io.BytesIO()
        try:
            _Pickler(file, self._names).dump(value)
        except Exception as error:
            return error, file.tell()
        return None, file.tell()

    def _leave_out(self, name: str, attribute: str, value: Any, error: Exception) -> None:
        self._left_out[name, attribute] = value
        if attribute in self._usual | self._reported:
            return
        self._reported.add(attribute)
        kind = type(value).__name__
        self._report(
            f"attribute {attribute!r} (a {kind}) cannot be saved: {error}; after a restart the "
            "attribute has its value from initialize"
        )

    def _pickled(self, value: Any) -> bytes:
        file = io.BytesIO()
        _Pickler(file, self._names).dump(value)
        return file.getvalue()


class _Pickler(cloudpickle.Pickler):  # type: ignore[misc]
    """Names parts of the engine instead of copying them."""

    def __init__(self, file: io.BytesIO, names: Mapping[int, str]) -> None:
        super().__init__(file, protocol=pickle.HIGHEST_PROTOCOL)
        self._names = names

    def reducer_override(self, obj: Any) -> Any:
        """Called for all that is no plain value."""
        name = self._names.get(id(obj))
        return super().reducer_override(obj) if name is None else (_part, (name,))


def holds_data(value: Any) -> bool:
    """Whether it has come somewhere, or holds values: an iterator, a collection. A file is opened
    again as a connection is."""
    return isinstance(value, Iterator | Collection) and not isinstance(value, io.IOBase)


def _says_itself(kind: type) -> bool:
    """Whether a class defines __getstate__; every object has one that says nothing special."""
    return any("__getstate__" in vars(each) for each in kind.__mro__ if each is not object)


def _part(name: str) -> Any:
    return _parts.get(name) if name.startswith(METRIC) else _parts[name]


def _give(holder: Any, state: Any) -> None:
    set_state = getattr(holder, "__setstate__", None)
    if set_state is not None:
        set_state(state)
    else:
        vars(holder).update(state)
