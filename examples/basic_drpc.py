"""Storm's BasicDRPCTopology: a function of one bolt, which adds an exclamation mark.

heronpy drpc
heronpy run examples/basic_drpc.py
curl -d hello http://127.0.0.1:3774/drpc/exclamation
"""

from heronpy_compat.drpc import BaseBasicBolt, LinearDRPCTopologyBuilder


class ExclaimBolt(BaseBasicBolt):
    outputs = ["id", "result"]

    def execute(self, tup, collector):
        request_id, text = tup.values
        collector.emit([request_id, text + "!"])


def construct():
    builder = LinearDRPCTopologyBuilder("exclamation")
    builder.add_bolt(ExclaimBolt, 3)
    return builder


if __name__ == "__main__":
    construct().create_remote_topology("BasicDRPC").build_and_submit()
