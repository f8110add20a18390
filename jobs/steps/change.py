"""change: the differences between a cluster's snapshot and its previous published snapshot, one row each, with their cause.

    cluster     controller type, ELR, sources of the dumps
    broker      added, removed, lost, returned; rack; failed log dirs
    topic       created, deleted (both if it was recreated under its name); partition count, replication factor, configs
    partition   added, removed; replicas, ISR, ELR, leader, reassignment, recovery
    group       appeared, gone; protocol, assignor, state, coordinator, members

Sizes and offsets grow every night and belong to producer_load. Missing input is no change: an entity is added or removed only if both
snapshots report entities of its kind or have the same sources, and a value changes only if both snapshots report it.

A change has a cause if Kafka makes it in response to another change: the loss of a broker shrinks ISRs and moves leaders. If several causes
are possible, the first of a fixed order is named (a lost broker before a reassignment). Without a known cause, the column is null.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import NamedTuple

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from jobs.schema import BROKER, CHANGE, CLUSTER, CONSUMER_GROUP, GROUP_MEMBER, LOG_DIR, PARTITION, TOPIC, Table
from jobs.spark.session import dataframe_from_arrow
from jobs.steps.stage import ARROW_TABLES, Stage, Stages

READS = (CLUSTER, BROKER, LOG_DIR, TOPIC, PARTITION, CONSUMER_GROUP, GROUP_MEMBER)
READS_PREVIOUS = READS
WRITES = (CHANGE,)

# Formats of dumps that report the configs of topics. Configs are compared only if both snapshots have the same of these sources.
CONFIG_SOURCES = ("kafka-topics", "topology-capture", "kafka-configs", "metadata-log", "kafka-dump-log", "zookeeper")
_ENTITY = ("broker_id", "topic", "partition", "group_id", "name")
_REASSIGNED = "its replicas were reassigned"


class _Snapshots(NamedTuple):
    """The tables of both snapshots, by name, and the clusters that have both (see `_compared_clusters`)."""

    current: Mapping[str, DataFrame]
    previous: Mapping[str, DataFrame]
    clusters: DataFrame


def transform(*inputs: pa.Table | DataFrame) -> Stages[tuple[DataFrame, ...]]:
    previous_clusters, spark = inputs[len(READS)], inputs[-1].sparkSession
    if not len(previous_clusters):  # the first night of every cluster: Spark has nothing to plan
        return (spark.createDataFrame([], CHANGE.columns),)
    frames = [
        dataframe_from_arrow(spark, rows, table.columns) if table in ARROW_TABLES else rows
        for table, rows in zip((*READS, *READS_PREVIOUS), inputs, strict=True)
    ]
    names = [table.name for table in READS]
    current, previous = (dict(zip(names, part, strict=True)) for part in (frames[: len(READS)], frames[len(READS) :]))
    clusters = yield Stage(_compared_clusters(current, previous))
    both = _Snapshots(current, previous, F.broadcast(clusters))
    topics = _compare(both, TOPIC, ["topic"], ["topic_id", "partitions", "replication_factor", "configs"])
    groups = _compare(both, CONSUMER_GROUP, ["group_id"], ["protocol", "assignor", "state", "coordinator_id", "members"])
    members = _compare(both, GROUP_MEMBER, ["group_id", "member_id"], ["group_instance_id", "client_id", "host"])
    changes = [
        _cluster_changes(both.clusters),
        _broker_changes(_compare(both, BROKER, ["broker_id"], ["rack", "live"])),
        _log_dir_changes(_compare(both, LOG_DIR, ["broker_id", "log_dir"], ["error"])),
        _topic_changes(topics),
        _config_changes(topics),
        _partition_changes(_compared_partitions(both)),
        _group_changes(groups),
        _member_changes(members, groups),
    ]
    return (reduce(DataFrame.unionByName, changes),)


def _compared_clusters(current: Mapping[str, DataFrame], previous: Mapping[str, DataFrame]) -> DataFrame:
    """Rows of the clusters with both snapshots.

    `<kind>_comparable` states whether additions and removals of that kind count. `lost`, `returned` and `failed` list the brokers that were
    lost, that returned, and with a log dir that failed since the previous snapshot.
    """
    state = F.struct("controller", "elr", "sources", "kafka_version", "kafka_version_source")
    before = previous["cluster"].select(F.col("snapshot_id").alias("previous_snapshot_id"), "cluster_id", state.alias("previous"))
    clusters = current["cluster"].select("snapshot_id", "cluster_id", state.alias("current")).join(before, on="cluster_id")
    for kind, table in (("topics", TOPIC), ("groups", CONSUMER_GROUP), ("members", GROUP_MEMBER)):
        reporting, reporting_before = (tables[table.name].select("cluster_id").distinct() for tables in (current, previous))
        reported = reporting.join(reporting_before, on="cluster_id").withColumn(f"{kind}_comparable", F.lit(True))
        clusters = clusters.join(reported, on="cluster_id", how="left")
    same_sources = F.col("current.sources") == F.col("previous.sources")
    comparable = {
        f"{kind}_comparable": F.coalesce(f"{kind}_comparable", F.lit(False)) | same_sources
        for kind in ("topics", "groups", "members", "racks")
    }
    config_sources = F.array(*map(F.lit, CONFIG_SOURCES))
    now, before = (F.array_sort(F.array_intersect(f"{snapshot}.sources", config_sources)) for snapshot in ("current", "previous"))
    no_brokers = F.array().cast("array<int>")
    return (
        clusters.join(_moved_brokers(current, previous), on="cluster_id", how="left")
        .join(_brokers_with_failed_log_dir(current, previous), on="cluster_id", how="left")
        .withColumns({**comparable, "configs_comparable": now == before})
        .withColumns({name: F.coalesce(name, no_brokers) for name in ("lost", "returned", "failed")})
    )


def _moved_brokers(current: Mapping[str, DataFrame], previous: Mapping[str, DataFrame]) -> DataFrame:
    """The brokers of each cluster that were lost or returned, and whether both snapshots report racks."""
    live, was_live = F.coalesce("current.live", F.lit(False)), F.coalesce("previous.live", F.lit(False))
    return (
        _pair(current["broker"], previous["broker"], ["broker_id"], ["live", "rack"])
        .groupBy("cluster_id")
        .agg(
            F.collect_list(F.when(was_live & ~live, F.col("broker_id"))).alias("lost"),
            F.collect_list(F.when(live & ~was_live & F.col("previous").isNotNull(), F.col("broker_id"))).alias("returned"),
            (F.count("current.rack") * F.count("previous.rack") > 0).alias("racks_comparable"),
        )
    )


def _brokers_with_failed_log_dir(current: Mapping[str, DataFrame], previous: Mapping[str, DataFrame]) -> DataFrame:
    return (
        _pair(current["log_dir"], previous["log_dir"], ["broker_id", "log_dir"], ["error"])
        .where("current.error IS NOT NULL AND previous.error IS NULL")
        .groupBy("cluster_id")
        .agg(F.collect_set("broker_id").alias("failed"))
    )


def _pair(current: DataFrame, previous: DataFrame, key: Sequence[str], columns: Sequence[str]) -> DataFrame:
    """Each entity with its columns as structs `current` and `previous`; null where the snapshot does not have it."""
    now, before = (
        rows.select("cluster_id", *key, F.struct(*columns).alias(name)) for rows, name in ((current, "current"), (previous, "previous"))
    )
    return now.join(before, on=["cluster_id", *key], how="full")


def _compare(both: _Snapshots, table: Table, key: Sequence[str], columns: Sequence[str]) -> DataFrame:
    """The pairs of a table's entities, in clusters with both snapshots, with the columns of `_compared_clusters`."""
    current = both.current[table.name].join(both.clusters.select("cluster_id"), on="cluster_id", how="left_semi")
    pairs = _pair(current, both.previous[table.name], key, columns)
    return pairs.join(both.clusters.drop("current", "previous"), on="cluster_id")


