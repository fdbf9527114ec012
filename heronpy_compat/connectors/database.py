"""heronpy.connectors.database."""

from heron_connectors.database.sink import COLUMNS as COLUMNS
from heron_connectors.database.sink import CONNECT as CONNECT
from heron_connectors.database.sink import DIALECTS as DIALECTS
from heron_connectors.database.sink import MODULE as MODULE
from heron_connectors.database.sink import SCHEMA_MODE as SCHEMA_MODE
from heron_connectors.database.sink import STATEMENT as STATEMENT
from heron_connectors.database.sink import TABLE as TABLE
from heron_connectors.database.sink import DatabaseSink as DatabaseSink
