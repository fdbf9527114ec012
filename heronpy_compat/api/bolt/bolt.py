"""heronpy.api.bolt.bolt."""

from heron_api.bolt.bolt import Bolt as Bolt
