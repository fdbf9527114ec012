"""A function of one bolt, as Storm's BasicDRPCTopology."""

from heronpy_compat.drpc import BaseBasicBolt, LinearDRPCTopologyBuilder


class Exclaim(BaseBasicBolt):
    outputs = ["id", "result"]

    def execute(self, tup, collector):
        request_id, text = tup.values
        collector.emit([request_id, text + "!"])


if __name__ == "__main__":
    builder = LinearDRPCTopologyBuilder("exclamation")
    builder.add_bolt(Exclaim, 3)
    builder.create_remote_topology("Drpc").build_and_submit()
