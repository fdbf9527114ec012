"""Input of an instance: what drives a bolt or a spout, and what anchors its tuples."""
