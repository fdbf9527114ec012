"""pystorm's names: what Storm components in Python are derived from (pystorm 3.1.4).

`import pystorm` leads here where pystorm is not installed (loading.aliases). The classes
speak Storm's multi-lang protocol over their streams when `run()` is called; an instance of ours
never calls it but drives them directly (heron_frontends.adapters.storm).
"""

from heronpy_compat.pystorm.bolt import BatchingBolt, Bolt, TicklessBatchingBolt
from heronpy_compat.pystorm.component import Component, Tuple
from heronpy_compat.pystorm.spout import ReliableSpout, Spout
from heronpy_compat.pystorm.version import VERSION, __version__

__all__ = [
    "VERSION",
    "BatchingBolt",
    "Bolt",
    "Component",
    "ReliableSpout",
    "Spout",
    "TicklessBatchingBolt",
    "Tuple",
    "__version__",
]