def _cluster_changes(clusters: DataFrame) -> DataFrame:
    differs, upgraded = (F.col(f"current.{name}") != F.col(f"previous.{name}") for name in ("controller", "kafka_version"))
    reported = (F.col("current.kafka_version_source") != "assumed") & (F.col("previous.kafka_version_source") != "assumed")
    changes = _changes(
        clusters,
        _change("controller changed", differs, before="previous.controller", after="current.controller"),
        _change("Kafka version changed", upgraded & reported, before="previous.kafka_version", after="current.kafka_version"),
        _change("ELR switched on", F.col("current.elr") & ~F.col("previous.elr")),
        _change("ELR switched off", F.col("previous.elr") & ~F.col("current.elr")),
    )
    for kind, snapshot, other in (("source appeared", "current", "previous"), ("source gone", "previous", "current")):
        sources = clusters.withColumn("name", F.explode(F.array_except(f"{snapshot}.sources", f"{other}.sources")))
        changes = changes.unionByName(_changes(sources, _change(kind, F.lit(True), name="name")))
    return changes


def _broker_changes(brokers: DataFrame) -> DataFrame:
    entity, exists, existed = {"broker_id": "broker_id"}, F.col("current").isNotNull(), F.col("previous").isNotNull()
    moved = exists & existed & F.col("racks_comparable") & ~F.col("current.rack").eqNullSafe(F.col("previous.rack"))
    return _changes(
        brokers,
        _change("broker added", ~existed, **entity),
        _change("broker removed", ~exists, **entity),
        _change("broker lost", F.col("previous.live") & ~F.coalesce("current.live", F.lit(False)), **entity),
        _change("broker returned", existed & F.col("current.live") & ~F.col("previous.live"), **entity),
        _change("rack changed", moved, before="previous.rack", after="current.rack", **entity),
    )


