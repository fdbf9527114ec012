"""Samples of an instance's output on a stream, taken when batches are encoded.

Without a requested sample nothing is inspected, and single tuples have no overhead at all. A
tuple with several destinations is sampled once.
"""

import math
import reprlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from heron_core.wire.messages import SampleTuples, TuplesSampled
from heron_core.wire.values import array_of
from heron_instance.emit.output_buffers import Outbox, OutputBuffer
from heron_instance.emit.routing import Route, Router

SAMPLES_MAX = 4
"""At once in one instance; of more, the oldest ends."""
VALUE_CHARACTERS = 200
"""Of a value, for people to read."""
WHOLE_NUMBER_MAX = 1 << 63

Decode = Callable[[bytes], list[list[Any]]]
Send = Callable[[TuplesSampled], None]

_repr = reprlib.Repr()
_repr.maxstring = _repr.maxother = VALUE_CHARACTERS
_repr.maxdict = _repr.maxlist = _repr.maxtuple = _repr.maxset = 20


def shown(value: Any) -> Any:
    """A value as JSON, cut to a limit; without JSON form, as its repr."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return float(value)
    if isinstance(value, int) and abs(value) < WHOLE_NUMBER_MAX:
        return int(value)
    text = value if isinstance(value, str) else _repr.repr(value)
    return text if len(text) <= VALUE_CHARACTERS else f"{text[: VALUE_CHARACTERS - 1]}…"


class StreamSample:
    """The next tuples of one stream."""

    def __init__(self, request: SampleTuples, route: Route, until: float, decode: Decode) -> None:
        self.number = request.sample
        self._left = request.count
        self._route = route
        self._until = until
        self._decode = decode

    def is_over(self, now: float) -> bool:
        """Whether the sample is complete, by count or time."""
        return self._left <= 0 or now >= self._until

    def take_sample(self, buffer: OutputBuffer) -> list[dict[str, Any]]:
        """The wanted tuples of a buffer: field -> value."""
        fields = self._route.spec.fields
        rows = list(self._rows(buffer))
        self._left -= len(rows)
        return [
            {name: shown(each) for name, each in zip(fields, row, strict=False)} for row in rows
        ]

    def _rows(self, buffer: OutputBuffer) -> Iterator[Iterable[Any]]:
        left = self._left
        for part in buffer.parts_of(self._route.index):
            if left <= 0:
                return
            if isinstance(part, bytes):
                rows: Iterable[Iterable[Any]] = self._decoded(part)
            else:
                rows = _rows_of_columns(part.slice(0, left))
            for row in rows:
                left -= 1
                yield row

    def _decoded(self, part: bytes) -> list[list[Any]]:
        """Whatever the topology's own serializer does with it, tuples are sent on."""
        try:
            return self._decode(array_of([part]))
        except Exception as error:
            return [[f"cannot be read: {type(error).__name__}: {error}"]]


def _rows_of_columns(part: Any) -> list[list[Any]]:
    # Late: pyarrow is present only where columns are.
    from heron_core.wire.columns import rows_of

    return rows_of(part)


class StreamSamples:
    """Requested samples of one instance."""

    def __init__(self, outbox: Outbox, router: Router, decode: Decode, send: Send) -> None:
        self._outbox = outbox
        self._router = router
        self._decode = decode
        self._send = send
        self._samples: list[StreamSample] = []

    def begin(self, request: SampleTuples) -> None:
        """In the main thread: sample what is sent from now on."""
        route = self._router.routes.get(request.stream)
        if route is None:  # of another version of the topology
            return
        sample = StreamSample(request, route, self._outbox.clock() + request.secs, self._decode)
        self._samples = [*self._samples, sample][-SAMPLES_MAX:]
        self._outbox.watch = self.take_sample

    def take_sample(self, buffer: OutputBuffer) -> None:
        """A buffer is about to be sent."""
        now = self._outbox.clock()
        self._samples = [each for each in self._samples if not each.is_over(now)]
        for each in self._samples:
            if tuples := each.take_sample(buffer):
                found = {"tuples": tuples}
                self._send(TuplesSampled(self._outbox.task, each.number, found))
        if not self._samples:
            self._outbox.watch = None
