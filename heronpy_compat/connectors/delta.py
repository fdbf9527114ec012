"""heronpy.connectors.delta."""

from heron_connectors.delta import PARTITION_BY as PARTITION_BY
from heron_connectors.delta import SCHEMA_MODE as SCHEMA_MODE
from heron_connectors.delta import STORAGE as STORAGE
from heron_connectors.delta import TABLE as TABLE
from heron_connectors.delta import TYPES as TYPES
from heron_connectors.delta import DeltaSink as DeltaSink
