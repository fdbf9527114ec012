"""Trident's states: maps that know the transaction of each value."""
