"""YARN: an application master of ours asks for containers and keeps them running."""
