"""PySpark's process that forks Python workers, without Spark's archives on the import path.

A worker invalidates Python's import caches before each task. Python 3.11 then reads the directory of each archive again that a module was
imported from: pyspark.zip, py4j's and spark-core's jar, which Spark puts first on the path. That costs 0.3 s of processor time per task. An
installed PySpark package contains the same modules as the archives.
"""

from __future__ import annotations

import os
import sys
from importlib.machinery import PathFinder

_ARCHIVES = (".jar", ".zip")


def without_archives(path: list[str], spark_home: str | None) -> list[str]:
    """Return the path without Spark's archives if PySpark's package in SPARK_HOME is on it, otherwise the whole path."""
    folders = [entry for entry in path if not entry.endswith(_ARCHIVES)]
    package = PathFinder.find_spec("pyspark", folders)
    locations = list(package.submodule_search_locations or []) if package else []
    return folders if spark_home and os.path.realpath(spark_home) in map(os.path.realpath, locations) else path


if __name__ == "__main__":
    sys.path[:] = without_archives(sys.path, os.environ.get("SPARK_HOME"))
    sys.path_importer_cache.clear()

    from pyspark.daemon import manager

    manager()
