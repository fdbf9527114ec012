"""The record of a completed checkpoint in the state store."""

from collections.abc import Mapping

from msgspec import Struct, field

from heron_core.algorithms.covered_counts import CoveredCounts


class CompletedCheckpoint(Struct, frozen=True):
    """A checkpoint from which the topology can be restored."""

    number: int
    at: float
    """When it was triggered, in seconds since 1970."""
    secs: float
    """How long it took until all states were stored."""
    size_bytes: int
    at_end: str = ""
    """Phase of the end during the checkpoint (plans.Phase); empty before the end."""
    previous: Mapping[str, tuple[int, ...]] = field(default_factory=dict, name="former")
    """component -> tasks at the checkpoint, for components with new tasks since
    (Restore.previous)"""
    abandoning: tuple[str, ...] = field(default=(), name="gave_up")
    """Bolts with abandoned tuples covered by the checkpoint and not by an earlier one."""
    with_input: tuple[int, ...] = ()
    """The tasks whose barriers have overtaken input, which is saved with their states."""
    input_messages: int = 0
    """Size of the saved input."""
    input_bytes: int = 0
    covered: CoveredCounts = field(default_factory=CoveredCounts)
    """Counts of the run's instances that a restore undoes."""
    in_memory: bool = False
    """Whether the states are in the memory of containers, and not final
    (heron_core.state.backup)."""
    has_spilled: bool = False
    """Whether states of such a checkpoint are in the store, as no container could hold them."""

    @property
    def has_files(self) -> bool:
        """Whether the store has states of the checkpoint."""
        return self.has_spilled or not self.in_memory