def _log_dir_changes(log_dirs: DataFrame) -> DataFrame:
    fails, failed = F.col("current.error").isNotNull(), F.col("previous.error").isNotNull()
    columns = {"broker_id": "broker_id", "name": "log_dir", "before": "previous.error", "after": "current.error"}
    return _changes(
        log_dirs,
        _change("log dir failed", fails & ~failed, **columns),
        _change("log dir works again", failed & F.col("current").isNotNull() & ~fails, **columns),
    )


def _topic_changes(topics: DataFrame) -> DataFrame:
    recreated, created, deleted = _recreated_added_removed(F.col("current.topic_id") != F.col("previous.topic_id"))
    same = F.col("current").isNotNull() & F.col("previous").isNotNull() & ~recreated
    new_id = F.when(recreated, F.concat(F.lit("recreated: its topic id was "), "previous.topic_id"))
    count = {"before": "previous.partitions", "after": "current.partitions", "topic": "topic"}
    factor = {"before": "previous.replication_factor", "after": "current.replication_factor", "topic": "topic"}
    factor_differs = F.col("current.replication_factor") != F.col("previous.replication_factor")
    return _changes(
        topics.where("topics_comparable"),
        _change("topic created", created, after=_size_text("current"), cause=new_id, topic="topic"),
        _change("topic deleted", deleted, before=_size_text("previous"), topic="topic"),
        _change("partitions added", same & (F.col("current.partitions") > F.col("previous.partitions")), **count),
        _change("partitions removed", same & (F.col("current.partitions") < F.col("previous.partitions")), **count),
        _change("replication factor changed", same & factor_differs, **factor),
    )


def _size_text(snapshot: str) -> Column:
    return F.format_string("%d partitions, replication factor %d", f"{snapshot}.partitions", f"{snapshot}.replication_factor")


