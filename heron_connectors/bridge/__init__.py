"""The bridge between a client's process and the ends of a topology (docs/MATERIALIZE.md)."""
