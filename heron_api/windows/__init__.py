"""Bolts over windows of tuples: by count, by processing time, by event time."""
