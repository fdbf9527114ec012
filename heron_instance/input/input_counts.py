"""What a bolt has executed of each stream that it reads, counted once for a batch."""

from collections import Counter
from collections.abc import Mapping, Sequence

from heron_core.wire.batch import Batch
from heron_core.wire.frames import Header


class InputCounts:
    """Tuples by source task and index of its stream."""

    def __init__(self) -> None:
        self._counts: dict[tuple[int, int], int] = {}

    def count(self, head: Header, batch: Batch) -> None:
        """A batch was executed; of one with several streams each tuple says its own."""
        if batch.streams is None:
            key = (head.source, head.stream)
            self._counts[key] = self._counts.get(key, 0) + head.items
            return
        for stream, number in Counter(batch.streams).items():
            key = (head.source, stream)
            self._counts[key] = self._counts.get(key, 0) + number

    def by_name(self, sources: Mapping[int, tuple[str, Sequence[str]]]) -> dict[str, int]:
        """COMPONENT/STREAM -> how many; `sources`: task -> its component and its streams, those of
        tasks included that have gone."""
        found: dict[str, int] = {}
        for (task, stream), number in list(self._counts.items()):  # asked by another thread
            component, names = sources[task]
            name = f"{component}/{names[stream]}"
            found[name] = found.get(name, 0) + number
        return found
