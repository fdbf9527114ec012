"""heronpy.api.spout.base_spout."""

from heron_api.spout.base_spout import BaseSpout as BaseSpout
