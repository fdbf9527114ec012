"""Custom groupings that Storm brings along (org.apache.storm.testing)."""

from typing import Any

from heron_api.custom_grouping import ICustomGrouping


class NGrouping(ICustomGrouping):
    """Each tuple goes to the `n` tasks with the lowest ids."""

    def __init__(self, n: int) -> None:
        self.n = n

    def prepare(self, context: Any, component: str, stream: str, target_tasks: list[int]) -> None:
        """Pick the tasks, once."""
        self.chosen = sorted(target_tasks)[: self.n]

    def choose_tasks(self, values: list[Any]) -> list[int]:
        """The same for every tuple."""
        return self.chosen
