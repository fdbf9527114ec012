"""heronpy.connectors.spark."""

from heron_connectors.spark.folder import FOLDER as FOLDER
from heron_connectors.spark.folder import REMOVE as REMOVE
from heron_connectors.spark.folder import SparkSink as SparkSink
from heron_connectors.spark.folder import SparkSpout as SparkSpout
