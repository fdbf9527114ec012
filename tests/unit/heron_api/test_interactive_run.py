"""Where a topology of a prompt runs, and what cannot be sent from there."""

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from heron_api import interactive_run, submissions
from heron_api.component.local_classes import class_path_of
from heron_core.errors import TopologyError
from heron_core.topology import ComponentSpec, StreamSpec, TopologySpec
from heronpy_compat import Bolt


def test_a_notebook_is_known_by_its_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program may import IPython for other reasons."""
    monkeypatch.delattr(sys, "ps1", raising=False)
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    assert not interactive_run.is_interactive()
    shells: list[Any] = [None]
    module: Any = SimpleNamespace(get_ipython=lambda: shells[0])
    monkeypatch.setitem(sys.modules, "IPython", module)
    assert not interactive_run.is_interactive()
    shells[0] = object()
    assert interactive_run.is_interactive()


def test_a_class_of_a_prompt_that_cannot_be_sent_is_an_error_with_the_cure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    main: Any = ModuleType("__main__")
    main.Keeps = type("Keeps", (), {"__module__": "__main__", "held": (each for each in "a")})
    monkeypatch.setitem(sys.modules, "__main__", main)
    streams = (StreamSpec("default", ("word",)),)
    keeps = ComponentSpec("keeps", True, "__main__.Keeps", 1, streams, (), {})
    with pytest.raises(TopologyError, match="topology 't': its classes cannot be sent to other"):
        interactive_run.run(TopologySpec("t", (keeps,), {}))


def test_a_class_of_a_function_is_sent_by_value_under_a_name_of_its_own() -> None:
    def made(word: str) -> type:
        class Says(Bolt):
            def process(self, tup: Any) -> str:
                return word

        return Says

    kinds = [made("a"), made("b")]
    components = tuple(
        ComponentSpec(f"says{at}", False, class_path_of(kind), 1, (), (), {})
        for at, kind in enumerate(kinds)
    )
    text = interactive_run.file_text(TopologySpec("t", components, {}))
    with submissions.capture_submissions() as submitted:
        namespace: dict[str, Any] = {}
        exec(text, namespace)
    (spec,) = submitted
    names = [each.class_path.removeprefix("__main__.") for each in spec.components]
    assert [namespace[name].process(None, None) for name in names] == ["a", "b"]
