"""The installed streamparse's Thrift interface, without the package itself: other tests of the same
process want `streamparse` to be ours."""

from importlib.metadata import distribution
from importlib.util import module_from_spec, spec_from_file_location
from typing import Any


def _loaded() -> Any:
    path = str(distribution("streamparse").locate_file("streamparse/thrift.py"))
    spec = spec_from_file_location("installed_storm", path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


installed = _loaded()
