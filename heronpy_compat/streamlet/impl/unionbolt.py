"""union (heronpy.streamlet.impl.unionbolt)."""

from heronpy_compat.streamlet.impl.stage import ElementBolt, StageStreamlet


class UnionBolt(ElementBolt):
    """Emits every element as it is."""


class UnionStreamlet(StageStreamlet):
    """What `Streamlet.union` returns; it has as many partitions as the left one."""

    prefix = "union"
    bolt = UnionBolt
    begins_chain = True
