"""The changes of a table of Postgres go into files, effectively once.

Config: `postgres.*` and `file.folder`. Each line has the number of a row, its change's place in the
log, and how it was changed.
"""

from heronpy_compat import Topology
from heronpy_compat.connectors.files import FileSink
from heronpy_compat.connectors.postgres import PostgresChangesSpout


class Changes(PostgresChangesSpout):
    outputs = ["operation", "after", "lsn", "index"]


class PostgresChanges(Topology):
    config = {
        "topology.reliability.mode": "EFFECTIVELY_ONCE",
        "topology.stateful.checkpoint.interval.seconds": 0.2,
    }
    changes = Changes.spec()
    written = FileSink.spec(inputs=[changes], config={"file.format": "json"})
