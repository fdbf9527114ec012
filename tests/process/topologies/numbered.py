"""A spout that counts, and a bolt that writes which numbers have reached it: both exact."""

from results import write_as

from heronpy_compat import Bolt, Spout
from heronpy_compat.api.state.stateful_component import StatefulComponent


class Counting(Spout, StatefulComponent):
    """Goes on behind the last number that is saved; `next_tuple` is each topology's own."""

    outputs = ["number"]

    def init_state(self, stateful_state):
        self.state = stateful_state

    def initialize(self, config, context):
        self.at = self.state.get("at") or 0

    def pre_save(self, checkpoint_id):
        self.state.put("at", self.at)


class Total(Bolt, StatefulComponent):
    outputs = []

    def init_state(self, stateful_state):
        self.state = stateful_state

    def initialize(self, config, context):
        self.seen = list(self.state.get("seen") or [])

    def pre_save(self, checkpoint_id):
        self.state.put("seen", self.seen)

    def process(self, tup):
        self.seen.append(tup.number)

    def on_finish(self):
        write_as("counted", sorted(self.seen))
