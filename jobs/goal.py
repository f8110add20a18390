"""goal: the verdicts of Cruise Control's goals on each cluster, who is outside their limits, the score and the size.

What replicas add up to, and the checks of a single partition, are Spark's expressions; the limits of brokers and all verdicts are
kafka_model.goal's, once a cluster, on what its brokers carry. The columns that stand for a decision of the model say which.

Loads are Cruise Control's own (`partition_load`). Where it does not tell the disk, each replica counts with its leader's size, as it
does there; and each broker is taken to have a host to itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import reduce
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from jobs.tables import (
    BROKER,
    CLUSTER,
    CLUSTER_BALANCE,
    GOAL_BREACH,
    GOAL_VERDICT,
    LOG_DIR,
    NET_IMBALANCE,
    PARTITION,
    PARTITION_LOAD,
    REPLICA,
    Table,
)
from kafka_model import goal
from kafka_model.goal import CPU, DISK, NETWORK_IN, NETWORK_OUT, RESOURCES, Broker, Thresholds, Use

READS = (CLUSTER, BROKER, LOG_DIR, PARTITION, REPLICA, PARTITION_LOAD)
WRITES = (GOAL_VERDICT, GOAL_BREACH, CLUSTER_BALANCE, NET_IMBALANCE)

_CLUSTER = ["snapshot_id", "cluster_id"]
_PARTITION = [*_CLUSTER, "topic", "partition"]
_LOADS = (*RESOURCES, "leader_network_in", "potential_network_out")
_BREACH = GOAL_BREACH.schema.names[len(_CLUSTER) :]
_TOO_FEW_RACKS = "add racks: there are fewer than replicas"
_MIB, _KIB = float(2**20), float(2**10)


def transform(
    cluster: DataFrame,
    broker: DataFrame,
    log_dir: DataFrame,
    partition: DataFrame,
    replica: DataFrame,
    partition_load: DataFrame,
    *,
    parameters: Mapping[str, str],
    thresholds: Thresholds,
) -> tuple[DataFrame, ...]:
    # Cruise Control knows a dead broker by its replicas alone, and leaves out partitions without a leader.
    held = _held(partition.where("leader IS NOT NULL"), replica, partition_load).cache()
    holding = partition.select(*_CLUSTER, F.explode("replicas").alias("broker_id")).distinct()
    known = broker.join(holding, on=[*_CLUSTER, "broker_id"], how="left_semi")
    brokers = broker.where("live").unionByName(known.where("NOT live"))
    spread = _spread(brokers, partition.where("leader IS NOT NULL"), held, thresholds).cache()
    scenes = _scenes(cluster, brokers, log_dir, partition, held, spread, thresholds)
    judged = scenes.mapInArrow(_judging(thresholds), from_arrow_schema(_JUDGED)).cache()
    verdicts = judged.select(*_CLUSTER, F.inline("verdicts"))
    breaches = judged.select(*_CLUSTER, F.inline("breaches"))
    return (
        verdicts,
        breaches.unionByName(
            spread.select(*_CLUSTER, *_BREACH).join(
                verdicts.where("verdict <> 'not told'").select(*_CLUSTER, "goal"), on=[*_CLUSTER, "goal"], how="left_semi"
            )
        ),
        judged.select(*_CLUSTER, "balance.*"),
        _net_imbalance(brokers.where("live"), partition.where("leader IS NOT NULL"), held),
    )


def _net_imbalance(live: DataFrame, led: DataFrame, held: DataFrame) -> DataFrame:
    """kafka_model.reassignment.net_imbalance at four levels; of live brokers, and of the racks that these have."""
    on_live = held.join(live.select(*_CLUSTER, "broker_id"), on=[*_CLUSTER, "broker_id"], how="left_semi")
    cluster = live.groupBy(_CLUSTER).agg(
        F.count("*").alias("brokers"),
        F.count_distinct(_rack()).alias("racks"),
        F.map_from_entries(F.collect_list(F.struct("broker_id", _rack().alias("rack")))).alias("rack_of"),
    )
    sums = on_live.groupBy(*_CLUSTER, "broker_id").agg(F.sum("replicas").alias("replicas"), F.sum("leaders").alias("leaders"))
    idle = live.select(*_CLUSTER, "broker_id").join(sums, on=[*_CLUSTER, "broker_id"], how="left").fillna(0, ["replicas", "leaders"])
    of_brokers = idle.groupBy(_CLUSTER).agg(*(F.collect_list(name).alias(name) for name in ("replicas", "leaders")))
    each = [
        of_brokers.select(*_CLUSTER, F.lit(name).alias("level"), F.col(name).alias("counts"), F.size(name).alias("places"))
        for name in ("replicas", "leaders")
    ]
    of_topics = on_live.groupBy(*_CLUSTER, "topic").agg(F.collect_list("replicas").alias("counts")).join(cluster, on=_CLUSTER, how="inner")
    each.append(of_topics.select(*_CLUSTER, F.lit("topic replicas").alias("level"), "counts", F.col("brokers").alias("places")))
    on_rack = F.array_compact(F.transform("replicas", lambda id: F.col("rack_of")[id]))
    of_racks = led.join(F.broadcast(cluster), on=_CLUSTER, how="inner").withColumn("on", on_rack)
    counts = F.transform(F.array_distinct("on"), lambda rack: F.size(F.filter("on", lambda other: other == rack)).cast("bigint"))
    each.append(of_racks.select(*_CLUSTER, F.lit("rack replicas").alias("level"), counts.alias("counts"), F.col("racks").alias("places")))
    levels = reduce(DataFrame.unionByName, (df.withColumn("places", F.col("places").cast("bigint")) for df in each))
    things = F.aggregate("counts", F.lit(0).cast("bigint"), lambda sum, count: sum + count)
    mean, over = F.floor(F.col("things") / F.col("places")), F.col("things") % F.col("places")
    ranked = F.zip_with(
        F.sort_array("counts", asc=False),
        F.sequence(F.lit(0), F.size("counts") - 1),
        lambda count, rank: F.greatest(F.lit(0).cast("bigint"), count - mean - F.when(rank < over, 1).otherwise(0)),
    )
    return (
        levels.where(F.size("counts") > 0)
        .withColumn("things", things)
        .withColumn("extra", F.aggregate(ranked, F.lit(0).cast("bigint"), lambda sum, count: sum + count))
        .withColumn("variation", F.when(F.col("level").isin("replicas", "leaders"), _variation()))
        .groupBy(*_CLUSTER, "level")
        .agg(F.sum("things").alias("things"), F.sum("extra").alias("net_imbalance"), F.max("variation").alias("coefficient_of_variation"))
    )


def _variation() -> Column:
    """The standard deviation of the counts over their mean."""
    mean = F.col("things") / F.size("counts")
    squares = F.aggregate("counts", F.lit(0.0), lambda sum, count: sum + (count - mean) * (count - mean))
    return F.when(F.col("things") > 0, F.sqrt(squares / F.size("counts")) / mean)


def _held(led: DataFrame, replica: DataFrame, partition_load: DataFrame) -> DataFrame:
    """Of each topic what a broker holds, in Cruise Control's units; a load is null where one of its replicas is not told."""
    leader_size = replica.select(*_PARTITION, F.col("broker_id").alias("leader"), F.col("size_bytes").alias("leader_size_bytes"))
    loads = partition_load.drop("leader")
    replicas = (
        led.select(*_PARTITION, "leader", "replicas")
        .join(leader_size, on=[*_PARTITION, "leader"], how="left")
        .join(loads, on=_PARTITION, how="left")
        .select(
            *_PARTITION,
            "leader",
            F.explode("replicas").alias("broker_id"),
            (F.coalesce("disk_bytes", "leader_size_bytes") / _MIB).alias(DISK),
            (F.col("network_in_bytes_per_s") / _KIB).alias(NETWORK_IN),
            (F.col("network_out_bytes_per_s") / _KIB).alias("leader_network_out"),
            "cpu_percent",
        )
    )
    leads = F.col("leader") == F.col("broker_id")
    # kafka_model.goal.follower_cpu.
    idle = (F.col(NETWORK_IN) == 0) & (F.col("leader_network_out") == 0)
    follower_cpu = F.when(idle, 0.0).otherwise(
        F.col("cpu_percent") * (0.15 * F.col(NETWORK_IN)) / (0.7 * F.col(NETWORK_IN) + 0.15 * F.col("leader_network_out"))
    )
    told = F.col("leader_network_out").isNotNull()
    of_replica = {
        DISK: F.col(DISK),
        NETWORK_IN: F.col(NETWORK_IN),
        NETWORK_OUT: F.when(leads, F.col("leader_network_out")).when(told, 0.0),
        CPU: F.when(leads, F.col("cpu_percent")).otherwise(follower_cpu),
        "leader_network_in": F.when(leads, F.col(NETWORK_IN)).when(told, 0.0),
        "potential_network_out": F.col("leader_network_out"),
    }
    return replicas.groupBy(*_CLUSTER, "topic", "broker_id").agg(
        F.count("*").alias("replicas"),
        F.count_if(leads).alias("leaders"),
        *(_whole_sum(value).alias(name) for name, value in of_replica.items()),
    )


