"""heronpy.connectors.frames."""

from heron_connectors.spark.frames import BY_COLUMNS as BY_COLUMNS
from heron_connectors.spark.frames import FED as FED
from heron_connectors.spark.frames import FRAME as FRAME
from heron_connectors.spark.frames import FUNCTION as FUNCTION
from heron_connectors.spark.frames import OPTIONS as OPTIONS
from heron_connectors.spark.frames import SCHEMA as SCHEMA
from heron_connectors.spark.frames import SPARK_FORMAT as SPARK_FORMAT
from heron_connectors.spark.frames import FrameSpout as FrameSpout
from heron_connectors.spark.frames import check_without_spark as check_without_spark
from heron_connectors.spark.frames import is_frame as is_frame
from heron_connectors.spark.frames import problem_without_spark as problem_without_spark
