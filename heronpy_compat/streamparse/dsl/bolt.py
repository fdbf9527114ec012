"""Specifications of bolts (streamparse.dsl.bolt)."""

from heronpy_compat.streamparse.dsl.component import JavaComponentSpec, ShellComponentSpec


class ShellBoltSpec(ShellComponentSpec):
    """A bolt that is a program or a Python class."""


class JavaBoltSpec(JavaComponentSpec):
    """A bolt that is a Java class."""
