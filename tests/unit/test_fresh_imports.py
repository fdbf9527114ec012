"""A test that loads a user's files leaves nothing of them, and our classes as they were."""

import sys
from pathlib import Path

import pytest

from tests.unit.imports_support import forget_imports


def test_a_users_modules_are_imported_anew_and_ours_only_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "spouts").mkdir()
    (tmp_path / "spouts" / "words.py").write_text("import heron_frontends.flux as flux\n")
    monkeypatch.syspath_prepend(tmp_path)
    before = set(sys.modules) - {"heron_frontends.flux", "colorsys"}
    import colorsys  # noqa: F401 (of Python)

    import spouts.words  # type: ignore[import-not-found]

    flux = spouts.words.flux
    forget_imports(before)
    assert not {"spouts", "spouts.words"} & set(sys.modules)
    assert "colorsys" in sys.modules
    assert sys.modules["heron_frontends.flux"] is flux
