"""Which modules are the library's: its classes are bases of users' classes."""

PACKAGES = ("heron_api.", "heron_connectors.", "heron_frontends.", "heronpy_compat.")
"""Prefixes of the modules that users import."""
LIBRARIES = (*PACKAGES, "pystorm.", "streamparse.")
"""The same with the packages of others whose API is answered here."""