def _recreated_added_removed(recreated: Column) -> tuple[Column, Column, Column]:
    """Whether an entity of both snapshots was recreated, whether one was added, and whether one was removed; `recreated` may be null."""
    recreated = F.coalesce(recreated, F.lit(False))
    return recreated, F.col("previous").isNull() | recreated, F.col("current").isNull() | recreated


def _config_changes(topics: DataFrame) -> DataFrame:
    names = "array_union(map_keys(current.configs), map_keys(previous.configs))"
    same_topic = "NOT coalesce(current.topic_id <> previous.topic_id, false)"
    changed = (
        topics.where(f"current.configs IS NOT NULL AND previous.configs IS NOT NULL AND {same_topic}")
        .withColumn("name", F.explode(F.expr(f"filter({names}, c -> NOT (current.configs[c] <=> previous.configs[c]))")))
        .withColumns({"before": F.expr("previous.configs[name]"), "after": F.expr("current.configs[name]")})
    )
    comparable = F.col("configs_comparable") | (F.col("before").isNotNull() & F.col("after").isNotNull())
    return _changes(changed, _change("config changed", comparable, before="before", after="after", topic="topic", name="name"))


def _compared_partitions(both: _Snapshots) -> DataFrame:
    """Pairs of partitions, and whether their topic was created, deleted or recreated (null: none of them)."""
    columns = ["leader", "replicas", "isr", "elr", "adding_replicas", "removing_replicas", "leader_recovering"]
    topics = _pair(both.current["topic"], both.previous["topic"], ["topic"], ["topic_id"]).select(
        "cluster_id",
        "topic",
        F.col("previous").isNull().alias("created"),
        F.col("current").isNull().alias("deleted"),
        F.coalesce(F.col("current.topic_id") != F.col("previous.topic_id"), F.lit(False)).alias("recreated"),
    )
    return (
        _compare(both, PARTITION, ["topic", "partition"], columns)
        .where("topics_comparable")
        .join(topics.where("created OR deleted OR recreated"), on=["cluster_id", "topic"], how="left")
    )


def _partition_changes(partitions: DataFrame) -> DataFrame:
    in_both = F.col("current").isNotNull() & F.col("previous").isNotNull()
    recreated, added, removed = _recreated_added_removed(F.col("recreated") & in_both)
    same = in_both & ~recreated
    return _changes(
        partitions,
        *_added_or_removed(added, removed),
        *_replica_changes(same),
        *_isr_and_elr_changes(same),
        *_leader_changes(same),
    )


def _added_or_removed(added: Column, removed: Column) -> list[Column]:
    topic_created = F.col("created") | F.col("recreated")
    added_by = F.when(topic_created, F.lit("the topic was created")).otherwise(F.lit("partitions were added to the topic"))
    removed_by = F.when(F.col("deleted") | F.col("recreated"), F.lit("the topic was deleted"))
    return [
        _partition_change("partition added", added, after=_ids("current.replicas"), cause=added_by),
        _partition_change("partition removed", removed, before=_ids("previous.replicas"), cause=removed_by),
    ]


def _replica_changes(same: Column) -> list[Column]:
    replicas = {"before": _ids("previous.replicas"), "after": _ids("current.replicas")}
    reassigned = _differ_as_sets("current.replicas", "previous.replicas")
    reordered = ~reassigned & (F.col("current.replicas") != F.col("previous.replicas"))
    before, after = _reassignment_text("previous"), _reassignment_text("current")
    return [
        _partition_change("replicas reassigned", same & reassigned, **replicas),
        _partition_change("replicas reordered", same & reordered, **replicas),
        _partition_change("reassignment changed", same & ~before.eqNullSafe(after), before=before, after=after),
    ]


