"""heronpy.connectors.tables."""

from heron_connectors.tables.source import COLUMNS as COLUMNS
from heron_connectors.tables.source import DELIMITER as DELIMITER
from heron_connectors.tables.source import ENCODING as ENCODING
from heron_connectors.tables.source import FOLLOW as FOLLOW
from heron_connectors.tables.source import FOLLOW_SECS as FOLLOW_SECS
from heron_connectors.tables.source import FORMAT as FORMAT
from heron_connectors.tables.source import HEADER as HEADER
from heron_connectors.tables.source import LAG_MS as LAG_MS
from heron_connectors.tables.source import PATH as PATH
from heron_connectors.tables.source import QUOTE as QUOTE
from heron_connectors.tables.source import ROWS_PER_TUPLE as ROWS_PER_TUPLE
from heron_connectors.tables.source import TIMESTAMP_FIELD as TIMESTAMP_FIELD
from heron_connectors.tables.source import TYPES as TYPES
from heron_connectors.tables.source import TableSource as TableSource
from heron_connectors.tables.source import TableSpout as TableSpout
