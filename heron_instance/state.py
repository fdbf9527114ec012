"""The state of one component, as the engine sees it: bytes at a barrier, and back.

What a component keeps in it is the matter of `heron_api.state`, and what makes it that of
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
        """Those that were restored, which run again; the state has them no more."""

    def reader(self, name: str) -> StateReader:
        """A state by its name, to be read as it is now; UnknownState or OtherKind for a name that
        cannot be read."""

    def snapshot(self) -> bytes:
        """The state between two tuples; StateError if it cannot be saved."""

    def deferred_snapshot(self) -> StateBytes:
        """The same for a checkpoint store, whose thread makes what takes long of it."""

    def restore(self, data: bytes) -> None:
        """Take a state that `snapshot` has made, before the component is given anything."""

    def close(self) -> None:
        """The component has ended."""
