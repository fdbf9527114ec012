"""heronpy.connectors.hbase."""

from heron_connectors.hbase.sink import BATCH_ROWS as BATCH_ROWS
from heron_connectors.hbase.sink import CONNECT as CONNECT
from heron_connectors.hbase.sink import FAMILY as FAMILY
from heron_connectors.hbase.sink import HOST as HOST
from heron_connectors.hbase.sink import KEY_FIELDS as KEY_FIELDS
from heron_connectors.hbase.sink import PORT as PORT
from heron_connectors.hbase.sink import SEPARATOR as SEPARATOR
from heron_connectors.hbase.sink import TABLE as TABLE
from heron_connectors.hbase.sink import HBaseSink as HBaseSink
