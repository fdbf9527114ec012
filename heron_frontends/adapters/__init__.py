"""What lets the engine drive components that were written for other APIs."""
