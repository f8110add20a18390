"""Hadoop's file systems, through Spark's JVM."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def hadoop_path(spark: SparkSession, uri: str) -> tuple[Any, Any]:
    """Return the Java objects FileSystem and Path for a URI."""
    jvm: Any = spark._jvm
    path = jvm.org.apache.hadoop.fs.Path(uri)
    return path.getFileSystem(spark._jsc.hadoopConfiguration()), path
