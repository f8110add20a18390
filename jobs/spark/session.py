"""The Spark session, and the settings that make it quick to start and right for Delta.

In one process the settings go to the session; under spark-submit they arrive as a properties file (`properties_file`), and the
master comes from the command line or the Airflow connection. They are in no SPARK_CONF_DIR, because a folder on the class path
that is not empty makes the JVM refuse the class-data archive, which halves the start.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from jobs.spark.jars import CACHE, SPARK_JARS, fetch, java
from jobs.spark.scale import Scale

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

# delta-spark names them; the rest of what its POM lists is Spark's own already, or serves Unity Catalog alone.
DELTA = ("io.delta:delta-spark_4.1_2.13:4.4.0", "io.delta:delta-storage:4.4.0")
# What expressions are made by, as PySpark says it.
_ASKED_OFTEN = ("functions", "org.apache.spark.sql.functions", "PythonUtils", "PythonSQLUtils", "org.apache.spark.sql.classic.SparkSession")
# Five times the JVM's own thresholds for its second compiler, half of whose work is else for what plans queries, not for what runs them.
_COMPILED_LATE = "-XX:Tier4InvocationThreshold=25000 -XX:Tier4MinInvocationThreshold=3000 -XX:Tier4CompileThreshold=75000 -XX:Tier4BackEdgeThreshold=200000"
_LOGGING = """rootLogger.level = error
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %d{HH:mm:ss} %p %c{1}: %m%n%ex
"""


def properties(scale: Scale = Scale.SMALL, **extra: str) -> dict[str, str]:
    """Return the Spark settings of every run of this scale; `extra` ones override them."""
    java()
    jars = ":".join(str(jar) for coordinate in DELTA for jar in fetch(coordinate))
    logging = CACHE / "log4j2.properties"
    if not logging.exists() or logging.read_text() != _LOGGING:
        logging.write_text(_LOGGING)
    # The first compiler tier alone and the serial collector: a small night is mostly start-up. Delta's plans recurse deep, hence the stack.
    # With one tier the JVM reserves 48 MB for compiled code, which a night fills: it would go on uncompiled.
    options = _COMPILED_LATE if scale is Scale.LARGE else "-XX:TieredStopAtLevel=1"
    options += f" -XX:ReservedCodeCacheSize=256m -XX:+UseSerialGC -Xss4m -Xlog:disable -Dlog4j2.configurationFile={logging.as_uri()}"
    archive = _archive()
    options += f" -XX:SharedArchiveFile={archive}" if archive.exists() else ""
    return {
        "spark.app.name": "kafka-topology-audit",
        "spark.driver.extraClassPath": jars,
        "spark.executor.extraClassPath": jars,
        "spark.driver.extraJavaOptions": options,
        "spark.driver.memory": "3g",
        "spark.buffer.pageSize": "1m",  # else every hash table, of three rows too, takes and clears 64 MiB
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.python.daemon.module": "jobs.spark.python_daemon",
        # Else each column tells the JVM the line that made it, and half of what the two say to each other is that.
        "spark.python.sql.dataFrameDebugging.enabled": "false",
        # These five are for few rows; configure_for_scale sets others for a large night.
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.leafNodeDefaultParallelism": "1",
        "spark.databricks.delta.snapshotPartitions": "1",
        # A reader of one cluster skips the row groups of others: of seven million rows in one it would read all.
        "spark.hadoop.parquet.block.row.count.limit": "500000",
        # A step writes a slice or two, and Spark would sort all rows by them first.
        "spark.sql.maxConcurrentOutputFileWriters": "8",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        **extra,
    }


def properties_file(scale: Scale = Scale.SMALL) -> Path:
    """Write the settings of a scale to a file for spark-submit's --properties-file, and return its path."""
    path = CACHE / f"spark-{scale}.properties"
    text = "".join(f"{name} {value}\n" for name, value in properties(scale).items())
    if not path.exists() or path.read_text() != text:
        path.write_text(text)
    return path


