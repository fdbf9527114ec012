"""heronpy.api.component."""
