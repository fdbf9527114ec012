"""heronpy.api.spout."""
