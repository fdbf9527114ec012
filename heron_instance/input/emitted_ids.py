"""Tuple ids of a spout under checkpoints, which settle the ids in place of trees."""

from typing import Any


class EmittedIds:
    """Emitted ids not covered by a completed checkpoint."""

    def __init__(self) -> None:
        self._newest: list[Any] = []
        """Since the last barrier."""
        self._by_checkpoint: dict[int, list[Any]] = {}
        """number -> ids emitted between the previous barrier and the checkpoint's own, in order"""

    def __len__(self) -> int:
        return len(self._newest) + sum(map(len, self._by_checkpoint.values()))

    def take(self, ids: list[Any]) -> None:
        """These were emitted, in order; the list is empty then."""
        self._newest += ids
        ids.clear()

    def barrier(self, checkpoint: int) -> None:
        """All ids so far precede the barrier of the checkpoint."""
        self._by_checkpoint[checkpoint], self._newest = self._newest, []

    def completed(self, checkpoint: int) -> list[Any]:
        """Remove and return the ids covered by the completed checkpoint."""
        covered = sorted(number for number in self._by_checkpoint if number <= checkpoint)
        return [tup_id for number in covered for tup_id in self._by_checkpoint.pop(number)]

    def forget(self, checkpoint: int) -> int:
        """The ids that are covered are neither acked nor failed; returns how many they are."""
        return len(EmittedIds.completed(self, checkpoint))

    def take_all(self) -> list[Any]:
        """All ids, in order, because the topology is restored; they are forgotten."""
        covered = self.completed(max(self._by_checkpoint, default=0))
        newest, self._newest = self._newest, []
        return covered + newest
