"""Which version of heronpy this is, and which protocol its processes speak."""

VERSION = "0.2.0"
"""Also of the distribution that is made of this (pyproject.toml)."""
PROTOCOL = 9
"""Of everything that processes of a topology send each other. Engines of the same number understand
each other, whatever their versions; a change of the wire (docs/PROTOCOL.md) is another number."""


def version_of_heronpy() -> str:
    """As its code says."""
    return VERSION


def engine_text(version: str, protocol: int) -> str:
    """An engine, for people."""
    return f"heronpy {version} (protocol {protocol})"


def other_engine(who: str, version: str, protocol: int) -> str:
    """Why an engine of another protocol is refused, and the cure, in one line."""
    return (
        f"{who} runs {engine_text(version, protocol)}, which is not compatible with "
        f"{engine_text(VERSION, PROTOCOL)} here: run `heronpy kill --savepoint` with the old "
        "version, then `heronpy submit --from-savepoint` with the new one"
    )
