"""Modules that containers import before they fork."""

import logging
import sys

import pytest

from heron_core.topology import ComponentSpec, TopologySpec
from heron_engine.scheduler.container import heavy_modules
from heron_engine.scheduler.container.heavy_modules import import_heavy


def topology(*class_paths: str) -> TopologySpec:
    components = [
        ComponentSpec(f"c{at}", True, class_path, 1) for at, class_path in enumerate(class_paths)
    ]
    return TopologySpec("beam", tuple(components))


def test_only_shared_modules_are_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heavy_modules, "SHARED", ("xml.dom.",))
    for name in ("xml.dom.pulldom", "wsgiref.util"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    import_heavy(topology("xml.dom.pulldom.PullDOM", "wsgiref.util.FileWrapper"))
    assert "xml.dom.pulldom" in sys.modules
    assert "wsgiref.util" not in sys.modules


def test_a_module_that_is_missing_is_left_to_the_instances(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(heavy_modules, "SHARED", ("not_installed.",))
    with caplog.at_level(logging.WARNING):
        import_heavy(topology("not_installed.bolts.Bolt"))
    assert "not_installed.bolts is not imported" in caplog.text


def test_beams_bolts_are_shared() -> None:
    path = "heronpy_compat.beam.stage_bolt.StageBolt"
    assert path.startswith(heavy_modules.SHARED)
