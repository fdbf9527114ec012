"""Coordinates one topology: physical plan, membership, lifecycle, metrics."""
