"""heronpy.connectors.parquet."""

from heron_connectors.files.parquet import FOLDER as FOLDER
from heron_connectors.files.parquet import ID_FIELD as ID_FIELD
from heron_connectors.files.parquet import PARTITION_BY as PARTITION_BY
from heron_connectors.files.parquet import ROLL_SECS as ROLL_SECS
from heron_connectors.files.parquet import ROWS_PER_FILE as ROWS_PER_FILE
from heron_connectors.files.parquet import SCHEMA_MODE as SCHEMA_MODE
from heron_connectors.files.parquet import TYPES as TYPES
from heron_connectors.files.parquet import ParquetSink as ParquetSink
