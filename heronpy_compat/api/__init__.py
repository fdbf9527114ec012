"""heronpy's API: `heronpy_compat.api.X` answers what `heronpy.api.X` does."""
