"""Beam's tests of each runner (`it_validatesrunner`), on HeronpyRunner in the tester."""

import unittest
from importlib import import_module
from typing import Any

from apache_beam.testing.test_pipeline import TestPipeline

MARK = "it_validatesrunner"
MODULES = (
    "metrics.metric_test",
    "pipeline_test",
    "transforms.combinefn_lifecycle_test",
    "transforms.combiners_test",
    "transforms.deduplicate_test",
    "transforms.dofn_lifecycle_test",
    "transforms.ptransform_test",
    "transforms.sideinputs_test",
    "transforms.util_test",
)

TestPipeline.pytest_test_pipeline_options = (
    "--runner=heronpy_compat.beam.HeronpyRunner --engine=tester --parallelism=2"
)


def marked(case: Any) -> Any:
    """The case with the marked tests alone; None without any."""
    names = [name for name in dir(case) if name.startswith("test")]
    others = {name: None for name in names if not _is_marked(getattr(case, name))}
    return type(case.__name__, (case,), others) if len(others) < len(names) else None


def _is_marked(test: Any) -> bool:
    return any(mark.name == MARK for mark in getattr(test, "pytestmark", ()))


for _name in MODULES:
    for _case in vars(import_module(f"apache_beam.{_name}")).values():
        is_case = isinstance(_case, type) and issubclass(_case, unittest.TestCase)
        if is_case and (_marked := marked(_case)) is not None:
            globals()[f"{_name}_{_case.__name__}".replace(".", "_")] = _marked
