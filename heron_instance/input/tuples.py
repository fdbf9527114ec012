"""The tuple that user code gets: heronpy's HeronTuple, its id made only when asked for."""

from heron_core.topology import SYSTEM_COMPONENT, TICK_STREAM
from heronpy_compat.adapters.tuple_layout import TupleLayout


class HeronTuple(TupleLayout):
    """One tuple: id, component, stream, task (of the emitter), values, creation_time, roots."""

    __slots__ = ()

    @property
    def id(self) -> str:
        """The tuple's id, "0" when it is not anchored (heronpy)."""
        return "0" if self.roots is None else str(self.key)


def tick_tuple(now: float) -> HeronTuple:
    """A tick (heron: id and stream "__tick", component "__system", no values)."""
    tick: HeronTuple = HeronTuple((0, SYSTEM_COMPONENT, TICK_STREAM, None, None, now, None))
    return tick
