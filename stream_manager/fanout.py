"""One batch for several tasks of one container: it travels once and is split where they are."""

from array import array
from collections.abc import Iterator, Mapping

from heron_core.errors import ProtocolError
from heron_core.wire.frames import PAIR_BYTES, Flag, Frames, Header, Kind, check_batch, header


def check_fanout(
    head: Header, frames: Frames, targets: "array[int]", container_of: Mapping[int, int]
) -> None:
    """ProtocolError if a FANOUT message is malformed or names tasks that are not all, and once
    each, in its container."""
    if len(set(targets)) != len(targets):
        raise ProtocolError("a fan-out that names a task twice")
    if not leads_to_one(head, targets, container_of):
        raise ProtocolError(f"a fan-out to tasks that are not in container {head.destination}")
    everything = head._replace(items=head.items * len(targets))
    check_batch(everything, [frames[0], *frames[2:]])


def leads_to_one(head: Header, targets: "array[int]", container_of: Mapping[int, int]) -> bool:
    """Whether all tasks that a FANOUT message names are in the container that it names."""
    return all(container_of.get(task) == head.destination for task in targets)


def split(head: Header, frames: Frames, targets: "array[int]") -> Iterator[tuple[int, Frames]]:
    """The DATA message for each target of a checked FANOUT, each with its own ids."""
    tracked = bool(head.flags & Flag.TRACKED)
    block_bytes = head.items * PAIR_BYTES
    rest = frames[4:] if tracked else frames[3:]
    for at, task in enumerate(targets):
        ids = [frames[3][at * block_bytes : (at + 1) * block_bytes]] if tracked else []
        first = header(
            Kind.DATA, head.epoch, head.source, task, head.items, head.stream, head.flags
        )
        yield task, [first, frames[2], *ids, *rest]
