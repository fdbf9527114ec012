"""Context of generators and transform operators (heronpy.streamlet.context)."""

from typing import Any


class Context:
    """Argument of `setup`; the runtime's class implements every method."""

    def get_task_id(self) -> int:
        """Task id of the partition, unique in the topology."""
        raise NotImplementedError

    def get_config(self) -> dict[str, Any]:
        """The config of the stage."""
        raise NotImplementedError

    def get_stream_name(self) -> str:
        """Name of the stage's input stream; for a source, of the output stream."""
        raise NotImplementedError

    def get_num_partitions(self) -> int:
        """Number of partitions of the stage."""
        raise NotImplementedError

    def get_partition_index(self) -> int:
        """Index of the partition, from 0."""
        raise NotImplementedError

    def get_state(self) -> Any:
        """The state of the partition (heronpy.api.state.state.State)."""
        raise NotImplementedError

    def emit(self, values: Any) -> None:
        """Emit `values` as one element of the stage's streamlet."""
        raise NotImplementedError