def _whole_sum(value: Column) -> Column:
    """The sum; null, if one is not told."""
    return F.when(F.count(value) == F.count("*"), F.sum(value))


def _spread(brokers: DataFrame, led: DataFrame, held: DataFrame, thresholds: Thresholds) -> DataFrame:
    """The breaches of the goals of racks, topics and leaders; and how many partitions a topic needs to give each broker its leaders."""
    cluster = brokers.groupBy(_CLUSTER).agg(
        F.map_from_entries(F.collect_list(F.struct("broker_id", _rack().alias("rack")))).alias("rack_of"),
        F.array_sort(F.collect_set(F.when(F.col("live"), _rack()))).alias("live_racks"),
        F.collect_list(F.when(F.col("live"), F.col("broker_id"))).alias("live"),
    )
    return _of_partitions(led, cluster).unionByName(_of_topics(held, cluster, thresholds))


def _rack() -> Column:
    return F.coalesce("rack", F.concat(F.lit("broker "), F.col("broker_id")))


def _of_partitions(led: DataFrame, cluster: DataFrame) -> DataFrame:
    racks = F.transform("replicas", lambda id: F.col("rack_of")[id])
    counts = F.transform(F.array_distinct("racks"), lambda rack: F.size(F.filter("racks", lambda other: other == rack)))
    free, first = F.array_except("live_racks", "racks"), F.col("replicas")[0]
    shared, most = F.size("racks") - F.size("counts"), F.array_max("counts")
    even = F.ceil(F.size("racks") / F.size("live_racks"))
    uneven = (most > 1) & ((F.size("counts") < F.size("live_racks")) | (most - F.array_min("counts") > 1))
    to_free = F.when(
        F.size("free") >= shared, F.concat(F.lit("move "), shared, F.lit(" to racks without one: "), F.array_join("free", ", "))
    ).otherwise(_TOO_FEW_RACKS)
    to_emptier = F.concat(
        F.lit("move "), (most - even).cast("string"), F.lit(" from the rack that holds "), most.cast("string"), F.lit(" to emptier racks")
    )
    checks = F.array(
        # kafka_model.goal.rack_aware
        _breach("RackAwareGoal", shared > 0, shared, F.lit(0), "replicas that share a rack = 0", to_free),
        # kafka_model.goal.rack_aware_distributed
        _breach("RackAwareDistributionGoal", uneven, most, even, "replicas on a rack are as even as can be", to_emptier),
        _breach("PreferredLeaderElectionGoal", F.array_contains("live", first) & (F.col("leader") != first), F.col("leader"), first,
                "the first replica leads", F.concat(F.lit("elect broker "), first)),
    )  # fmt: skip
    return (
        led.join(F.broadcast(cluster), on=_CLUSTER, how="inner")
        .withColumn("racks", racks)
        .withColumns({"counts": counts, "free": free})
        .withColumn("breach", F.explode(F.array_compact(checks)))
        .select(
            *_PARTITION,
            "breach.*",
            F.lit(None).cast("int").alias("broker_id"),
            F.lit(False).alias("close"),
            F.lit(None).cast("bigint").alias("partitions_needed"),
        )
    )


