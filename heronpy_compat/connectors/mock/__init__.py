"""heronpy.connectors.mock."""
