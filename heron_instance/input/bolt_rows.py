"""How a bolt's driver makes tuples of a message: rows of values, or whole record batches."""

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from heron_core.dead_letters import REPLAYED, origin_of
from heron_core.native import made_rows
from heron_core.topology import TopologySpec
from heron_core.wire.batch import COLUMNS, Batch
from heron_core.wire.frames import Header
from heron_frontends.adapters.tuple_layout import TupleLayout
from heron_instance.input.anchors import AnchorState
from heron_instance.input.driver import ComponentDriver
from heron_instance.input.general_rows import general_rows
from heron_instance.input.key_samples import KeySamples
from heron_instance.input.malformed import malformed
from heron_instance.input.tuples import EngineTuple

if TYPE_CHECKING:
    from heron_instance.input.record_batches import BatchReader, RecordPiece

Decode = Callable[[bytes], list[list[Any]]]
ValuesMaker = Callable[[str, str], Callable[[list[Any]], Any]]


class RowMaker(ComponentDriver):
    """What of a bolt's driver makes tuples of messages."""

    decode: Decode
    """The rows of a body."""
    _topology: TopologySpec
    _sources: dict[int, tuple[str, list[str]]]
    """task -> component and stream names"""
    _tuple: type[EngineTuple]
    _takes_batches: bool
    _values_maker: ValuesMaker | None
    _keys: Iterator[int]
    """For tuples with a shared edge, which need a distinguishing number."""
    _key_samples: KeySamples
    _message: "tuple[Batch, list[RecordPiece]] | None" = None
    """The message under way of a bolt that takes batches."""

    @property
    def may_be_cut(self) -> bool:
        """Whether it takes a message tuple by tuple."""
        return not self._takes_batches

    def fields_of(self, tup: Any) -> Sequence[str]:
        """The names of a tuple's fields."""
        stream = self._topology.by_name[tup.component].stream(tup.stream)
        return () if stream is None else stream.fields

    def _made(
        self, head: Header, batch: Batch, values: list[Any], started: float
    ) -> tuple[list[EngineTuple], list[AnchorState]]:
        """The tuples of a message, and their anchor states if it is a plain batch."""
        if self._takes_batches:
            self._message = batch, values
            return self._tuples_of(batch, values, started), []
        if batch.streams is not None or batch.extras is not None:
            return self._at_origin(self._general(head, batch, values, started)), []
        rows, anchor_states = self._rows(head, batch, values, started)
        return self._at_origin(rows), anchor_states

    def _tuples_of(self, batch: Batch, pieces: list[Any], now: float) -> list[EngineTuple]:
        """The batches of some pieces of a message."""
        found = self._batches.tuples(self._tuple, batch, pieces, self._keys, now)
        return self._at_origin(found)

    def _at_origin(self, rows: list[EngineTuple]) -> list[EngineTuple]:
        """Replayed tuples look like the original."""
        if not rows or rows[0].component != REPLAYED:
            return rows
        made = self._tuple
        return [
            made((each.tuple_key, *origin_of(each.stream), each.task, each.values,
                  each.creation_time, each.roots))
            for each in rows
        ]  # fmt: skip

    def _values(self, head: Header, batch: Batch) -> list[Any]:
        """The rows of a message, or the batch factory for a component that takes batches.

        ProtocolError for an invalid body; exceptions of user code, or for values that violate
        the declared types.
        """
        is_columns = bool(head.flags & COLUMNS)
        if not self._takes_batches and not is_columns:
            return self.decode(batch.body)
        component, streams = self._source_of(head)
        if not self._takes_batches:
            return self._batches.rows(head, batch, component, streams[head.stream])
        values = None if is_columns else self.decode(batch.body)
        return self._batches.pieces(head, batch, component, streams, values)

    @cached_property
    def _batches(self) -> "BatchReader":
        # Late: pyarrow takes 0.1 s to import.
        from heron_instance.input.record_batches import BatchReader

        return BatchReader(self._topology, self.outbox.task)

    def _rows(
        self, head: Header, batch: Batch, values: list[list[Any]], started: float
    ) -> tuple[list[EngineTuple], list[AnchorState]]:
        """The tuples of a plain batch, and their anchor states: one for each, or for each run."""
        component, stream = self._origin(head, values)
        if started >= self._key_samples.due:
            done, busy_secs = self.metrics.executed, self.metrics.busy_secs
            self._key_samples.take((component, stream), values, done, started, busy_secs)
        if self._values_maker is not None:
            values = _with_values(head, component, values, self._values_maker(component, stream))
        return made_rows(
            self._tuple, component, stream, head.source, values, started,
            batch.ids, batch.run_sizes, self._keys,
        )  # fmt: skip

    def _origin(self, head: Header, values: list[list[Any]]) -> tuple[str, str]:
        """Source component of a batch and the header's stream; ProtocolError for an unknown source
        or stream, or a body other than a list of the header's number of tuples."""
        component, names = self._source_of(head)
        stream = names[head.stream]
        if type(values) is not list or head.items != len(values):
            fault = f"a body that is not a list of {head.items} tuples"
            raise malformed(head.source, component, fault)
        return component, stream

    def _source_of(self, head: Header) -> tuple[str, list[str]]:
        """Source component of a batch and its streams, the header's among them."""
        component, names = self._sources.get(head.source, ("", []))
        if head.stream >= len(names):
            raise malformed(head.source, component, f"stream {head.stream}, absent from the plan")
        return component, names

    def _general(
        self, head: Header, batch: Batch, values: list[list[Any]], now: float
    ) -> list[EngineTuple]:
        """The tuples of a batch of several streams, or with tuples of several roots."""
        component, _ = self._origin(head, values)
        names = self._sources[head.source][1]
        try:
            if self._values_maker is None:
                return general_rows(
                    self._tuple, head, batch, values, component, names, now, self._keys
                )
            rows = general_rows(TupleLayout, head, batch, values, component, names, now, self._keys)
            return self._remade(rows, self._values_maker)
        except (IndexError, TypeError) as error:
            raise malformed(head.source, component, f"a malformed batch ({error!r})") from error

    def _remade(self, rows: list[TupleLayout], maker: ValuesMaker) -> list[EngineTuple]:
        """Tuples of the component's own class and values."""
        kind = self._tuple
        return [
            kind(each._replace(values=maker(each.component, each.stream)(each.values or [])))
            for each in rows
        ]


def _with_values(
    head: Header, component: str, batch: list[list[Any]], make: Callable[[list[Any]], Any]
) -> list[Any]:
    """The rows of a batch in the component's form; ProtocolError for a row other than a list."""
    try:
        return list(map(make, batch))
    except TypeError as error:
        fault = f"a row that is not a list ({error})"
        raise malformed(head.source, component, fault) from error
