"""What a bolt has executed of each stream that it reads, counted once for a batch."""

from collections import Counter
from collections.abc import Sequence

from heron_core.wire.batch import Batch
from heron_core.wire.frames import Header


class InputCounts:
    """Tuples by source component and stream, tasks included that have gone since."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str], int] = {}

    def count(self, component: str, streams: Sequence[str], head: Header, batch: Batch) -> None:
        """A batch of `component`, whose streams are `streams`, was executed; of one with several
        streams each tuple says its own."""
        if batch.streams is None:
            self.add(component, streams[head.stream], head.items)
            return
        for stream, number in Counter(batch.streams).items():
            self.add(component, streams[stream], number)

    def add(self, component: str, stream: str, number: int) -> None:
        """So many tuples of a stream were executed."""
        key = (component, stream)
        self._counts[key] = self._counts.get(key, 0) + number

    def by_name(self) -> dict[str, int]:
        """COMPONENT/STREAM -> how many."""
        counts = list(self._counts.items())  # asked by another thread
        return {f"{component}/{stream}": number for (component, stream), number in counts}
