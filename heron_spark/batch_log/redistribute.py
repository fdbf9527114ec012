"""Continuation of a run with another number of cores: blocks in the checkpoint change partition.

The file of a task in an unfinished batch has blocks for the partitions of the old run. With more or
fewer cores, tasks live in other partitions, and the blocks have to follow.
"""

from collections.abc import Iterable, Mapping

from heron_core.wire.frames import destination_of
from heron_spark.batch_log.blocks import Block, LevelPartition, OutgoingBlocks, messages
from heron_spark.batch_log.checkpoint_dir import CheckpointDir, TaskOutcome
from heron_spark.compile.plan import QueryPlan


def move_blocks(folder: CheckpointDir, plan: QueryPlan, slots: int) -> None:
    """Redirect the files of the batch to be repeated, if there is one."""
    batch, partition_of = folder.batches_done(), plan.partition_of(slots)
    if batch == folder.committed():
        return
    for task in partition_of:
        if not folder.has(task, batch):
            continue
        blocks = list(folder.blocks(task, batch))
        if any(_is_misplaced(block, partition_of) for block in blocks):
            results, state = folder.results(task, batch), folder.state(task, batch)
            folder.replace(
                task, batch, TaskOutcome(results, redistributed(blocks, partition_of), state)
            )


def redistributed(
    blocks: Iterable[Block], partition_of: Mapping[int, LevelPartition]
) -> list[Block]:
    """The same messages as blocks for where their tasks are now."""
    outgoing, others = OutgoingBlocks(partition_of), []
    for block in blocks:
        if block[0] < 0:  # rows of a DataFrame are for no task
            others.append(block)
            continue
        for frames in messages(block[2]):
            outgoing.add(frames)
    return outgoing.take() + others


def _is_misplaced(block: Block, partition_of: Mapping[int, LevelPartition]) -> bool:
    level, partition, data = block
    return any(partition_of[destination_of(each)] != (level, partition) for each in messages(data))
