"""Numbers into a topic of Kafka, and then the end."""

from typing import Any

from heron_api.state.state import State
from heron_api.state.stateful_component import StatefulComponent
from heronpy_compat import Spout, Topology
from heronpy_compat.connectors.kafka import KafkaSink

NUMBERS = 400


class Numbers(Spout, StatefulComponent):
    outputs = ["number"]

    def init_state(self, stateful_state: State) -> None:
        self.state = stateful_state

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        self.at = self.state.get("at") or 0

    def pre_save(self, checkpoint_id: Any) -> None:
        self.state.put("at", self.at)

    def next_tuple(self) -> None:
        if self.at == NUMBERS:
            self.finish()
            return
        self.emit([self.at])
        self.at += 1


class NumbersToKafka(Topology):
    numbers = Numbers.spec()
    copy = KafkaSink.spec(par=2, inputs=[numbers])
