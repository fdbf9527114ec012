"""The one output stream of every source (heronpy.streamlet.impl.streamletspoutbase)."""

from heron_api.stream import Outputs, Stream
from heronpy_compat.streamlet.impl.streamletboltbase import OUTPUT_FIELD, OUTPUT_STREAM


class StreamletSpoutBase:
    """Mixed into the spouts of sources, behind Spout."""

    outputs: Outputs = [Stream(fields=[OUTPUT_FIELD], name=OUTPUT_STREAM)]
