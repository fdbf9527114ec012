"""heronpy.api.emission."""

from heron_api.emission import Emission as Emission
