"""heronpy.api.bolt.base_bolt."""

from heron_api.bolt.base_bolt import BaseBolt as BaseBolt
