"""Names of settings that Java components have, too: components.java sets them."""

WORDS = "library.random.words"
"""Config key: a list of texts to choose from."""
