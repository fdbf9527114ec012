"""heronpy.api.bolt.keyed_process_bolt."""

from heron_api.windows.keyed_process_bolt import KeyedProcessBolt as KeyedProcessBolt
