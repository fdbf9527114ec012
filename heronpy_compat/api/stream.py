"""heronpy.api.stream."""

from heron_api.stream import CustomGrouping as CustomGrouping
from heron_api.stream import FieldGrouping as FieldGrouping
from heron_api.stream import Grouping as Grouping
from heron_api.stream import Outputs as Outputs
from heron_api.stream import PartialKeyGrouping as PartialKeyGrouping
from heron_api.stream import Stream as Stream
