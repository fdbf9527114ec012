"""Interface of a grouping that users write themselves (heronpy.api.custom_grouping)."""

from typing import TYPE_CHECKING, Any

from heron_api.java_names import CalledByEngine

if TYPE_CHECKING:
    from heron_api.topology_context import TopologyContext


class ICustomGrouping(CalledByEngine):
    """Picks the tasks of each tuple; runs in the instance that emits.

        class ByLength(ICustomGrouping):
            def prepare(self, context, component, stream, target_tasks):
                self.tasks = target_tasks

            def choose_tasks(self, values):
                return [self.tasks[len(values[0]) % len(self.tasks)]]

    and `inputs={words: Grouping.custom(ByLength())}` in the bolt's spec. It may have a method
    `divide_batch(batch)` for what `emit_batch` sends (docs/COLUMNS.md).
    """

    def prepare(
        self, context: "TopologyContext", component: str, stream: str, target_tasks: list[int]
    ) -> None:
        """Called once, before the first tuple; after a rescale of the reader a new object is
        prepared.

        `component` and `stream` name the emitter; `target_tasks` are the reader's task ids, sorted.
        """
        raise NotImplementedError

    def choose_tasks(self, values: list[Any]) -> list[int]:
        """The receiving task ids of a tuple, all from `target_tasks`; `values` by the stream's
        fields, in order."""
        raise NotImplementedError
