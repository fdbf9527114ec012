"""heronpy.streamlet."""
