"""heronpy.api.tuple."""

from heron_api.tuple import Row as Row
from heron_api.tuple import Tuple as Tuple
from heron_api.tuple import TupleHelper as TupleHelper
