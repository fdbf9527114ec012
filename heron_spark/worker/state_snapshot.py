"""State of a component as bytes: its attributes after a batch, restored into a new object.

The state is everything in the component's __dict__, or the result of its __getstate__. Parts of the
engine (emit, context, logger, ...) are stored by name, and metrics too, because a copied metric
would never be read. An attribute that cannot be pickled (a connection, a generator, a lock) is left
out and reported once: in a new process `initialize` creates it anew. A new connection or lock is
equivalent; the content of an iterator or a collection is lost, and the loss is counted at the
restore.

An adapter of another API may hold the user's own object: an attribute with `process` or
`next_tuple`, whose attributes are stored one by one as well.
"""

import io
import pickle
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

import cloudpickle

Report = Callable[[str], None]
FORGOTTEN = "forgotten"
"""Key beside the attributes of a state: names of attributes with data that the state lacks."""
METRIC = "metric."
"""Prefix of the names of registered metrics among the engine's parts. A metric that the present
class no longer registers becomes None.
"""

RETRY_BYTES = 64 * 1024
"""Average number of bytes pickled per batch to retry attributes that failed to pickle: a retry may
pass through megabytes of a large collection before the failing part.
"""

_parts: dict[str, Any] = {}
"""The engine's parts by name while a state is read: what `_part` answers from."""


class StateSnapshot:
    """Saves and restores the state of one live component."""

    def __init__(
        self, component: Any, engine: Mapping[str, Any], usual: set[str], report: Report
    ) -> None:
        """`engine`: parts of the engine that attributes may refer to. `usual`: attributes of every
        component of the kind, left out without a report.
        """
        self._component = component
        self._engine = {"component": component, **engine}
        self._names = {id(part): name for name, part in self._engine.items()}
        self._usual = usual
        self._report = report
        self._reported: set[str] = set()
        self._left_out: dict[tuple[str, str], Any] = {}
        """(holder, attribute) that failed to pickle -> value at the failure"""
        self._pauses: dict[tuple[str, str], int] = {}
        """Batches until the next retry"""
        self.forgotten: tuple[str, ...] = ()
        """Attributes with data, missing in the restored state."""

    @property
    def unsaved(self) -> tuple[str, ...]:
        """Attributes left out, except for the usual ones."""
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
        """Save attributes again that were left out and now have another value, or have lost the
        failing part.
        """
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
        """The component, and the user object inside an adapter."""
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
        """Why a value does not pickle, or None."""
        return self._try(value)[0]

    def _try(self, value: Any) -> tuple[Exception | None, int]:
        """(pickling error or None, bytes written before)"""
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
    """Whether a class defines __getstate__ itself, apart from object's default."""
    return any("__getstate__" in vars(each) for each in kind.__mro__ if each is not object)


def _part(name: str) -> Any:
    return _parts.get(name) if name.startswith(METRIC) else _parts[name]


def _give(holder: Any, state: Any) -> None:
    set_state = getattr(holder, "__setstate__", None)
    if set_state is not None:
        set_state(state)
    else:
        vars(holder).update(state)
