"""Dead letters: where they are written, listed and emitted again."""
