"""The state of one component as seen by the engine: serialised at a barrier, and restored.

The content of the state is defined by `heron_api.state`, the object by
`heron_api.state.binding`.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from heron_core.state.file_snapshot import StateBytes
from heron_core.state.in_flight_table import Item
from heron_core.state.parts import KeyRange
from heron_core.state.questions import StateReader


class InstanceState(Protocol):
    """What an engine saves and gives back. All calls come from the main thread."""

    @property
    def given(self) -> Any:
        """What `init_state` of the component is called with."""

    def keep_in_flight(
        self,
        key_range: KeyRange,
        tuples: Sequence[Any],
        fields_of: Callable[[Any], Sequence[str]],
    ) -> None:
        """The tuples in flight are part of the next snapshot, in place of those before."""

    def take_in_flight(self) -> list[Item]:
        """Restored tuples to be processed again; the call removes them from the state."""

    def reader(self, name: str) -> StateReader:
        """A read-only view of a named state; UnknownState or OtherKind for an unreadable name."""

    def snapshot(self) -> bytes:
        """The state between two tuples; StateError if it cannot be saved."""

    def deferred_snapshot(self) -> StateBytes:
        """The snapshot for a checkpoint store, whose thread does the expensive part."""

    def restore(self, data: bytes) -> None:
        """Restore a `snapshot`, before the component receives any input."""

    def close(self) -> None:
        """The component has ended."""
