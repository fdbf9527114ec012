"""State backends that keep state outside of memory."""
