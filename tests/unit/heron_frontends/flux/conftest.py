"""A project of Python classes beside a Flux file, and how it is loaded."""

from collections.abc import Callable
from textwrap import dedent

import pytest

from heron_core.errors import TopologyError
from heron_core.topology import TopologySpec
from tests.unit.heron_frontends.flux.flux_texts import COMPONENTS, WORDS

Load = Callable[..., TopologySpec]
Refused = Callable[..., str]


@pytest.fixture
def load(write: Callable[[str, str], str]) -> Load:
    """Writes parts.py and the given text as t.yaml, and loads it."""

    def load_text(text: str = WORDS, *, name: str | None = None, use_environment: bool = False,
                  **properties: str) -> TopologySpec:  # fmt: skip
        from heron_frontends.flux import load_flux

        write("parts.py", COMPONENTS)
        path = write("t.yaml", dedent(text))
        return load_flux(path, name, properties, use_environment)

    return load_text


@pytest.fixture
def refused(load: Load) -> Refused:
    """The one line that a text is refused with."""

    def error_of(text: str, **options: str) -> str:
        with pytest.raises(TopologyError) as caught:
            load(text, **options)
        line = str(caught.value)
        assert "\n" not in line
        return line

    return error_of
