"""The tuples of a batch of several streams, or with tuples of several roots: one by one."""

from array import array
from collections.abc import Iterable, Iterator
from itertools import repeat
from typing import Any, TypeVar

from heron_core.native import each_its, run_anchors
from heron_core.wire.batch import Batch
from heron_core.wire.frames import Header
from heron_frontends.adapters.tuple_layout import TupleLayout
from heron_instance.input.anchors import AnchorState, SharedAnchorState, own_anchors
from heron_instance.input.tuples import EngineTuple

Made = TypeVar("Made", EngineTuple, TupleLayout)


def general_rows(
    kind: type[Made],
    head: Header,
    batch: Batch,
    values: list[list[Any]],
    component: str,
    names: list[str],
    now: float,
    keys: Iterator[int],
) -> list[Made]:
    """Rows of a batch whose tuples have several streams or several roots.

    IndexError if one of its streams is none of `names`. A tuple that shares its edge with others is
    known by the next of `keys`.
    """
    streams: Iterable[int] = repeat(head.stream) if batch.streams is None else batch.streams
    anchor_states: Iterable[AnchorState] = repeat(None) if batch.ids is None else _anchors_of(batch)
    return [
        kind(
            (
                _key(anchor_state, keys),
                component,
                names[stream],
                head.source,
                value,
                now,
                anchor_state,
            )
        )
        for value, stream, anchor_state in zip(values, streams, anchor_states, strict=False)
    ]


def _key(anchor_state: AnchorState, keys: Iterator[int]) -> int:
    if type(anchor_state) is SharedAnchorState:
        return next(keys)
    return anchor_state[1] if anchor_state else 0


def _anchors_of(batch: Batch) -> Iterable[AnchorState]:
    """An anchor state for each tuple of a tracked batch; those of several roots have them all."""
    ids, sizes = batch.ids or array("Q"), batch.run_sizes
    anchor_states = own_anchors(ids) if sizes is None else run_anchors(ids, sizes)
    extras = iter(batch.extras or ())
    for position, root in zip(extras, extras, strict=True):
        anchor_state = anchor_states[position]
        assert anchor_state is not None, (
            "decode_batch lets no further root pass without a first one"
        )
        anchor_state.extend((root, ids[2 * position + 1]))
    return anchor_states if sizes is None else each_its(anchor_states, sizes)
