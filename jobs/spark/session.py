"""The Spark session, and its settings.

In one process the settings go to the session. Under spark-submit they come from a properties file (`properties_file`), and the master comes
from the command line or the Airflow connection. SPARK_CONF_DIR is not used: with a non-empty folder on the class path the JVM rejects the
class-data archive, which halves the start-up time.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from jobs.spark.jars import CACHE, fetch, java
from jobs.spark.s3 import s3_jars, s3_settings
from jobs.spark.scale import Scale
from jobs.spark.startup import jvm_options, make_class_archive, spark_settings

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

# The other dependencies of delta-spark are in Spark already, or serve Unity Catalog only.
DELTA = ("io.delta:delta-spark_4.1_2.13:4.4.0", "io.delta:delta-storage:4.4.0")
# The compression of the Parquet files of tables. Snappy, the default of Spark and DuckDB, needs twice the bytes for keys and sizes.
PARQUET_CODEC: Final = "ZSTD"
PARQUET_CODEC_LEVEL = 1  # level 3 takes longer and makes a night no smaller
_LOGGING = """rootLogger.level = error
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %d{HH:mm:ss} %p %c{1}: %m%n%ex
"""


def properties(scale: Scale = Scale.SMALL, *, s3: bool = False, **extra: str) -> dict[str, str]:
    """Return the Spark settings of every run of this scale, with access to S3 if `s3`; `extra` settings override them."""
    java()
    jars = ":".join(map(str, [jar for coordinate in DELTA for jar in fetch(coordinate)] + (s3_jars() if s3 else [])))
    logging = CACHE / "log4j2.properties"
    if not logging.exists() or logging.read_text() != _LOGGING:
        logging.write_text(_LOGGING)
    # Delta's plans recurse deeply, which needs a large stack.
    options = ["-Xss4m", "-Xlog:disable", f"-Dlog4j2.configurationFile={logging.as_uri()}", *jvm_options(scale)]
    return {
        "spark.app.name": "kafka-topology-audit",
        "spark.driver.extraClassPath": jars,
        "spark.executor.extraClassPath": jars,
        "spark.driver.extraJavaOptions": " ".join(options),
        "spark.driver.memory": "2g",
        "spark.buffer.pageSize": "1m",  # the default lets each hash table, even of three rows, allocate and clear 64 MiB
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        # Otherwise half of the calls between Python and the JVM report which line of Python created a column.
        "spark.python.sql.dataFrameDebugging.enabled": "false",
        # These five are for few rows; configure_for_scale sets others for a large night.
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.leafNodeDefaultParallelism": "1",
        "spark.databricks.delta.snapshotPartitions": "1",
        # Small row groups: a reader of one cluster skips those of the others.
        "spark.hadoop.parquet.block.row.count.limit": "500000",
        "spark.sql.parquet.compression.codec": PARQUET_CODEC,
        "spark.hadoop.parquet.compression.codec.zstd.level": str(PARQUET_CODEC_LEVEL),
        # A step writes one or two partitions, and Spark would first sort all rows by them.
        "spark.sql.maxConcurrentOutputFileWriters": "8",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        **spark_settings(),
        **(s3_settings() if s3 else {}),
        **extra,
    }


def properties_file(scale: Scale = Scale.SMALL) -> Path:
    """Write the settings of a scale to a file for spark-submit's --properties-file, and return its path."""
    path = CACHE / f"spark-{scale}.properties"
    text = "".join(f"{name} {value}\n" for name, value in properties(scale).items())
    if not path.exists() or path.read_text() != text:
        path.write_text(text)
    return path


def session(scale: Scale = Scale.SMALL, *, s3: bool = False, **extra: str) -> SparkSession:
    """Return the session that spark-submit started, otherwise one of this process, in a JVM for this scale."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # otherwise the workers use the system's Python
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    settings = extra if submitted else {"spark.master": "local[*]", **properties(scale, s3=s3, **extra)}
    if not submitted and not s3:  # an archive of a longer class path does not fit a shorter one
        settings["spark.driver.extraJavaOptions"] = " ".join([settings["spark.driver.extraJavaOptions"], *make_class_archive()])

    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    if not submitted and SparkContext._gateway is None:
        # The JVM's own output goes to a file. Errors that matter arrive as exceptions.
        with (CACHE / "spark.log").open("wb") as log:
            gateway = launch_gateway(SparkConf().setAll([*settings.items()]), {"stderr": log})  # type: ignore[no-untyped-call]
            SparkContext._ensure_initialized(gateway=gateway)
    builder = SparkSession.builder
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    return spark


def configure_for_scale(spark: SparkSession, scale: Scale) -> None:
    """Configure a session for the scale of the night that it works on."""
    small, cores = scale is Scale.SMALL, spark.sparkContext.defaultParallelism
    # For few rows, adapting a plan and compiling it cost more than they save.
    spark.conf.set("spark.sql.adaptive.enabled", not small)
    spark.conf.set("spark.sql.codegen.wholeStage", not small)
    spark.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN" if small else "FALLBACK")
    spark.conf.set("spark.sql.shuffle.partitions", 2 if small else 8 * cores)
    # Adaptive execution joins without a sort if each partition of a side is smaller than this: a hash table of it then fits in the memory of
    # a task. The threshold has no effect below the advisory size.
    spark.conf.set("spark.sql.adaptive.maxShuffledHashJoinLocalMapThreshold", "32m")
    spark.conf.set("spark.sql.adaptive.advisoryPartitionSizeInBytes", "32m")
    # The aggregates of lists keep so many groups in memory before they sort their rows. The groups are topics or members, not partitions.
    spark.conf.set("spark.sql.objectHashAggregate.sortBased.fallbackThreshold", 20_000)
    # The partitions of rows that come from this process: one needs no shuffle. On a large night a few rows can become millions, for example
    # groups that become assignments, so all cores take part.
    spark.conf.set("spark.sql.leafNodeDefaultParallelism", 1 if small else cores)


def dataframe_from_arrow(spark: SparkSession, rows: pa.Table, schema: str | None = None) -> DataFrame:
    """Return rows of this process as a DataFrame."""
    # One chunk: Spark 4.1 takes an empty batch between others as the end of the rows. It needs at least one batch.
    return spark.createDataFrame(rows.combine_chunks() if len(rows) else rows.schema.empty_table(), schema)


@contextmanager
def rows_on_disk(rows: DataFrame) -> Iterator[DataFrame]:
    """Compute rows once, and yield them from Spark's disks until the end of the block.

    They are a checkpoint, whose plan is a leaf. Spark loses cached rows with the views that a query names, and does not recognise those of a
    query with WITH in another query with WITH.
    """
    from pyspark import StorageLevel

    checkpoint = rows.localCheckpoint(storageLevel=StorageLevel.DISK_ONLY)
    try:
        yield checkpoint
    finally:
        checkpoint._jdf.queryExecution().analyzed().rdd().unpersist(False)


def release_memory() -> None:
    """Return the memory that the JVM of this process has and does not use, for what this process does next without Spark."""
    from pyspark import SparkContext

    if SparkContext._active_spark_context is not None:
        SparkContext._active_spark_context._jvm.java.lang.System.gc()  # type: ignore[union-attr]
