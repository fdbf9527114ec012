"""Running totals that survive kills: what each customer has paid, exactly, whatever dies.

    heronpy run examples/running_totals.py

    payments ── by customer ── totals ── show

`kill -9` any of its processes while it runs: the totals at the end are the same. The source keeps
its position in its state, a total is keyed state, and both go back to the same checkpoint. Config:
`running_totals.payments` how many there are, `running_totals.secs` the pause between two.
"""

from time import sleep

from heronpy_compat import Bolt, Grouping, Spout, Topology
from heronpy_compat.api.state.keyed_state import value_state
from heronpy_compat.api.state.stateful_component import StatefulComponent

PAYMENTS = 5_000
CUSTOMERS = 7


class Payments(Spout, StatefulComponent):
    outputs = ["customer", "cents"]

    def init_state(self, state):
        self.state = state

    def initialize(self, config, context):
        self.total = int(config.get("running_totals.payments", PAYMENTS))
        self.secs = float(config.get("running_totals.secs", 0.001))

    def next_tuple(self):
        number = self.state.get("next", 0)
        if number >= self.total:
            self.finish()
            return
        self.emit([f"customer{number % CUSTOMERS}", number * number % 1000])
        self.state.put("next", number + 1)
        sleep(self.secs)  # so that there is something left to kill


class Totals(Bolt):
    outputs = ["customer", "total"]
    auto_ack = auto_anchor = True
    total = value_state(default=0)

    def process(self, tup):
        self.total.put(self.total.get() + tup["cents"])

    def on_finish(self):
        for customer, total in self.total.all_items():
            self.emit([customer, total])


class Show(Bolt):
    auto_ack = True

    def process(self, tup):
        print(f"{tup['customer']} has paid {tup['total'] / 100:.2f}")


class RunningTotals(Topology):
    config = {
        "topology.reliability.mode": "EFFECTIVELY_ONCE",
        "topology.stateful.checkpoint.interval.seconds": 1,
    }

    payments = Payments.spec()
    totals = Totals.spec(par=2, inputs={payments: Grouping.fields("customer")})
    show = Show.spec(inputs=[totals])
