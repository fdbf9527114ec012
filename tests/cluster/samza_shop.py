"""A Samza job over Kafka: counts clicks with the price of a bootstrap stream and the rate of a
broadcast stream. Its processes kill themselves at steps of a commit, each once, where a file says
so: beside this file, called kill-STEP, with the number of the call."""

import os
import signal
from contextlib import suppress
from pathlib import Path

from heronpy_compat.samza import InitableTask, OutgoingMessageEnvelope, StreamTask, SystemStream
from heronpy_compat.samza.kafka_system import KafkaLog
from heronpy_compat.samza.local_copies import DiskCopy
from heronpy_compat.samza.task_checkpoints import LogCheckpoints

SOLD = SystemStream("kafka", "{name}-sold")
MESSAGES_OF_A_COMMIT = 20
FOLDER = Path(__file__).parent
STEPS = {
    "changelog": (KafkaLog, "append"),
    "copy": (DiskCopy, "apply"),
    "offsets": (LogCheckpoints, "write"),
}


def kill_at(step):
    kind, method = STEPS[step]
    real, file, calls = getattr(kind, method), FOLDER / f"kill-{step}", [0]

    def called(*arguments):
        calls[0] += 1
        with suppress(FileNotFoundError):
            if calls[0] > int(file.read_text()):
                file.unlink()  # one process has it
                os.kill(os.getpid(), signal.SIGKILL)
        return real(*arguments)

    setattr(kind, method, called)


for each in STEPS:
    kill_at(each)


class Shop(StreamTask, InitableTask):
    def init(self, context):
        self.counts = context.get_store("counts")
        self.rates, self.prices, self.number = [], {}, 0

    def process(self, envelope, collector, coordinator):
        stream = envelope.system_stream_partition.stream
        if stream.endswith("-rates"):
            self.rates.append(envelope.message)
        elif stream.endswith("-prices"):
            self.prices[envelope.key] = envelope.message
        else:
            self.click(envelope.key, collector)
            self.number += 1
            if self.number % MESSAGES_OF_A_COMMIT == 0:
                coordinator.commit()

    def click(self, key, collector):
        count = (self.counts.get(key) or 0) + 1
        self.counts.put(key, count)
        row = [count, self.prices.get(key), self.rates]
        collector.send(OutgoingMessageEnvelope(SOLD, key, row))
