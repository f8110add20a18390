"""change: what differs from each cluster's previous published snapshot, a row each, and what explains it.

    cluster     what controls it, whether it keeps the ELR, the sources that tell of it
    broker      added, removed, lost, returned; its rack; its log dirs that fail
    topic       created, deleted (or both, if made anew under its name); partition count, replication factor, configs
    partition   added, removed; replicas, ISR, ELR, leader, reassignment, recovery
    group       appeared, gone; protocol, assignor, state, coordinator, members

Sizes and offsets grow every night and are producer_load's. What one night does not tell is no change: things that come or go count where
each night tells some of their kind, or both have the same sources; values that may be unknown, where both nights tell them.

One change explains another where the one is what Kafka does upon the other: the loss of a broker shrinks ISRs and moves leaders. Where more
than one could, the first of the chain is named (a lost broker before a reassignment). What nothing here explains has no cause.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from jobs.schema import BROKER, CHANGE, CLUSTER, CONSUMER_GROUP, GROUP_MEMBER, LOG_DIR, PARTITION, TOPIC
from jobs.spark.session import of_arrow
from jobs.steps.stage import Stage, Stages

READS = (CLUSTER, BROKER, LOG_DIR, TOPIC, PARTITION, CONSUMER_GROUP, GROUP_MEMBER)
READS_PREVIOUS = READS
READS_AS_ARROW = (CLUSTER,)
WRITES = (CHANGE,)

# The formats that tell what is set for topics: unless both nights had the same of them, a config that comes or goes is no change.
CONFIG_SOURCES = ("kafka-topics", "topology-capture", "kafka-configs", "metadata-log", "kafka-dump-log", "zookeeper")
_ENTITY = ("broker_id", "topic", "partition", "group_id", "name")
_REASSIGNED = "its replicas were reassigned"


def transform(*inputs: pa.Table | DataFrame) -> Stages[tuple[DataFrame, ...]]:
    previous_clusters, spark = inputs[len(READS)], inputs[1].sparkSession
    if not len(previous_clusters):  # the first night of every cluster: Spark has nothing to plan
        return (spark.createDataFrame([], CHANGE.columns),)
    frames = [of_arrow(spark, each, CLUSTER.columns) if isinstance(each, pa.Table) else each for each in inputs]
    now, was = ({table.name: df for table, df in zip(READS, part, strict=True)} for part in (frames[: len(READS)], frames[len(READS) :]))
    nights = F.broadcast((yield Stage(_nights(now, was))))
    topics = _beside(nights, now, was, TOPIC, ["topic"], ["topic_id", "partitions", "replication_factor", "configs"])
    groups = _beside(nights, now, was, CONSUMER_GROUP, ["group_id"], ["protocol", "assignor", "state", "coordinator_id", "members"])
    members = _beside(nights, now, was, GROUP_MEMBER, ["group_id", "member_id"], ["group_instance_id", "client_id", "host"])
    changes = [
        _of_clusters(nights),
        _of_brokers(_beside(nights, now, was, BROKER, ["broker_id"], ["rack", "live"])),
        _of_log_dirs(_beside(nights, now, was, LOG_DIR, ["broker_id", "log_dir"], ["error"])),
        _of_topics(topics),
        _of_configs(topics),
        _of_partitions(nights, now, was),
        _of_groups(groups),
        _of_members(members, groups),
    ]
    whole = changes[0]
    for more in changes[1:]:
        whole = whole.unionByName(more)
    return (whole,)


def _nights(now: Mapping[str, DataFrame], was: Mapping[str, DataFrame]) -> DataFrame:
    """The clusters of both nights: what each night tells of, and the brokers lost, returned, or with a log dir that failed since."""
    told = F.struct("controller", "elr", "sources")
    then = was["cluster"].select(F.col("snapshot_id").alias("previous_snapshot_id"), "cluster_id", told.alias("was"))
    both = now["cluster"].select("snapshot_id", "cluster_id", told.alias("now")).join(then, on="cluster_id")
    for name, table in (("topics", TOPIC), ("groups", CONSUMER_GROUP), ("members", GROUP_MEMBER)):
        tell = now[table.name].select("cluster_id").distinct().join(was[table.name].select("cluster_id").distinct(), on="cluster_id")
        both = both.join(tell.withColumn(f"{name}_told", F.lit(True)), on="cluster_id", how="left")
    of_brokers = _pair(now["broker"], was["broker"], ["broker_id"], ["live", "rack"])
    live, lived = F.coalesce("now.live", F.lit(False)), F.coalesce("was.live", F.lit(False))
    moved = of_brokers.groupBy("cluster_id").agg(
        F.collect_list(F.when(lived & ~live, F.col("broker_id"))).alias("lost"),
        F.collect_list(F.when(live & ~lived & F.col("was").isNotNull(), F.col("broker_id"))).alias("returned"),
        (F.count("now.rack") * F.count("was.rack") > 0).alias("racks_told"),
    )
    failed = (
        _pair(now["log_dir"], was["log_dir"], ["broker_id", "log_dir"], ["error"])
        .where("now.error IS NOT NULL AND was.error IS NULL")
        .groupBy("cluster_id")
        .agg(F.collect_set("broker_id").alias("failed"))
    )
    same = F.col("now.sources") == F.col("was.sources")
    config_sources = F.array(*map(F.lit, CONFIG_SOURCES))
    tells = [F.array_sort(F.array_intersect(f"{night}.sources", config_sources)) for night in ("now", "was")]
    of_both = {f"{name}_told": F.coalesce(f"{name}_told", F.lit(False)) | same for name in ("topics", "groups", "members", "racks")}
    nobody = F.array().cast("array<int>")
    return (
        both.join(moved, on="cluster_id", how="left")
        .join(failed, on="cluster_id", how="left")
        .withColumns({**of_both, "configs_told": tells[0] == tells[1]})
        .withColumns({name: F.coalesce(name, nobody) for name in ("lost", "returned", "failed")})
    )


def _pair(now: DataFrame, was: DataFrame, key: Sequence[str], columns: Sequence[str]) -> DataFrame:
    """Each thing as it is now and as it was; null: it is not there."""
    one, other = (df.select("cluster_id", *key, F.struct(*columns).alias(name)) for df, name in ((now, "now"), (was, "was")))
    return one.join(other, on=["cluster_id", *key], how="full")


def _beside(
    nights: DataFrame, now: Mapping[str, DataFrame], was: Mapping[str, DataFrame], table: object, key: Sequence[str], columns: Sequence[str]
) -> DataFrame:
    """The same of a table, in the clusters of both nights, with what is known of the cluster."""
    compared = now[table.name].join(nights.select("cluster_id"), on="cluster_id", how="left_semi")
    return _pair(compared, was[table.name], key, columns).join(nights.drop("now", "was"), on="cluster_id")


def _of_clusters(nights: DataFrame) -> DataFrame:
    kept = F.col("now.elr") & ~F.col("was.elr")
    whole = _told(
        nights,
        _row("controller changed", F.col("now.controller") != F.col("was.controller"), before="was.controller", after="now.controller"),
        _row("ELR switched on", kept),
        _row("ELR switched off", F.col("was.elr") & ~F.col("now.elr")),
    )
    came, gone = (
        nights.withColumn("name", F.explode(F.array_except(f"{these}.sources", f"{those}.sources")))
        for these, those in (("now", "was"), ("was", "now"))
    )
    always = F.lit(True)
    return whole.unionByName(_told(came, _row("source appeared", always, name="name"))).unionByName(
        _told(gone, _row("source gone", always, name="name"))
    )


def _of_brokers(brokers: DataFrame) -> DataFrame:
    id, is_, was = {"broker_id": "broker_id"}, F.col("now").isNotNull(), F.col("was").isNotNull()
    moved = is_ & was & F.col("racks_told") & ~F.col("now.rack").eqNullSafe(F.col("was.rack"))
    return _told(
        brokers,
        _row("broker added", ~was, **id),
        _row("broker removed", ~is_, **id),
        _row("broker lost", F.col("was.live") & ~F.coalesce("now.live", F.lit(False)), **id),
        _row("broker returned", was & F.col("now.live") & ~F.col("was.live"), **id),
        _row("rack changed", moved, before="was.rack", after="now.rack", **id),
    )


def _of_log_dirs(log_dirs: DataFrame) -> DataFrame:
    of = {"broker_id": "broker_id", "name": "log_dir", "before": "was.error", "after": "now.error"}
    return _told(
        log_dirs,
        _row("log dir failed", F.col("now.error").isNotNull() & F.col("was.error").isNull(), **of),
        _row("log dir works again", F.col("was.error").isNotNull() & F.col("now").isNotNull() & F.col("now.error").isNull(), **of),
    )


def _of_topics(topics: DataFrame) -> DataFrame:
    is_, was = F.col("now").isNotNull(), F.col("was").isNotNull()
    anew, came, went = _came_and_went(F.col("now.topic_id") != F.col("was.topic_id"))
    same = is_ & was & ~anew
    made_anew = F.when(anew, F.concat(F.lit("made anew, under another id than "), "was.topic_id"))
    count = {"before": "was.partitions", "after": "now.partitions", "topic": "topic"}
    factor = {"before": "was.replication_factor", "after": "now.replication_factor", "topic": "topic"}
    return _told(
        topics.where("topics_told"),
        _row("topic created", came, after=_size("now"), cause=made_anew, topic="topic"),
        _row("topic deleted", went, before=_size("was"), topic="topic"),
        _row("partitions added", same & (F.col("now.partitions") > F.col("was.partitions")), **count),
        _row("partitions removed", same & (F.col("now.partitions") < F.col("was.partitions")), **count),
        _row("replication factor changed", same & (F.col("now.replication_factor") != F.col("was.replication_factor")), **factor),
    )


def _size(night: str) -> Column:
    return F.format_string("%d partitions, replication factor %d", f"{night}.partitions", f"{night}.replication_factor")


def _came_and_went(anew: Column) -> tuple[Column, Column, Column]:
    """Whether a thing of both nights is not the same, whether one came, and whether one went."""
    anew = F.coalesce(anew, F.lit(False))
    return anew, F.col("was").isNull() | anew, F.col("now").isNull() | anew


def _of_configs(topics: DataFrame) -> DataFrame:
    differing = "filter(array_union(map_keys(now.configs), map_keys(was.configs)), c -> NOT (now.configs[c] <=> was.configs[c]))"
    changed = (
        topics.where("now.configs IS NOT NULL AND was.configs IS NOT NULL AND NOT coalesce(now.topic_id <> was.topic_id, false)")
        .withColumn("name", F.explode(F.expr(differing)))
        .withColumns({"before": F.expr("was.configs[name]"), "after": F.expr("now.configs[name]")})
    )
    told = F.col("configs_told") | (F.col("before").isNotNull() & F.col("after").isNotNull())
    return _told(changed, _row("config changed", told, before="before", after="after", topic="topic", name="name"))


def _of_partitions(nights: DataFrame, now: Mapping[str, DataFrame], was: Mapping[str, DataFrame]) -> DataFrame:
    columns = ["leader", "replicas", "isr", "elr", "adding_replicas", "removing_replicas", "leader_recovering"]
    partitions = _beside(nights, now, was, PARTITION, ["topic", "partition"], columns)
    topics = _pair(now["topic"], was["topic"], ["topic"], ["topic_id"]).select(
        "cluster_id",
        "topic",
        F.col("was").isNull().alias("created"),
        F.col("now").isNull().alias("deleted"),
        F.coalesce(F.col("now.topic_id") != F.col("was.topic_id"), F.lit(False)).alias("made_anew"),
    )
    odd = topics.where("created OR deleted OR made_anew")
    of = {"topic": "topic", "partition": "partition"}
    anew, came, went = _came_and_went(F.col("made_anew") & F.col("now").isNotNull() & F.col("was").isNotNull())
    same = F.col("now").isNotNull() & F.col("was").isNotNull() & ~anew
    replicas = {"before": _ids("was.replicas"), "after": _ids("now.replicas")}
    apart = _as_sets("now.replicas", "was.replicas")
    left, joined = F.array_except("was.isr", "now.isr"), F.array_except("now.isr", "was.isr")
    led, leads, lead = F.col("was.leader"), F.col("now.leader"), {"before": "was.leader", "after": "now.leader"}
    isr = {"before": _ids("was.isr"), "after": _ids("now.isr")}
    reassigned = F.when(apart, F.lit(_REASSIGNED))
    leaves = F.coalesce(_lost(left), F.when(F.size(F.array_except(left, "now.replicas")) > 0, F.lit(_REASSIGNED)), _failed(left))
    joins = F.coalesce(_returned(joined), F.when(F.size(F.array_except(joined, "was.replicas")) > 0, F.lit(_REASSIGNED)))
    shrank, grew = F.size(left) > 0, F.size(joined) > 0
    preferred = F.when(leads == F.col("now.replicas")[0], F.lit("the preferred leader was elected"))
    moved_away = F.when(~F.array_contains("now.replicas", led), F.lit(_REASSIGNED))
    dethroned = F.coalesce(_lost(F.array(led)), moved_away, _failed(F.array(led)), _returned(F.array(leads)))
    created = F.col("created") | F.col("made_anew")
    added = F.when(created, F.lit("the topic was created")).otherwise(F.lit("partitions were added to the topic"))
    elr_differs = _as_sets("now.elr", "was.elr")
    reassigning = [_moving(night) for night in ("was", "now")]
    recovering = {"before": F.col("was.leader_recovering").cast("string"), "after": F.col("now.leader_recovering").cast("string")}
    return _told(
        partitions.where("topics_told").join(odd, on=["cluster_id", "topic"], how="left"),
        _row("partition added", came, after=_ids("now.replicas"), cause=added, **of),
        _row("partition removed", went, before=_ids("was.replicas"),
             cause=F.when(F.col("deleted") | F.col("made_anew"), F.lit("the topic was deleted")), **of),
        _row("replicas reassigned", same & apart, **replicas, **of),
        _row("replicas reordered", same & ~apart & (F.col("now.replicas") != F.col("was.replicas")), **replicas, **of),
        _row("reassignment changed", same & ~reassigning[0].eqNullSafe(reassigning[1]), before=reassigning[0], after=reassigning[1], **of),
        _row("ISR shrank", same & shrank & ~grew, **isr, cause=leaves, **of),
        _row("ISR grew", same & grew & ~shrank, **isr, cause=joins, **of),
        _row("ISR exchanged", same & shrank & grew, **isr, cause=F.coalesce(leaves, joins), **of),
        _row("ELR changed", same & elr_differs, before=_ids("was.elr"), after=_ids("now.elr"),
             cause=F.coalesce(leaves, joins, reassigned, F.when(shrank | grew, F.lit("its ISR changed"))), **of),
        _row("leader moved", same & (led != leads), **lead, cause=F.coalesce(dethroned, preferred), **of),
        _row("leader lost", same & led.isNotNull() & leads.isNull(), **lead, cause=dethroned, **of),
        _row("leader elected", same & led.isNull() & leads.isNotNull(), **lead, cause=_returned(F.array(leads)), **of),
        _row("recovery changed", same & (F.col("was.leader_recovering") != F.col("now.leader_recovering")), **recovering, **of),
    )  # fmt: skip


def _of_groups(groups: DataFrame) -> DataFrame:
    of, same = {"group_id": "group_id"}, F.col("now").isNotNull() & F.col("was").isNotNull()
    columns = ("protocol", "assignor", "state", "coordinator_id", "members")
    causes = {"coordinator_id": F.coalesce(_lost(F.array("was.coordinator_id")), _returned(F.array("now.coordinator_id")))}
    return _told(
        groups.where("groups_told"),
        _row("group appeared", F.col("was").isNull(), after=F.format_string("%d members", "now.members"), **of),
        _row("group gone", F.col("now").isNull(), before=F.format_string("%d members", "was.members"), **of),
        *(
            _row("group changed", same & (F.col(f"now.{name}") != F.col(f"was.{name}")), before=f"was.{name}", after=f"now.{name}",
                 name=F.lit(name), cause=causes.get(name), **of)
            for name in columns
        ),
    )  # fmt: skip


def _of_members(members: DataFrame, groups: DataFrame) -> DataFrame:
    """A client that restarts is another member to its group: one that left, and one that joined from the same place."""
    member = F.coalesce("now", "was")
    place = Window.partitionBy(
        "cluster_id", "group_id", F.coalesce(member["group_instance_id"], F.concat_ws(" ", member["client_id"], member["host"]))
    )
    joined, left = F.col("was").isNull(), F.col("now").isNull()
    of_groups = groups.select("cluster_id", "group_id", F.col("was").isNull().alias("appeared"), F.col("now").isNull().alias("gone"))
    seen = (
        members.where("members_told")
        .withColumn("restarted", F.bool_or(joined).over(place) & F.bool_or(left).over(place))
        .withColumn("told", F.concat_ws(" ", member["client_id"], member["host"]))
        .where(joined | left)
        .join(of_groups, on=["cluster_id", "group_id"], how="left")
    )
    again = F.when(F.col("restarted"), F.lit("the client restarted"))
    of = {"group_id": "group_id", "name": "member_id"}
    return _told(
        seen,
        _row("member joined", joined, after="told", cause=F.coalesce(again, F.when(F.col("appeared"), F.lit("the group appeared"))), **of),
        _row("member left", left, before="told", cause=F.coalesce(again, F.when(F.col("gone"), F.lit("the group is gone"))), **of),
    )


def _row(
    kind: str,
    happened: Column,
    *,
    before: Column | str | None = None,
    after: Column | str | None = None,
    cause: Column | None = None,
    **entity: Column | str,
) -> Column:
    """A row of `change` if it happened, else null."""

    def value(of: Column | str | None, type: str = "string") -> Column:
        return (F.lit(None) if of is None else F.col(of) if isinstance(of, str) else of).cast(type)

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


def _told(df: DataFrame, *rows: Column) -> DataFrame:
    """The rows of what happened."""
    happened = df.select("snapshot_id", "cluster_id", "previous_snapshot_id", F.explode(F.array_compact(F.array(*rows))).alias("change"))
    return happened.select("snapshot_id", "cluster_id", "previous_snapshot_id", "change.*")


def _ids(array: str) -> Column:
    """`3,1,2`; null: none."""
    return F.when(F.size(array) > 0, F.concat_ws(",", F.col(array).cast("array<string>")))


def _as_sets(one: str, other: str) -> Column:
    return F.array_sort(one) != F.array_sort(other)


def _moving(night: str) -> Column:
    """What a reassignment under way adds and removes; null: none is."""
    said = [F.concat(F.lit(f"{what} "), _ids(f"{night}.{what}_replicas")) for what in ("adding", "removing")]
    return F.nullif(F.concat_ws(", ", *said), F.lit(""))


def _lost(brokers: Column) -> Column:
    return _named(brokers, "lost", "was lost", "were lost")


def _returned(brokers: Column) -> Column:
    return _named(brokers, "returned", "returned", "returned")


def _failed(brokers: Column) -> Column:
    return _named(brokers, "failed", "has a log dir that failed", "have log dirs that failed")


def _named(brokers: Column, these: str, one: str, more: str) -> Column:
    """Those of the brokers that are among these, in words; null: none is."""
    found = F.array_sort(F.array_intersect(brokers, F.col(these)))
    ids = F.concat_ws(", ", found.cast("array<string>"))
    return F.when(F.size(found) == 1, F.concat(F.lit("broker "), ids, F.lit(f" {one}"))).when(
        F.size(found) > 1, F.concat(F.lit("brokers "), ids, F.lit(f" {more}"))
    )
