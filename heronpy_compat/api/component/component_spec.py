"""heronpy.api.component.component_spec."""

from heron_api.component.component_spec import GlobalStreamId as GlobalStreamId
from heron_api.component.component_spec import HeronComponentSpec as HeronComponentSpec
from heron_api.component.component_spec import arriving_config as arriving_config
from heron_api.component.component_spec import check_config as check_config
from heron_api.component.component_spec import checked_outputs as checked_outputs
