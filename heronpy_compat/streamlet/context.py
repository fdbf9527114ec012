"""What generators and transform operators can ask (heronpy.streamlet.context)."""

from typing import Any


class Context:
    """Given to `setup`; the runtime's class implements every method."""

    def get_task_id(self) -> int:
        """The task id of this partition, unique in the topology."""
        raise NotImplementedError

    def get_config(self) -> dict[str, Any]:
        """The config of this stage."""
        raise NotImplementedError

    def get_stream_name(self) -> str:
        """The name of the stream that this stage reads, or emits if it is a source."""
        raise NotImplementedError

    def get_num_partitions(self) -> int:
        """How many partitions this stage has."""
        raise NotImplementedError

    def get_partition_index(self) -> int:
        """Which of them this is, from 0."""
        raise NotImplementedError

    def get_state(self) -> Any:
        """The state of this partition (heronpy.api.state.state.State)."""
        raise NotImplementedError

    def emit(self, values: Any) -> None:
        """Emit `values` as one element of the stage's streamlet."""
        raise NotImplementedError
