"""The import path of Spark's Python workers."""

from pathlib import Path

import pyarrow as pa
import pyspark
from pyspark.sql import SparkSession

from jobs.spark.python_daemon import without_archives

HOME = Path(pyspark.__file__).parent
ARCHIVES = ["/spark/python/lib/pyspark.zip", "/spark/python/lib/py4j-0.10.9.9-src.zip", "/spark/jars/spark-core_2.13-4.1.3.jar"]


def test_archives_are_removed_if_spark_is_in_the_installed_package() -> None:
    path = ["/project", *ARCHIVES, str(HOME.parent)]
    assert without_archives(path, str(HOME)) == ["/project", str(HOME.parent)]


def test_archives_of_another_spark_remain() -> None:
    for spark_home, path in (
        (None, [*ARCHIVES, str(HOME.parent)]),
        ("/spark", [*ARCHIVES, str(HOME.parent)]),
        (str(HOME), [*ARCHIVES, "/nothing"]),
    ):
        assert without_archives(path, spark_home) == path


def test_workers_import_nothing_from_an_archive(spark: SparkSession) -> None:
    def archives(batches):  # type: ignore[no-untyped-def]
        import sys

        for _ in batches:
            pass
        yield pa.record_batch({"path": [path for path in sys.path if path.endswith((".jar", ".zip"))]}, pa.schema([("path", pa.string())]))

    assert spark.range(1).mapInArrow(archives, "path STRING").collect() == []