def _isr_and_elr_changes(same: Column) -> list[Column]:
    left, joined = F.array_except("previous.isr", "current.isr"), F.array_except("current.isr", "previous.isr")
    shrank, grew = F.size(left) > 0, F.size(joined) > 0
    moved_away = F.when(F.size(F.array_except(left, "current.replicas")) > 0, F.lit(_REASSIGNED))
    moved_here = F.when(F.size(F.array_except(joined, "previous.replicas")) > 0, F.lit(_REASSIGNED))
    shrank_by, grew_by = F.coalesce(_lost(left), moved_away, _failed(left)), F.coalesce(_returned(joined), moved_here)
    reassigned = F.when(_differ_as_sets("current.replicas", "previous.replicas"), F.lit(_REASSIGNED))
    elr_by = F.coalesce(shrank_by, grew_by, reassigned, F.when(shrank | grew, F.lit("its ISR changed")))
    isr = {"before": _ids("previous.isr"), "after": _ids("current.isr")}
    elr = {"before": _ids("previous.elr"), "after": _ids("current.elr")}
    return [
        _partition_change("ISR shrank", same & shrank & ~grew, **isr, cause=shrank_by),
        _partition_change("ISR grew", same & grew & ~shrank, **isr, cause=grew_by),
        _partition_change("ISR exchanged", same & shrank & grew, **isr, cause=F.coalesce(shrank_by, grew_by)),
        _partition_change("ELR changed", same & _differ_as_sets("current.elr", "previous.elr"), **elr, cause=elr_by),
    ]


def _leader_changes(same: Column) -> list[Column]:
    leader, previous_leader = F.col("current.leader"), F.col("previous.leader")
    leaders = {"before": "previous.leader", "after": "current.leader"}
    recovering = {"before": "previous.leader_recovering", "after": "current.leader_recovering"}
    preferred = F.when(leader == F.col("current.replicas")[0], F.lit("the preferred leader was elected"))
    moved_away = F.when(~F.array_contains("current.replicas", previous_leader), F.lit(_REASSIGNED))
    returned = _returned(F.array(leader))
    deposed_by = F.coalesce(_lost(F.array(previous_leader)), moved_away, _failed(F.array(previous_leader)), returned)
    recovery_differs = F.col("previous.leader_recovering") != F.col("current.leader_recovering")
    return [
        _partition_change("leader moved", same & (previous_leader != leader), **leaders, cause=F.coalesce(deposed_by, preferred)),
        _partition_change("leader lost", same & previous_leader.isNotNull() & leader.isNull(), **leaders, cause=deposed_by),
        _partition_change("leader elected", same & previous_leader.isNull() & leader.isNotNull(), **leaders, cause=returned),
        _partition_change("recovery changed", same & recovery_differs, **recovering),
    ]


def _group_changes(groups: DataFrame) -> DataFrame:
    entity, same = {"group_id": "group_id"}, F.col("current").isNotNull() & F.col("previous").isNotNull()
    columns = ("protocol", "assignor", "state", "coordinator_id", "members")
    causes = {"coordinator_id": F.coalesce(_lost(F.array("previous.coordinator_id")), _returned(F.array("current.coordinator_id")))}
    return _changes(
        groups.where("groups_comparable"),
        _change("group appeared", F.col("previous").isNull(), after=F.format_string("%d members", "current.members"), **entity),
        _change("group gone", F.col("current").isNull(), before=F.format_string("%d members", "previous.members"), **entity),
        *(
            _change("group changed", same & (F.col(f"current.{name}") != F.col(f"previous.{name}")), before=f"previous.{name}",
                    after=f"current.{name}", name=F.lit(name), cause=causes.get(name), **entity)
            for name in columns
        ),
    )  # fmt: skip


