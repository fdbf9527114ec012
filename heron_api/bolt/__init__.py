"""heronpy.api.bolt."""
