"""heronpy.api.bolt.keyed_window_bolt."""

from heron_api.windows.keyed_window_bolt import EventWindowBolt as EventWindowBolt
from heron_api.windows.keyed_window_bolt import KeyedWindowBolt as KeyedWindowBolt