def _member_changes(members: DataFrame, groups: DataFrame) -> DataFrame:
    """Members that joined and left. A client that restarts leaves as one member and joins as another, from the same host."""
    member = F.coalesce("current", "previous")
    client = F.concat_ws(" ", member["client_id"], member["host"])
    same_client = Window.partitionBy("cluster_id", "group_id", F.coalesce(member["group_instance_id"], client))
    joined, left = F.col("previous").isNull(), F.col("current").isNull()
    group_exists = groups.select(
        "cluster_id", "group_id", F.col("previous").isNull().alias("group_appeared"), F.col("current").isNull().alias("group_gone")
    )
    moved = (
        members.where("members_comparable")
        .withColumn("restarted", F.bool_or(joined).over(same_client) & F.bool_or(left).over(same_client))
        .withColumn("client", client)
        .where(joined | left)
        .join(group_exists, on=["cluster_id", "group_id"], how="left")
    )
    restarted = F.when(F.col("restarted"), F.lit("the client restarted"))
    joined_by = F.coalesce(restarted, F.when(F.col("group_appeared"), F.lit("the group appeared")))
    left_by = F.coalesce(restarted, F.when(F.col("group_gone"), F.lit("the group is gone")))
    entity = {"group_id": "group_id", "name": "member_id"}
    return _changes(
        moved,
        _change("member joined", joined, after="client", cause=joined_by, **entity),
        _change("member left", left, before="client", cause=left_by, **entity),
    )


def _partition_change(kind: str, happened: Column, **columns: Column | str | None) -> Column:
    return _change(kind, happened, topic="topic", partition="partition", **columns)


def _change(
    kind: str,
    happened: Column,
    *,
    before: Column | str | None = None,
    after: Column | str | None = None,
    cause: Column | None = None,
    **entity: Column | str | None,
) -> Column:
    """A row of `change` as a struct; null if it did not happen."""

    def value(column: Column | str | None, type: str = "string") -> Column:
        return (F.lit(None) if column is None else F.col(column) if isinstance(column, str) else column).cast(type)

    types = {"broker_id": "int", "partition": "int"}
    return F.when(
        happened,
        F.struct(
            F.lit(kind).alias("kind"),
            *(value(entity.get(name), types.get(name, "string")).alias(name) for name in _ENTITY),
            value(before).alias("value_before"),
            value(after).alias("value_after"),
            value(cause).alias("cause"),
        ),
    )


def _changes(entities: DataFrame, *changes: Column) -> DataFrame:
    """Rows of `change`: those of the changes of each entity that happened."""
    key = ("snapshot_id", "cluster_id", "previous_snapshot_id")
    return entities.select(*key, F.explode(F.array_compact(F.array(*changes))).alias("change")).select(*key, "change.*")


def _ids(array: str) -> Column:
    """A list of brokers as text, such as `3,1,2`; null if it is empty."""
    return F.when(F.size(array) > 0, F.concat_ws(",", F.col(array).cast("array<string>")))


def _differ_as_sets(one: str, other: str) -> Column:
    return F.array_sort(one) != F.array_sort(other)


def _reassignment_text(snapshot: str) -> Column:
    """The replicas that an ongoing reassignment adds and removes; null if there is none."""
    parts = [F.concat(F.lit(f"{verb} "), _ids(f"{snapshot}.{verb}_replicas")) for verb in ("adding", "removing")]
    return F.nullif(F.concat_ws(", ", *parts), F.lit(""))


def _lost(brokers: Column) -> Column:
    return _cause(brokers, "lost", "was lost", "were lost")


def _returned(brokers: Column) -> Column:
    return _cause(brokers, "returned", "returned", "returned")


def _failed(brokers: Column) -> Column:
    return _cause(brokers, "failed", "has a log dir that failed", "have log dirs that failed")


def _cause(brokers: Column, affected: str, singular: str, plural: str) -> Column:
    """The brokers that are in the column `affected`, as the text of a cause; null if there is none."""
    involved = F.array_sort(F.array_intersect(brokers, F.col(affected)))
    ids = F.concat_ws(", ", involved.cast("array<string>"))
    return F.when(F.size(involved) == 1, F.concat(F.lit("broker "), ids, F.lit(f" {singular}"))).when(
        F.size(involved) > 1, F.concat(F.lit("brokers "), ids, F.lit(f" {plural}"))
    )
