"""The back ends by name, for the command line."""

from heron_engine.scheduler.backends.local import LocalBackend
from heron_engine.scheduler.backends.protocol import Backend

LOCAL, SPARK = "local", "spark"
KINDS = (LOCAL, SPARK)


def local_backend() -> Backend:
    """All containers are processes of this machine."""
    return LocalBackend()


def spark_backend(
    master: str, settings: tuple[str, ...] = (), python: str | None = None, is_barrier: bool = False
) -> Backend:
    """All containers are tasks of Spark at `master`; `settings` are `spark.key=value` words.

    UsageError for what is no master or no setting.
    """
    from heron_engine.scheduler.backends.spark.backend import SparkBackend
    from heron_engine.scheduler.backends.spark.render import DriverOptions, parsed_settings

    return SparkBackend(DriverOptions(master, parsed_settings(settings), python, is_barrier))
