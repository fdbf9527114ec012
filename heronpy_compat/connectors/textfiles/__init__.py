"""heronpy.connectors.textfiles."""
