"""heronpy.api."""
