"""Archives of a project and bundles of our own code, for other machines."""
