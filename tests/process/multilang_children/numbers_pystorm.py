"""A reliable spout on the installed pystorm: 50 numbers, and a record of its acks."""

import json
import os

from pystorm import ReliableSpout


class Numbers(ReliableSpout):
    def initialize(self, conf, context):
        self.waiting, self.acked = list(range(50)), []

    def next_tuple(self):
        if self.waiting:
            number = self.waiting.pop(0)
            self.emit([number], tup_id=number)
        else:
            self.send_message({"command": "finish"})

    def ack(self, tup_id):
        super().ack(tup_id)
        self.acked.append(tup_id)
        if len(self.acked) == 50:
            path = os.path.join(os.environ["TEST_RESULTS"], "acked")
            with open(f"{path}.part", "w") as file:
                json.dump(sorted(self.acked), file)
            os.rename(f"{path}.part", f"{path}.json")


Numbers().run()
