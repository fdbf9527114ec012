"""Benchmarks: the same work done by the engine and by its peers, in turn, on one machine."""
