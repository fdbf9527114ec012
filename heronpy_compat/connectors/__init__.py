"""heronpy.connectors."""
