"""A streamlet of a Pulsar topic (heronpy.connectors.pulsar.pulsarstreamlet)."""

from typing import Any

from heron_api.topology import TopologyBuilder
from heronpy_compat.connectors.pulsar.pulsarspout import PulsarSpout
from heronpy_compat.streamlet.errors import StreamletError
from heronpy_compat.streamlet.streamlet import Streamlet


class PulsarStreamlet(Streamlet):
    """The messages of a topic; give it to `Builder.new_source`."""

    def __init__(
        self,
        service_url: str,
        topic_name: str,
        stage_name: str | None = None,
        parallelism: int | None = None,
        receive_timeout_ms: int | None = None,
        input_schema: Any = None,
    ) -> None:
        super().__init__()
        for what, value in (("service_url", service_url), ("topic_name", topic_name)):
            if value is None:
                raise StreamletError(f"PulsarStreamlet needs a {what}")
        if stage_name is not None:
            self.set_name(stage_name)
        self.set_num_partitions(parallelism or 1)
        self._topic = topic_name
        optional = {
            PulsarSpout.receiveTimeoutMs: receive_timeout_ms,
            PulsarSpout.deserializer: input_schema,
        }
        self._config = {
            PulsarSpout.serviceUrl: service_url,
            PulsarSpout.topicName: topic_name,
            **{key: value for key, value in optional.items() if value is not None},
        }

    @staticmethod
    def pulsarStreamlet(*arguments: Any, **named: Any) -> "PulsarStreamlet":  # noqa: N802
        """As the constructor (heronpy's name)."""
        return PulsarStreamlet(*arguments, **named)

    def _build_this(self, builder: TopologyBuilder, stage_names: set[str]) -> bool:
        prefix = f"pulsarspout-{self._topic.rpartition('/')[2]}"
        name = self._take_name(prefix, stage_names)
        builder.add_spout(name, PulsarSpout, self.get_num_partitions(), config=self._config)
        return True
