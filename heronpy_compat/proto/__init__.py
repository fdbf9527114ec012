"""heronpy.proto."""
