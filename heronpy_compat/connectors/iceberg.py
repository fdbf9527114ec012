"""heronpy.connectors.iceberg."""

from heron_connectors.iceberg.sink import CATALOG as CATALOG
from heron_connectors.iceberg.sink import CATALOG_PROPERTIES as CATALOG_PROPERTIES
from heron_connectors.iceberg.sink import PARTITION_BY as PARTITION_BY
from heron_connectors.iceberg.sink import SCHEMA_MODE as SCHEMA_MODE
from heron_connectors.iceberg.sink import TABLE as TABLE
from heron_connectors.iceberg.sink import TYPES as TYPES
from heron_connectors.iceberg.sink import IcebergSink as IcebergSink
