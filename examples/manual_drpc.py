"""Storm's ManualDRPC: the spout of requests and the bolt that answers, with a bolt between them.

heronpy drpc
heronpy run examples/manual_drpc.py
curl -d aaa http://127.0.0.1:3774/drpc/exclamation
"""

from heronpy_compat import Topology
from heronpy_compat.drpc import BaseBasicBolt, DRPCSpout, ReturnResults


class ExclamationBolt(BaseBasicBolt):
    outputs = ["result", "return-info"]

    def execute(self, tup, collector):
        text, return_info = tup.values
        collector.emit([text + "!!!", return_info])


class ManualDRPC(Topology):
    config = {"topology.reliability.mode": "ATLEAST_ONCE"}

    drpc = DRPCSpout.spec(function="exclamation")
    exclaim = ExclamationBolt.spec(par=3, inputs=[drpc])
    results = ReturnResults.spec(par=3, inputs=[exclaim])
