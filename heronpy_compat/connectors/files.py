"""heronpy.connectors.files."""

from heron_connectors.files.sink import BYTES_PER_FILE as BYTES_PER_FILE
from heron_connectors.files.sink import FOLDER as FOLDER
from heron_connectors.files.sink import FORMAT as FORMAT
from heron_connectors.files.sink import LINES_PER_FILE as LINES_PER_FILE
from heron_connectors.files.sink import ROLL_SECS as ROLL_SECS
from heron_connectors.files.sink import FileSink as FileSink
from heron_connectors.files.spout import FileSpout as FileSpout
