"""Topologies whose user code goes wrong, each in its own way."""

import os
import signal
import threading

from heronpy_compat import Bolt, Spout, Stream, Topology


class Numbers(Spout):
    outputs = ["number", Stream(["thing"], name="things")]

    def initialize(self, config, context):
        self.numbers = iter(range(int(config.get("test.numbers", 20))))

    def next_tuple(self):
        number = next(self.numbers, None)
        if number is None:
            self.finish()
        else:
            self.emit([number])


class Keep(Bolt):
    def process(self, tup):
        self.ack(tup)


class Raises(Bolt):
    def process(self, tup):
        if tup.values[0] % 10 == 3:
            raise ValueError(f"cannot stand {tup.values[0]}")
        if tup.values[0] % 10 == 7:
            self.emit([tup.values[0]])  # it declares no outputs
        self.ack(tup)


class NeverStarts(Bolt):
    def initialize(self, config, context):
        raise ValueError("no database\nat localhost:5432")

    def process(self, tup):
        self.ack(tup)


class SpoutNeverStarts(Numbers):
    def initialize(self, config, context):
        raise KeyError("test.missing")


class Exits(Bolt):
    def process(self, tup):
        os._exit(9)


class KilledOnce(Bolt):
    """The kernel's OOM killer finds it in the middle of its fifth tuple, and not its successor."""

    def process(self, tup):
        if tup.values[0] == 5:
            marker = os.path.join(os.environ["TEST_RESULTS"], "killed")
            if not os.path.exists(marker):
                open(marker, "w").close()
                os.kill(os.getpid(), signal.SIGKILL)
        self.ack(tup)


class ExitsPolitely(Bolt):
    def process(self, tup):
        raise SystemExit("enough")


class EmitsLock(Numbers):
    def next_tuple(self):
        number = next(self.numbers, None)
        if number is None:
            self.finish()
        elif number == 2:
            self.emit([threading.Lock()], stream="things")
        else:
            self.emit([number])


class EmitsTooMany(Numbers):
    def next_tuple(self):
        number = next(self.numbers, None)
        if number is None:
            self.finish()
        elif number == 2:
            self.emit([number, "one too many"])
        else:
            self.emit([number])


class EmitsTooMuch(Numbers):
    def next_tuple(self):
        number = next(self.numbers, None)
        if number is None:
            self.finish()
        elif number == 2:
            self.emit([b"x" * 20_000])
        else:
            self.emit([number])


class RaisesInProcess(Topology):
    numbers = Numbers.spec()
    picky = Raises.spec(inputs=[numbers])


class RaisesInInitialize(Topology):
    numbers = Numbers.spec()
    database = NeverStarts.spec(inputs=[numbers])


class SpoutRaisesInInitialize(Topology):
    numbers = SpoutNeverStarts.spec()
    keep = Keep.spec(inputs=[numbers])


class DiesInProcess(Topology):
    numbers = Numbers.spec()
    dies = Exits.spec(inputs=[numbers])


class KilledInProcess(Topology):
    numbers = Numbers.spec()
    victim = KilledOnce.spec(inputs=[numbers])


class LeavesInProcess(Topology):
    numbers = Numbers.spec()
    leaves = ExitsPolitely.spec(inputs=[numbers])


class NotSerialisable(Topology):
    numbers = EmitsLock.spec()
    keep = Keep.spec(inputs=[numbers, numbers["things"]])


class WrongWidth(Topology):
    numbers = EmitsTooMany.spec()
    keep = Keep.spec(inputs=[numbers])


class TooLarge(Topology):
    config = {"topology.message.bytes.max": 10_000}

    numbers = EmitsTooMuch.spec()
    keep = Keep.spec(inputs=[numbers])
