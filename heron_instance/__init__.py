"""Runs one spout or bolt in a process of its own."""
