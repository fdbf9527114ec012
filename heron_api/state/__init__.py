"""heronpy.api.state."""
