"""The lines of a file go into files, effectively once; slowly, until the file `enough` is there.

Config: `lines.folder` has `lines.txt`; `file.folder` is where they go.
"""

import os
import time

from heronpy_compat import Topology
from heronpy_compat.connectors.files import FileSink, FileSpout

PACE_SECS = 0.001


class Lines(FileSpout):
    def initialize(self, config, context):
        folder = config["lines.folder"]
        path = os.path.join(folder, "lines.txt")
        super().initialize({**config, "library.file.path": path}, context)
        self.end, self.is_fast = os.path.join(folder, "enough"), False

    def next_tuple(self):
        if not self.is_fast:
            time.sleep(PACE_SECS)
            self.is_fast = os.path.exists(self.end)
        super().next_tuple()


class LinesToFiles(Topology):
    config = {
        "topology.reliability.mode": "EFFECTIVELY_ONCE",
        "topology.stateful.checkpoint.interval.seconds": 0.2,
    }
    lines = Lines.spec()
    written = FileSink.spec(inputs=[lines])
