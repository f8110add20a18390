"""The process that Spark's Python workers are forked from: PySpark's own, without Spark's archives on the path.

For each task a worker invalidates Python's import caches, and Python 3.11 then reads anew the directory of every archive that something was
imported from: pyspark.zip, py4j's and spark-core's jar, which Spark puts first on the path. That is 0.3 s of each task's processor, whatever
the task does. Where Spark itself lies in an installed package, the package has all that the archives have.
"""

from __future__ import annotations

import os
import sys
from importlib.machinery import PathFinder

_ARCHIVES = (".jar", ".zip")


def without_archives(path: list[str], spark_home: str | None) -> list[str]:
    """The path without Spark's archives, if PySpark is found there in the very package that Spark lies in."""
    rest = [entry for entry in path if not entry.endswith(_ARCHIVES)]
    package = PathFinder.find_spec("pyspark", rest)
    found = list(package.submodule_search_locations or []) if package else []
    return rest if spark_home and os.path.realpath(spark_home) in map(os.path.realpath, found) else path


if __name__ == "__main__":
    sys.path[:] = without_archives(sys.path, os.environ.get("SPARK_HOME"))
    sys.path_importer_cache.clear()

    from pyspark.daemon import manager

    manager()
