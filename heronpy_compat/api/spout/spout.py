"""heronpy.api.spout.spout."""

from heron_api.spout.spout import Spout as Spout
