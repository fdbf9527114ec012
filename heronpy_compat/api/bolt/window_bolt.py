"""heronpy.api.bolt.window_bolt."""

from heron_api.windows.window_bolt import SlidingWindowBolt as SlidingWindowBolt
from heron_api.windows.window_bolt import TumblingWindowBolt as TumblingWindowBolt
from heron_api.windows.window_bolt import WindowContext as WindowContext
