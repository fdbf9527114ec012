"""A serializer of the topology's own: values travel as it says, here as JSON with a mark."""

import json

import results

from heronpy_compat import Bolt, IHeronSerializer, Spout, Topology


class MarkedJson(IHeronSerializer):
    def initialize(self, config):
        self.mark = config["test.mark"]

    def serialize(self, obj):
        return json.dumps([self.mark, obj]).encode()

    def deserialize(self, input_str):
        mark, value = json.loads(input_str)
        return {"mark": mark, "value": value}


class Values(Spout):
    outputs = ["first", "second"]

    def initialize(self, config, context):
        self.rows = iter([["a", 1], ["b", [2, 3]]])

    def next_tuple(self):
        row = next(self.rows, None)
        if row is None:
            self.finish()
        else:
            self.emit(row)


class Keep(Bolt):
    def initialize(self, config, context):
        self.context, self.rows = context, []

    def process(self, tup):
        self.rows.append(tup.values)
        self.ack(tup)

    def on_finish(self):
        results.write(self.context, self.rows)


class Serializing(Topology):
    config = {"topology.serializer.classname": "serializing.MarkedJson", "test.mark": "marked"}

    values = Values.spec()
    keep = Keep.spec(inputs=[values])
