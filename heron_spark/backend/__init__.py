"""A query in the background: its process, the commands that it answers, what workers are sent."""
