"""Talks to a running topology's master, for the commands."""

from heron_io.master_client import MasterClient

__all__ = ["MasterClient"]
