"""Mutations that no test can notice, or none should: each with its reason."""

KNOWN: dict[tuple[str, str, str, str], str] = {
    ("heron_instance/checkpointing.py", "Checkpointing.trigger", "0", "(1)"): (
        "source and destination of a barrier that begins here: it is only passed on, with others"
    ),
}
"""(path, function, before, after) -> why it lives."""
