"""The time between the captures of two snapshots."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

MIN_SECONDS = 600  # between two captures, to compute a rate: the capture time may be that of a later copy of the files


def seconds_between(cluster: DataFrame, previous_cluster: DataFrame) -> DataFrame:
    """Return the time of the capture of each cluster, and the seconds since the previous one; null if they are fewer than MIN_SECONDS."""
    previous = previous_cluster.select("cluster_id", F.col("captured_at").alias("previous_captured_at"))
    seconds = (F.unix_micros("captured_at") - F.unix_micros("previous_captured_at")) / 1e6
    return cluster.join(previous, on="cluster_id", how="inner").select(
        "snapshot_id", "cluster_id", "captured_at", F.when(seconds >= MIN_SECONDS, seconds).alias("seconds")
    )