def session(scale: Scale = Scale.SMALL, **extra: str) -> SparkSession:
    """Return the session that spark-submit started, otherwise one of this process, in a JVM for this scale."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # else the workers take the system's Python
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    settings = extra if submitted else {"spark.master": "local[*]", **properties(scale, **extra)}
    if not submitted and not _archive().exists():
        part = _archive().with_suffix(f".{os.getpid()}")
        settings["spark.driver.extraJavaOptions"] += f" -XX:ArchiveClassesAtExit={part}"
        atexit.register(_keep_archive, part)

    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    if not submitted and SparkContext._gateway is None:
        # What the JVM says on its own account is for a file: errors that matter come as exceptions.
        with (CACHE / "spark.log").open("wb") as log:
            SparkContext._ensure_initialized(gateway=launch_gateway(SparkConf().setAll(settings.items()), {"stderr": log}))
    builder = SparkSession.builder
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    _resolve_once(spark)
    return spark


def configure_for_scale(spark: SparkSession, scale: Scale) -> None:
    """Configure a session for the scale of the night that it works on."""
    small, cores = scale is Scale.SMALL, spark.sparkContext.defaultParallelism
    # For few rows, adapting a plan and compiling it cost more than they save.
    spark.conf.set("spark.sql.adaptive.enabled", not small)
    spark.conf.set("spark.sql.codegen.wholeStage", not small)
    spark.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN" if small else "FALLBACK")
    spark.conf.set("spark.sql.shuffle.partitions", 2 if small else 4 * cores)
    # The partitions of rows that come from this process: one needs no shuffle. On a large night a few rows can become millions, for example
    # groups that become assignments, so all cores take part.
    spark.conf.set("spark.sql.leafNodeDefaultParallelism", 1 if small else cores)


def cluster_files_by_id(df: DataFrame) -> DataFrame:
    """Return rows that a shuffle mixed, to be written with each cluster in as few files as possible, for readers of one cluster.

    Spark ignores the hint on a small night, since adaptive execution is off.
    """
    return df.hint("rebalance", "cluster_id")


def range_partitioned_by(df: DataFrame, column: str) -> DataFrame:
    """Return rows without `column`, to be written in files that each contain a range of it, for readers that filter by what it stands for.

    Spark computes the rows twice, so they should be the rows of a stage (jobs/steps/stage.py).
    """
    return df.repartitionByRange(column).drop(column)


def dataframe_from_arrow(spark: SparkSession, rows: pa.Table, schema: str | None = None) -> DataFrame:
    """Return rows of this process as a DataFrame."""
    # One chunk: Spark 4.1 takes an empty batch between others as the end of the rows. It needs at least one batch.
    return spark.createDataFrame(rows.combine_chunks() if len(rows) else rows.schema.empty_table(), schema)


def _resolve_once(spark: SparkSession) -> None:
    """Ask the JVM once for what expressions are made by. py4j asks again for each, and the JVM looks into every jar of the class path for a
    name that an import may have shortened: without this the bundled snapshot's night takes a seventh longer.
    """
    from py4j.java_gateway import JavaClass

    class Known(JavaClass):
        def __getattr__(self, name: str) -> object:
            member = super().__getattr__(name)
            setattr(self, name, member)
            return member

    jvm, client = spark.sparkContext._jvm, spark.sparkContext._gateway._gateway_client
    for name in _ASKED_OFTEN:
        setattr(jvm, name, Known(getattr(jvm, name)._fqn, client))


def _archive() -> Path:
    """The JVM's class-data archive: made by the first session on a machine when it ends, used by all after it."""
    # The JVM takes an archive only for the very same Java and class path: another pair has another archive.
    pair = hashlib.sha256(f"{Path(java()).resolve()} {SPARK_JARS}".encode()).hexdigest()[:12]
    return CACHE / f"classes-{pair}.jsa"


def _keep_archive(part: Path) -> None:
    from pyspark import SparkContext

    gateway = SparkContext._gateway
    if gateway is None:
        return
    if SparkContext._active_spark_context is not None:
        SparkContext._active_spark_context.stop()
    gateway.shutdown()
    gateway.proc.stdin.close()
    if gateway.proc.wait() == 0 and part.exists():
        part.replace(_archive())