def _breach(goal: str, broken: Column, measured: Column, limit: Column, formula: str, change: Column) -> Column:
    fields = {
        "goal": F.lit(goal),
        "measured": measured.cast("double"),
        "limit_value": limit.cast("double"),
        "formula": F.lit(formula),
        "smallest_change": change,
    }
    return F.when(broken, F.struct(*(value.alias(name) for name, value in fields.items())))


def _of_topics(held: DataFrame, cluster: DataFrame, thresholds: Thresholds) -> DataFrame:
    """kafka_model.goal.topic_limits and least_topic_leaders."""
    live = F.size("live")
    by_topic = held.withColumns(
        {
            "total": F.sum("replicas").over(Window.partitionBy(*_CLUSTER, "topic")),
            "topic_leaders": F.sum("leaders").over(Window.partitionBy(*_CLUSTER, "topic")),
        }
    ).join(F.broadcast(cluster), on=_CLUSTER, how="inner")
    mean, spread = F.col("mean"), goal.margin(thresholds.topic_replica_count_balance_threshold)
    least_gap, most_gap = thresholds.topic_replica_count_balance_min_gap, thresholds.topic_replica_count_balance_max_gap
    lower, upper = F.floor(mean * max(0, 1 - spread)), F.ceil(mean * (1 + spread))
    limits = {
        "lower": F.greatest(
            F.greatest(F.lit(0), F.floor(mean) - most_gap), F.least(lower, F.greatest(F.lit(0), F.floor(mean) - least_gap))
        ),
        "upper": F.greatest(F.ceil(mean) + least_gap, F.least(upper, F.ceil(mean) + most_gap)),
    }
    replicas, over = F.col("replicas"), F.col("replicas") > F.col("upper")
    limit = F.when(over, F.col("upper")).otherwise(F.col("lower"))
    uneven = (
        by_topic.where(F.array_contains("live", F.col("broker_id")))
        .withColumn("mean", F.col("total") / live)
        .withColumns(limits)
        .where("replicas NOT BETWEEN lower AND upper")
        .select(
            *_CLUSTER,
            F.lit("TopicReplicaDistributionGoal").alias("goal"),
            "topic",
            "broker_id",
            replicas.cast("double").alias("measured"),
            limit.cast("double").alias("limit_value"),
            F.when(over, goal.topic_formula(over=True)).otherwise(goal.topic_formula(over=False)).alias("formula"),
            F.concat(
                F.lit("move "),
                F.abs(replicas - limit),
                F.lit(" of topic "),
                "topic",
                F.when(over, " off broker ").otherwise(" to broker "),
                "broker_id",
            ).alias("smallest_change"),
            F.lit(None).cast("bigint").alias("partitions_needed"),
        )
    )
    least = (
        F.lit(thresholds.min_topic_leaders_per_broker)
        if thresholds.min_topic_leaders_per_broker
        else F.floor(F.col("topic_leaders") / live)
    )
    pattern = thresholds.topics_with_min_leaders_per_broker
    named = by_topic.where(F.col("topic").rlike(f"^(?:{pattern})$") if pattern else F.lit(False))
    led = named.select(*_CLUSTER, "topic", "broker_id", "leaders")
    short = (
        named.select(*_CLUSTER, "topic", "topic_leaders", "live").distinct()
        .withColumn("least", least)
        .withColumn("partitions_needed", F.when(F.col("topic_leaders") < F.col("least") * live, F.col("least") * live))
        .withColumn("broker_id", F.explode("live"))
        .join(led, on=[*_CLUSTER, "topic", "broker_id"], how="left")
        .fillna(0, ["leaders"])
        .where("leaders < least")
        .select(
            *_CLUSTER,
            F.lit("MinTopicLeadersPerBrokerGoal").alias("goal"),
            "topic",
            "broker_id",
            F.col("leaders").cast("double").alias("measured"),
            F.col("least").cast("double").alias("limit_value"),
            F.concat(F.lit("leaders of the topic >= "), "least").alias("formula"),
            F.concat(
                F.lit("move "), F.col("least") - F.col("leaders"), F.lit(" leaders of topic "), "topic", F.lit(" to broker "), "broker_id"
            ).alias("smallest_change"),
            F.col("partitions_needed").cast("bigint").alias("partitions_needed"),
        )
    )  # fmt: skip
    return uneven.unionByName(short).withColumns({"partition": F.lit(None).cast("int"), "close": F.lit(False)})


