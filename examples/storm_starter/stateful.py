"""Two sums that survive kills: of the integers, and of what the first one emitted.

    heronpy run examples/storm_starter/stateful.py

storm-starter's StatefulTopology. `kill -9` any process while it runs: the last totals are the same.
"""

from integers import RandomIntegers

from heronpy_compat import Bolt, Topology
from heronpy_compat.api.state.stateful_component import StatefulComponent


class StatefulIntegers(RandomIntegers, StatefulComponent):
    """Storm's spout emits again what failed; here a restored spout goes on from its state."""

    def init_state(self, state):
        self.state = state

    def next_tuple(self):
        done = self.state.get("done", 0)
        if done < len(self.left):
            number, value = self.left[done]
            self.emit([value, 0, number])
            self.state.put("done", done + 1)
        else:
            self.finish()


class StatefulSum(Bolt, StatefulComponent):
    outputs = ["value"]
    auto_ack = auto_anchor = True

    def init_state(self, state):
        self.state = state
        self.sum = state.get("sum", 0)

    def process(self, tup):
        self.sum += tup["value"]
        self.state.put("sum", self.sum)
        self.emit([self.sum])


class PrintAndPass(Bolt):
    outputs = ["value"]
    auto_ack = auto_anchor = True

    def process(self, tup):
        print("partial", tup["value"], flush=True)
        self.emit(list(tup.values))


class PrintTotal(Bolt):
    auto_ack = True

    def process(self, tup):
        print("total", tup["value"], flush=True)


class Stateful(Topology):
    config = {
        "topology.reliability.mode": "EFFECTIVELY_ONCE",
        "topology.stateful.checkpoint.interval.seconds": 1,
    }

    spout = StatefulIntegers.spec()
    partialsum = StatefulSum.spec(inputs=[spout])
    printer = PrintAndPass.spec(par=2, inputs=[partialsum])
    total = StatefulSum.spec(inputs=[printer])
    totals = PrintTotal.spec(inputs=[total])
