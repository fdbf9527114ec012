"""A thread that starts when the module is imported, and emits for a bolt that does not say so."""

import threading
from queue import SimpleQueue

from heronpy_compat import Bolt, Spout, Topology

WORK = SimpleQueue()


def work():
    while True:
        emit, values = WORK.get()
        emit(values)


threading.Thread(target=work, daemon=True).start()


class Numbers(Spout):
    outputs = ["number"]

    def initialize(self, config, context):
        self.number = 0

    def next_tuple(self):
        self.emit([self.number])
        self.number += 1


class Careless(Bolt):
    outputs = ["number"]

    def process(self, tup):
        WORK.put((self.emit, [tup.number]))


class Sink(Bolt):
    def process(self, tup):
        pass


class ModuleThread(Topology):
    config = {"topology.reliability.mode": "EFFECTIVELY_ONCE"}
    numbers = Numbers.spec()
    careless = Careless.spec(inputs=[numbers])
    sink = Sink.spec(inputs=[careless])
