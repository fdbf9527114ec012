"""Mutated frames and messages against everything that takes bytes from another process."""
