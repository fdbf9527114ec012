"""heronpy.streamlet.impl: the bolts, spouts and groupings that streamlets are built of."""
