"""heronpy.api.bolt.batch_window_bolt."""

from heron_api.windows.batch_window_bolt import BatchRunner as BatchRunner
from heron_api.windows.batch_window_bolt import BatchWindowBolt as BatchWindowBolt
