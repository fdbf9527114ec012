"""The release of pystorm whose behaviour this package has."""

__version__ = "3.1.4"
VERSION = (3, 1, 4)
