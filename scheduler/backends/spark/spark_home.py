"""Spark's own folder."""

import os


def spark_home() -> str:
    """The installed pyspark's, or SPARK_HOME."""
    from pyspark.find_spark_home import _find_spark_home

    return str(_find_spark_home())


def linked_home(folder: str) -> str:
    """Spark's folder under another name in `folder`, for SPARK_HOME: the workers of a local cluster
    have no setting for where they work, and take the folder `work` of that."""
    real, linked = spark_home(), os.path.join(folder, "home")
    os.makedirs(os.path.join(linked, "work"))
    for each in os.listdir(real):
        if each != "work":
            os.symlink(os.path.join(real, each), os.path.join(linked, each))
    return linked
