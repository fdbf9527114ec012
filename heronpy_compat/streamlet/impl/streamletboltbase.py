"""The one output stream of every stage (heronpy.streamlet.impl.streamletboltbase)."""

from collections.abc import Sequence

from heronpy_compat.api.stream import Stream

OUTPUT_STREAM = "output"
OUTPUT_FIELD = "_output_"


class StreamletBoltBase:
    """Mixed into the bolts of stages, behind Bolt."""

    outputs: Sequence[str | Stream] = [Stream(fields=[OUTPUT_FIELD], name=OUTPUT_STREAM)]
