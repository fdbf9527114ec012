"""Side inputs: a store that is filled from a stream, for lookups of a task."""

from collections.abc import Iterable
from typing import Any

from heronpy_compat.samza.envelopes import IncomingMessageEnvelope, SystemStreamPartition
from heronpy_compat.samza.job_settings import StreamSettings
from heronpy_compat.samza.stores import KeyValueStore
from heronpy_compat.samza.systems import Record


class SideInput:
    """Fills a store with the messages of a partition.

    A processor's `process(envelope, store)` returns (key, value) pairs for the store; without one
    each message is an entry, as its bytes are. The position is part of the store.
    """

    def __init__(self, store: KeyValueStore, settings: StreamSettings, processor: Any) -> None:
        self.store, self._settings, self._processor = store, settings, processor

    def take(self, record: Record, partition: SystemStreamPartition) -> None:
        """Apply a message."""
        if self._processor is None:
            if record.key is not None:
                self.store.take(record.key, record.message, record.following)
            return
        envelope = IncomingMessageEnvelope(
            partition, str(record.offset), self._settings.key.decoded(record.key),
            self._settings.message.decoded(record.message),
        )  # fmt: skip
        entries: Iterable[tuple[Any, Any]] = self._processor.process(envelope, self.store) or ()
        for key, value in entries:
            self.store.put(key, value)
        self.store.position = record.following
