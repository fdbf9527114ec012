"""Names of settings that Java components have, too: components.java sets them."""

PATH = "library.file.path"
"""Config key: a file, a folder or a glob pattern, relative to the directory where the topology is
started. Files that end with .gz, .bz2, .xz and .zst are read as what is compressed in them."""
WORDS = "library.random.words"
"""Config key: a list of texts to choose from."""
