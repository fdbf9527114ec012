"""Whether whoever has a page open may change something."""

from collections.abc import Callable, Mapping

Refused = Callable[[Mapping[str, str], str], str]
"""Headers of the request for the page, and the topology -> why an action is refused; empty if it is
not."""
