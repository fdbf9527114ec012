"""heronpy.api.component.component_spec."""

from heron_api.component.component_spec import GlobalStreamId as GlobalStreamId
from heron_api.component.component_spec import HeronComponentSpec as HeronComponentSpec
