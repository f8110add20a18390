"""publish: the row of `snapshot` that makes a cluster's night visible, for every cluster whose hard rules hold."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

_CLUSTER = ["snapshot_id", "cluster_id"]


def publishable(cluster: DataFrame, validation: DataFrame, suites: frozenset[str]) -> DataFrame:
    """The clusters that every suite has judged, with no hard rule broken."""
    judged = validation.where(F.col("suite").isin(*suites)).groupBy(_CLUSTER).agg(
        F.count_distinct("suite").alias("suites"), F.count_if(F.expr("severity = 'hard' AND NOT success")).alias("broken")
    )
    return cluster.join(judged.where((F.col("suites") == len(suites)) & (F.col("broken") == 0)), on=_CLUSTER, how="left_semi").select(*_CLUSTER)


def previous(snapshot: DataFrame, snapshot_id: str) -> DataFrame:
    """For each cluster, the newest published snapshot before this one."""
    return snapshot.where(F.col("snapshot_id") < snapshot_id).groupBy("cluster_id").agg(F.max("snapshot_id").alias("previous_snapshot_id"))
