"""Output of an instance: collector, routing, output buffers."""
