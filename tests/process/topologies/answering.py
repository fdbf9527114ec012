"""A function that takes the time it is told, raises, fails, loses its tuple, or answers 12 MiB."""

import time

from heronpy_compat import Topology
from heronpy_compat.drpc import BaseBasicBolt, DRPCSpout, FailedException, ReturnResults


class Slow(BaseBasicBolt):
    outputs = ["result", "return-info"]

    def execute(self, tup, collector):
        text, info = tup.values
        match text:
            case "raise":
                raise ValueError("told to raise")
            case "fail":
                raise FailedException("told to fail")
            case "large":
                text = "x" * (12 << 20)
                collector.emit([text, info])
                return
            case "loses":
                collector.emit(["x", '{"id": "nobody", "host": "127.0.0.1", "port": 1}'])
                return
        time.sleep(float(text))
        collector.emit([text, info])


class Answering(Topology):
    config = {"topology.reliability.mode": "ATLEAST_ONCE", "topology.message.timeout.secs": 3}

    requests = DRPCSpout.spec(function="slow")
    slow = Slow.spec(par=2, inputs=[requests])
    back = ReturnResults.spec(inputs=[slow])
