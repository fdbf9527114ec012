"""heronpy.api.bolt.windowed_bolt."""

from heron_api.windows.windowed_bolt import TupleWindow as TupleWindow
from heron_api.windows.windowed_bolt import WindowedBolt as WindowedBolt
