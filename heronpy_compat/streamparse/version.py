"""The version of streamparse that these modules answer for."""

__version__ = "5.0.1"
VERSION = (5, 0, 1)
