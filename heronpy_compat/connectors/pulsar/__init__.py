"""heronpy.connectors.pulsar."""
