"""The one output stream of every stage (heronpy.streamlet.impl.streamletboltbase)."""

from heron_api.stream import Outputs, Stream

OUTPUT_STREAM = "output"
OUTPUT_FIELD = "_output_"


class StreamletBoltBase:
    """Mixed into the bolts of stages, behind Bolt."""

    outputs: Outputs = [Stream(fields=[OUTPUT_FIELD], name=OUTPUT_STREAM)]
