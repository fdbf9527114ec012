"""heronpy.api.bolt.batch_bolt."""

from heron_api.bolt.batch_bolt import BatchBolt as BatchBolt