def _scenes(
    cluster: DataFrame,
    brokers: DataFrame,
    log_dir: DataFrame,
    partition: DataFrame,
    held: DataFrame,
    spread: DataFrame,
    thresholds: Thresholds,
) -> DataFrame:
    """Of each cluster all that its verdicts need."""
    sums = held.groupBy(*_CLUSTER, "broker_id").agg(
        F.sum("replicas").alias("replicas"), F.sum("leaders").alias("leaders"), *(_whole_sum(F.col(name)).alias(name) for name in _LOADS)
    )
    carried = (
        brokers.join(sums, on=[*_CLUSTER, "broker_id"], how="left")
        .withColumn("holds", F.col("replicas").isNotNull())
        .fillna(0, ["replicas", "leaders"])
    )
    capacities = ("disk_capacity_bytes", "network_in_capacity_bytes_per_s", "network_out_capacity_bytes_per_s", "cpu_capacity_percent")
    each = F.struct(
        "broker_id",
        _rack().alias("rack"),
        F.col("rack").isNotNull().alias("racked"),
        "live",
        "holds",
        "replicas",
        "leaders",
        *_LOADS,
        *capacities,
    )
    of_brokers = carried.groupBy(_CLUSTER).agg(F.sort_array(F.collect_list(each)).alias("brokers"))
    led = F.col("leader").isNotNull()
    of_partitions = partition.groupBy(_CLUSTER).agg(
        F.count_if(led).alias("partitions"), F.max(F.when(led, F.size("replicas"))).alias("max_replication_factor")
    )
    counted = spread.groupBy(*_CLUSTER, "goal").agg(F.count("*").alias("breaches"), F.max("partitions_needed").alias("partitions_needed"))
    of_spread = counted.groupBy(_CLUSTER).agg(
        F.map_from_entries(F.collect_list(F.struct("goal", "breaches"))).alias("spread"),
        F.max("partitions_needed").alias("partitions_needed"),
    )
    dead_disks = log_dir.where("error IS NOT NULL").select(*_CLUSTER).distinct().withColumn("dead_disk", F.lit(True))
    return (
        cluster.select(*_CLUSTER)
        .join(of_brokers, on=_CLUSTER, how="left")
        .join(of_partitions, on=_CLUSTER, how="left")
        .join(of_spread, on=_CLUSTER, how="left")
        .join(dead_disks, on=_CLUSTER, how="left")
    )


