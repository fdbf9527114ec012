"""A runner for pipelines of Apache Beam's Python SDK.

    import apache_beam as beam
    from heronpy_compat.beam import HeronpyRunner

    with beam.Pipeline(runner=HeronpyRunner()) as pipeline:
        ...

or `--runner heronpy_compat.beam.HeronpyRunner`; docs/BEAM.md has the options and what passes.
"""

from heronpy_compat.beam.results import HeronpyResult as HeronpyResult
from heronpy_compat.beam.runner import HeronpyOptions as HeronpyOptions
from heronpy_compat.beam.runner import HeronpyRunner as HeronpyRunner
