"""Clusters by name: their files, and the back end that each leads to."""
