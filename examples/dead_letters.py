"""Orders, some of them broken: broken orders are abandoned, stored, and can be replayed.

heronpy run examples/dead_letters.py -o topology.dead.letter=file:dead-letters heronpy
dead-letters Orders

A bolt that raises for a tuple neither ends the run nor loses the tuple. With
topology.dead.letter set, each abandoned tuple becomes a letter in a folder (or in a topic of
Kafka: kafka:TOPIC@HOST:PORT; or in a bolt of the topology: its name).

The bolt `alarm` reads the letters of one component directly, with or without the setting: every
component has a stream `errors`.
"""

from typing import Any

from heronpy_compat import Bolt, Grouping, Spout, Topology, Tuple
from heronpy_compat.api.state.state import State
from heronpy_compat.api.state.stateful_component import StatefulComponent

ORDERS = 200
BROKEN_EVERY = 50


class Lines(Spout, StatefulComponent):
    """Lines as sent by a partner: one in fifty lacks the amount."""

    outputs = ["line"]

    def init_state(self, stateful_state: State) -> None:
        self.state = stateful_state

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        self.number = self.state.get("number") or 0

    def pre_save(self, checkpoint_id: Any) -> None:
        self.state.put("number", self.number)

    def next_tuple(self) -> None:
        if self.number == ORDERS:
            self.finish()
            return
        self.number += 1
        amount = "" if self.number % BROKEN_EVERY == 0 else str(self.number * 10)
        self.emit([f"order-{self.number};{amount}"])


class Parse(Bolt):
    """Raises for a broken line."""

    outputs = ["order", "amount"]

    def process(self, tup: Tuple) -> None:
        order, amount = tup["line"].split(";")
        self.emit([order, int(amount)])


class Total(Bolt, StatefulComponent):
    """Sums the amounts of valid orders."""

    def init_state(self, stateful_state: State) -> None:
        self.state = stateful_state

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        self.total = self.state.get("total") or 0

    def pre_save(self, checkpoint_id: Any) -> None:
        self.state.put("total", self.total)

    def process(self, tup: Tuple) -> None:
        self.total += tup["amount"]

    def on_finish(self) -> None:
        print(f"all orders: {self.total}")


class Alarm(Bolt):
    """Reports abandoned orders."""

    def process(self, tup: Tuple) -> None:
        print(f"{tup['instance']} abandoned {tup['values']}: {tup['exception']}")


class Orders(Topology):
    """lines → parse → total; parse's errors → alarm"""

    config = {
        "topology.reliability.mode": "EFFECTIVELY_ONCE",
        "topology.bolt.retry.backoff.ms": 10,
    }

    lines = Lines.spec()
    parse = Parse.spec(inputs=[lines])
    total = Total.spec(inputs=[parse])
    alarm = Alarm.spec(inputs={parse["errors"]: Grouping.SHUFFLE})
