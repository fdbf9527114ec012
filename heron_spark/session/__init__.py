"""Topologies in the session of a user's program: queries, DataFrames, data source and sink."""