def _nested(table: Table) -> list[pa.Field]:
    """The columns of a table after the snapshot and the cluster."""
    return [field.remove_metadata() for field in list(table.schema)[len(_CLUSTER) :]]


# A cluster's row: its verdicts, the breaches of its brokers, and its score.
_JUDGED = pa.schema([
    *(pa.field(name, pa.string()) for name in _CLUSTER),
    ("verdicts", pa.list_(pa.struct(_nested(GOAL_VERDICT)))),
    ("breaches", pa.list_(pa.struct(_nested(GOAL_BREACH)))),
    ("balance", pa.struct(_nested(CLUSTER_BALANCE))),
])  # fmt: skip


def _judging(thresholds: Thresholds) -> Any:
    def judge(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            rows = [_judged(scene, thresholds) for scene in batch.to_pylist()]
            yield from pa.Table.from_pylist(rows, _JUDGED).to_batches()

    return judge


def _judged(scene: dict[str, Any], thresholds: Thresholds) -> dict[str, Any]:
    """A cluster's row: its verdicts, the breaches of its brokers, and its score."""
    rows = scene["brokers"] or []
    brokers = [_broker(row) for row in rows]
    use = {row["broker_id"]: _use(row) for row in rows}
    live = [broker for broker in brokers if broker.alive]
    factor = scene["max_replication_factor"] or 1
    verdicts = goal.judge_brokers(brokers, use, thresholds, partitions=scene["partitions"] or 0, max_replication_factor=factor)
    if live:
        racks = len({broker.rack for broker in live}) if any(row["racked"] for row in rows if row["live"]) else None
        counts = dict(scene["spread"] or {})
        spread = {name: counts.get(name, 0) for name in goal.GOALS if name not in verdicts}
        verdicts |= goal.judge_spread(spread, racks, factor, scene["partitions_needed"], thresholds)
    else:
        counts = {}
    costs = goal.balancedness_costs(thresholds)
    order = {name: place for place, name in enumerate(goal.DEFAULT_GOALS, 1)}
    told = [
        {
            "goal": name,
            "priority": order.get(name),
            "hard": hard,
            "weight": costs.get(name),
            "verdict": verdicts[name].verdict,
            "breaches": len(verdicts[name].breaches) + (0 if verdicts[name].verdict == goal.NOT_TOLD else counts.get(name, 0)),
            "lower_limit": _finite(verdicts[name].lower),
            "upper_limit": _finite(verdicts[name].upper),
            "close": verdicts[name].close,
            "lacks": verdicts[name].lacks,
            "provision": verdicts[name].provision.status,
            "brokers": verdicts[name].provision.brokers,
            "racks": verdicts[name].provision.racks,
            "partitions": verdicts[name].provision.partitions,
        }
        for name, hard in goal.GOALS.items()
    ]
    breaches = [
        {
            "goal": name,
            "broker_id": breach.broker_id,
            "topic": breach.topic,
            "partition": breach.partition,
            "measured": breach.measured,
            "limit_value": breach.limit,
            "formula": breach.formula,
            "smallest_change": breach.change,
            "close": breach.close,
        }
        for name, verdict in verdicts.items()
        for breach in verdict.breaches
    ]
    dead = bool(scene["dead_disk"]) or any(not broker.alive for broker in brokers)
    balance = _balance(verdicts, len(live), factor, thresholds, dead=dead)
    return {
        "snapshot_id": scene["snapshot_id"],
        "cluster_id": scene["cluster_id"],
        "verdicts": told,
        "breaches": breaches,
        "balance": balance,
    }


def _broker(row: dict[str, Any]) -> Broker:
    capacity = {
        DISK: _scaled(row["disk_capacity_bytes"], _MIB),
        NETWORK_IN: _scaled(row["network_in_capacity_bytes_per_s"], _KIB),
        NETWORK_OUT: _scaled(row["network_out_capacity_bytes_per_s"], _KIB),
        CPU: row["cpu_capacity_percent"],
    }
    return Broker(row["broker_id"], row["rack"], f"broker {row['broker_id']}", row["live"], capacity)


def _use(row: dict[str, Any]) -> Use:
    """What a broker carries: nothing is nothing, whatever is told."""
    load = {name: row[name] if row["holds"] else 0.0 for name in _LOADS}
    return Use(
        row["replicas"], row["leaders"], {name: load[name] for name in RESOURCES}, load["leader_network_in"], load["potential_network_out"]
    )


def _balance(verdicts: Mapping[str, goal.Verdict], live_brokers: int, factor: int, thresholds: Thresholds, *, dead: bool) -> dict[str, Any]:
    least, most = goal.score(verdicts, thresholds, dead_brokers=dead)
    size = goal.provision(verdicts, live_brokers, factor, thresholds) if not dead else goal.Provision(goal.UNDECIDED)
    said = [verdicts[name].verdict for name in goal.DEFAULT_GOALS]
    return {
        "balancedness_score": most if math.isclose(least, most) else None,
        "least_score": least,
        "most_score": most,
        "goals_violated": sum(verdict in (goal.VIOLATED, goal.UNFIXABLE) for verdict in said),
        "goals_not_told": sum(verdict in (goal.NOT_TOLD, goal.REFUSED) for verdict in said),
        "provision": size.status,
        "brokers_to_add": size.brokers if size.status == goal.UNDER else None,
        "brokers_to_drop": size.brokers if size.status == goal.OVER else None,
        "racks_to_add": size.racks if size.status == goal.UNDER else None,
        "racks_to_drop": size.racks if size.status == goal.OVER else None,
        "partitions_needed": size.partitions,
    }


def _scaled(value: float | None, unit: float) -> float | None:
    return None if value is None else value / unit


def _finite(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else float(value)
