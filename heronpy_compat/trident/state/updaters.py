"""How aggregations are written into a state."""

from collections.abc import Callable
from functools import reduce
from typing import Any

from heronpy_compat.trident.errors import TridentError
from heronpy_compat.trident.operations import (
    CombinerAggregator,
    Operation,
    ReducerAggregator,
    StateUpdater,
    TridentCollector,
    TridentOperationContext,
)
from heronpy_compat.trident.state.interfaces import Update
from heronpy_compat.trident.tuples import TridentTuple


class AggregateUpdater(StateUpdater):
    """What the updaters of aggregations have in common."""

    def __init__(self, aggregator: Operation, group_size: int) -> None:
        """`group_size`: how many of the first fields of its tuples are those of the group."""
        self._aggregator = aggregator
        self._group_size = group_size

    def prepare(self, conf: dict[str, Any], context: TridentOperationContext) -> None:
        """See Operation."""
        self._aggregator.prepare(conf, context)

    def cleanup(self) -> None:
        """See Operation."""
        self._aggregator.cleanup()

    def _grouped(self, tuples: list[TridentTuple]) -> dict[tuple[Any, ...], list[TridentTuple]]:
        groups: dict[tuple[Any, ...], list[TridentTuple]] = {}
        for tup in tuples:
            rest = TridentTuple(tup.fields[self._group_size :], tup.values[self._group_size :])
            groups.setdefault(tuple(tup.values[: self._group_size]), []).append(rest)
        return groups

    def update_state(
        self, state: Any, tuples: list[TridentTuple], collector: TridentCollector
    ) -> None:
        """One update for each group, whose new value is emitted behind the group's fields."""
        groups = self._grouped(tuples)
        updates = [self._update_of(rows) for rows in groups.values()]
        if self._group_size:
            values = state.multi_update(list(groups), updates)
        else:
            values = [state.update(update) for update in updates]
        for group, value in zip(groups, values, strict=True):
            collector.emit([*group, value])

    def _update_of(self, tuples: list[TridentTuple]) -> Update:
        raise NotImplementedError


class CombinerUpdater(AggregateUpdater):
    """Combines the stored value with that of the batch, which is one tuple for each group."""

    _aggregator: CombinerAggregator

    def _update_of(self, tuples: list[TridentTuple]) -> Update:
        if len(tuples) != 1:
            raise TridentError(f"a combined group has one tuple in a batch, not {len(tuples)}")
        value = tuples[0].values[0]
        combine: Callable[[Any, Any], Any] = self._aggregator.combine
        return lambda stored: value if stored is None else combine(stored, value)


class ReducerUpdater(AggregateUpdater):
    """Reduces the tuples of the batch into the stored value."""

    _aggregator: ReducerAggregator

    def _update_of(self, tuples: list[TridentTuple]) -> Update:
        aggregator = self._aggregator

        def update(stored: Any) -> Any:
            return reduce(
                aggregator.reduce, tuples, aggregator.init() if stored is None else stored
            )

        return update
