"""Authorization errors of brokers, with the resource and the missing right of the principal.

Brokers report "Topic authorization failed" without the requested right, and without the name of
a group or transactional id. The client's settings supply both. Pure.
"""

from dataclasses import dataclass
from typing import Any

_TOPIC, _GROUP, _CLUSTER, _TRANSACTIONAL_ID = 29, 30, 31, 53
"""Numbers of Kafka's protocol: TOPIC_AUTHORIZATION_FAILED and so on."""
DESCRIBE, READ, WRITE = "Describe", "Read", "Write"


@dataclass(frozen=True, slots=True)
class Rights:
    """What a client asks brokers for: names of resources, and the right on the topic."""

    topic: str
    on_topic: str
    group: str = ""
    transactional_id: str = ""

    def lacking(self, error: Any, topic: str | None = None) -> str:
        """The right denied by the error; empty for a different error. `topic`: the topic
        concerned, if several are requested."""
        needed = {
            _TOPIC: f"{self.on_topic} on topic {topic or self.topic}",
            _GROUP: f"Read on group {self.group}",
            _CLUSTER: f"Write on topic {self.topic}, or IdempotentWrite on the cluster",
            _TRANSACTIONAL_ID: f"Write on transactional id {self.transactional_id}",
        }
        return needed.get(error.code(), "")

    def described(self, error: Any, topic: str | None = None) -> str:
        """A KafkaError in a line, with the right and the cure if that is what is lacking."""
        lacking = self.lacking(error, topic)
        if not lacking:
            return error_text(error)
        return f"{error_text(error)}: the principal needs {lacking}, by an ACL of the brokers"


def error_text(error: Any) -> str:
    """A KafkaError in a line."""
    return str(error.str()).partition("\n")[0]
