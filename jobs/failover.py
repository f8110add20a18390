"""failover: what the loss of each broker, and of each rack, does to the partitions that it touches.

A scenario is a list of brokers that fail in order. Only partitions with a replica on one of them change, so replicas are exploded
and joined with the scenarios: never scenarios with partitions. Each partition then lives through the failures one after the other;
`_fail` is one of them, the columnar twin of kafka_model.failover.fail, held equal to it by tests/jobs/test_failover.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from jobs.tables import BROKER, CLUSTER, CONSUMER_GROUP, FAILOVER, FAILOVER_LOAD, PARTITION, PRODUCER_LOAD, SCENARIO, TOPIC

READS = (CLUSTER, BROKER, TOPIC, PARTITION, PRODUCER_LOAD, CONSUMER_GROUP)
WRITES = (SCENARIO, FAILOVER, FAILOVER_LOAD)

NIGHTLY = "nightly"
_CLUSTER = ["snapshot_id", "cluster_id"]
_SCENARIO = [*_CLUSTER, "scenario_set", "scenario_id"]
_PARTITION = [*_CLUSTER, "topic", "partition"]
_STATE = (
    "struct<leader: int, isr: array<int>, elr: array<int>, last_known_elr: array<int>, live: array<int>, "
    "transitions: array<string>, election: string, unclean: boolean>"
)
# What a scenario asks: the first columns of the table.
ASKED = (
    "snapshot_id STRING, cluster_id STRING, scenario_set STRING, scenario_id STRING, kind STRING, brokers ARRAY<INT>, racks ARRAY<STRING>, "
    "unclean BOOLEAN, controlled_shutdown BOOLEAN"
)
_ASKED = SCENARIO.schema.names[:9]


def transform(
    cluster: DataFrame,
    broker: DataFrame,
    topic: DataFrame,
    partition: DataFrame,
    producer_load: DataFrame,
    consumer_group: DataFrame,
    *,
    parameters: Mapping[str, str],
) -> tuple[DataFrame, ...]:
    return outcome(nightly(broker), cluster, broker, topic, partition, producer_load, consumer_group)


def nightly(broker: DataFrame) -> DataFrame:
    """The loss of every live broker, its stop in order, and the loss of every rack: its brokers fail in the order of their ids."""
    live = broker.where("live")
    each = live.select(*_CLUSTER, F.concat(F.lit("broker "), "broker_id").alias("scenario_id"), F.lit("broker").alias("kind"), F.array("broker_id").alias("brokers"),
                       F.array().cast("array<string>").alias("racks"))  # fmt: skip
    rack = live.where("rack IS NOT NULL").groupBy(*_CLUSTER, "rack").agg(F.sort_array(F.collect_list("broker_id")).alias("brokers"))
    racks = rack.select(*_CLUSTER, F.concat(F.lit("rack "), "rack").alias("scenario_id"), F.lit("rack").alias("kind"), "brokers", F.array("rack").alias("racks"))
    stops = each.withColumns({"scenario_id": F.concat(F.lit("stop "), F.col("brokers")[0]), "kind": F.lit("stop")})
    return each.unionByName(stops).unionByName(racks).withColumns(
        {"scenario_set": F.lit(NIGHTLY), "unclean": F.lit(None).cast("boolean"), "controlled_shutdown": F.col("kind") == "stop"}
    ).select(*_ASKED)


def outcome(
    asked: DataFrame,
    cluster: DataFrame,
    broker: DataFrame,
    topic: DataFrame,
    partition: DataFrame,
    producer_load: DataFrame,
    consumer_group: DataFrame,
) -> tuple[DataFrame, ...]:
    """The scenarios with their counts, the partitions that they touch, and the survivors that take over."""
    touched = (
        ruled(partition, cluster, broker, topic)
        .withColumn("broker_id", F.explode("replicas"))
        .join(F.broadcast(asked.withColumn("broker_id", F.explode("brokers"))), on=[*_CLUSTER, "broker_id"], how="inner")
        # A partition with several failing replicas meets its scenario several times: the first of them stands for all.
        .where(F.filter("replicas", lambda id: F.array_contains("brokers", id))[0] == F.col("broker_id"))
        .withColumn("unclean_allowed", F.coalesce("unclean", "topic_unclean"))
    )
    failover = _live_through(touched).persist()
    led = partition.where("leader IS NOT NULL").groupBy(*_CLUSTER, F.col("leader").alias("broker_id")).agg(F.count("*").alias("leaders_before"))
    bound = F.col("explicit_records") + F.col("keyed_records")
    sample = producer_load.where("records IS NOT NULL").select(
        *_PARTITION, "records", "size_bytes", bound.alias("bound_records"),
        F.when(F.col("records") > 0, F.round(F.col("size_bytes") * (bound / F.col("records"))).cast("bigint")).otherwise(0).alias("bound_bytes"),
    )  # fmt: skip
    load = _load(failover, led, sample).persist()
    return _summary(asked, failover, load, sample, _coordination(failover, partition, consumer_group)), failover, load


def ruled(partition: DataFrame, cluster: DataFrame, broker: DataFrame, topic: DataFrame) -> DataFrame:
    """Partitions with the rules that their elections follow, and their replicas that live."""
    rules = cluster.select(*_CLUSTER, "controller", F.col("elr").alias("elr_kept")).join(
        broker.where("live").groupBy(_CLUSTER).agg(F.collect_list("broker_id").alias("live")), on=_CLUSTER, how="inner"
    )
    config = topic.select(
        *_CLUSTER,
        "topic",
        "replication_factor",
        F.coalesce("min_insync_replicas", F.lit(1)).alias("min_insync_replicas"),
        F.coalesce(F.col("configs")["unclean.leader.election.enable"] == "true", F.lit(False)).alias("topic_unclean"),
    )
    return (
        partition.select(*_PARTITION, "leader", "replicas", "isr", "elr", "last_known_elr")
        .join(F.broadcast(rules), on=_CLUSTER, how="inner")
        .join(config, on=[*_CLUSTER, "topic"], how="left")
        .withColumn("live", F.array_intersect("replicas", "live"))
        .withColumn("elr_kept", F.col("elr_kept") & F.col("elr").isNotNull())
    )


def before() -> Column:
    """A partition's state as the failures find it."""
    return F.struct(
        F.when(F.array_contains("live", F.col("leader")), F.col("leader")).alias("leader"),
        F.col("isr"),
        F.coalesce("elr", F.array().cast("array<int>")).alias("elr"),
        F.coalesce("last_known_elr", F.array().cast("array<int>")).alias("last_known_elr"),
        F.col("live"),
        F.array().cast("array<string>").alias("transitions"),
        F.lit("none").alias("election"),
        F.lit(False).alias("unclean"),
    ).cast(_STATE)


def after(brokers: Column) -> Column:
    """The state of `before` once these brokers have failed, one after the other."""
    return F.aggregate(F.filter(brokers, lambda id: F.array_contains("replicas", id)), F.col("before"), _fail)


def safe(live: Column) -> Column:
    """How many of these replicas have every acknowledged record: those of the ISR and of the ELR."""
    return F.size(F.array_intersect(live, F.array_union("before.isr", "before.elr")))


def _live_through(touched: DataFrame) -> DataFrame:
    state = touched.withColumn("before", before()).withColumn("after", after(F.col("brokers")))
    size, min_isr = F.size("isr"), F.col("min_insync_replicas")
    return (
        state.withColumnRenamed("isr", "isr_before")
        .withColumn("leader", F.when(F.array_contains("after.live", F.col("after.leader")), F.col("after.leader")))
        .withColumn("isr", F.sort_array("after.isr"))
        .select(
            *_SCENARIO,
            "topic",
            "partition",
            _state(F.col("before.leader")).alias("state_before"),
            _state(F.col("leader")).alias("state"),
            "after.transitions",
            "after.election",
            F.col("before.leader").alias("leader_before"),
            "leader",
            "isr_before",
            "isr",
            F.when(F.col("elr_kept"), F.sort_array("after.elr")).alias("elr"),
            F.when(F.col("elr_kept"), F.sort_array("after.last_known_elr")).alias("last_known_elr"),
            "min_insync_replicas",
            (F.col("before.leader").isNull() | (F.size("isr_before") < min_isr)).alias("under_min_isr_before"),
            (F.col("leader").isNull() | (size < min_isr)).alias("under_min_isr"),
            (F.col("leader").isNotNull() & (size == min_isr)).alias("at_min_isr"),
            "after.unclean",
            F.size("after.live").alias("live_replicas"),
            safe(F.col("before.live")).alias("safe_replicas_before"),
            safe(F.col("after.live")).alias("safe_replicas"),
        )
    )


def coordinator_partition(group_id: Column, partitions: Column) -> Column:
    """The partition of __consumer_offsets whose leader coordinates a group (GroupCoordinatorService.partitionFor, 4.x; GroupMetadataManager
    before it): Utils.abs(groupId.hashCode) % partitions, the columnar twin of kafka_model.java_hash.string_hash.
    """

    def hashed(units: Column) -> Column:  # String.hashCode goes by UTF-16 code units, four hexadecimal digits each
        unit = lambda place: F.conv(F.substring(units, 4 * place + 1, F.lit(4)), 16, 10).cast("bigint")  # noqa: E731
        places = F.sequence(F.lit(0), (F.length(units) / 4).cast("int") - 1)
        return F.when(units == "", F.lit(0)).otherwise(
            F.aggregate(places, F.lit(0).cast("bigint"), lambda code, place: (code * 31 + unit(place)).bitwiseAND(0xFFFFFFFF))
        )

    code = _let(F.hex(F.encode(group_id, "UTF-16BE")), hashed)
    signed = F.when(code >= 1 << 31, code - (1 << 32)).otherwise(code)
    return (F.when(signed == -(1 << 31), F.lit(0)).otherwise(F.abs(signed)) % partitions).cast("int")


def _coordination(failover: DataFrame, partition: DataFrame, consumer_group: DataFrame) -> DataFrame:
    """Of each scenario, the groups whose coordinator moves or is gone: the leader of their partition of __consumer_offsets."""
    offsets = partition.where("topic = '__consumer_offsets'").groupBy(_CLUSTER).agg(F.count("*").alias("n"))
    groups = (
        consumer_group.join(offsets, on=_CLUSTER, how="inner")
        .withColumn("partition", coordinator_partition(F.col("group_id"), F.col("n")))
        .groupBy(*_CLUSTER, "partition").agg(F.count("*").alias("groups"))
    )  # fmt: skip
    told = groups.select(*_CLUSTER).distinct().withColumn("told", F.lit(True))
    hit = failover.where("topic = '__consumer_offsets'").join(groups, on=[*_CLUSTER, "partition"], how="inner")
    count = hit.groupBy(_SCENARIO).agg(
        F.sum(F.when(F.expr("leader IS NOT NULL AND NOT leader <=> leader_before"), F.col("groups")).otherwise(0)).alias("moved_coordinators"),
        F.sum(F.when(F.expr("leader IS NULL"), F.col("groups")).otherwise(0)).alias("lost_coordinators"),
    )
    scenario = failover.select(*_SCENARIO).distinct().join(told, on=_CLUSTER, how="inner")
    return scenario.join(count, on=_SCENARIO, how="left").fillna(0, ["moved_coordinators", "lost_coordinators"]).drop("told")


def _state(leader: Column) -> Column:
    return F.when(leader.isNull(), "OfflinePartition").otherwise("OnlinePartition")


def _fail(state: Column, broker: Column) -> Column:
    """One broker's failure, as kafka_model.failover has it: who leaves the ISR, who enters the ELR, who is elected."""
    none = F.array().cast("array<int>")
    replicas, kept, zookeeper = F.col("replicas"), F.col("elr_kept"), F.col("controller") == "zookeeper"
    enough = F.least("min_insync_replicas", "replication_factor")

    def leaves(live: Column) -> Column:
        return F.struct(
            live.alias("live"),
            F.array_remove(state["isr"], broker).alias("isr"),
            F.filter(replicas, lambda id: F.array_contains(live, id)).alias("standing"),
        )

    def becomes_eligible(now: Column) -> Column:
        others = F.array_except(F.array_union(state["elr"], state["isr"]), now["isr"])
        eligible = F.when(kept & (F.size(now["isr"]) < enough), others).otherwise(none)
        valid = F.when(F.size(now["isr"]) > 0, now["isr"]).otherwise(eligible)
        return now.withField("elr", eligible).withField("valid", valid)

    def stands(now: Column) -> Column:
        leads = F.coalesce(F.array_contains(now["live"], state["leader"]), F.lit(False))
        stays = leads & (zookeeper | F.coalesce(F.array_contains(now["valid"], state["leader"]), F.lit(False)))
        known = F.when(kept & (F.size(now["valid"]) == 0) & (F.size(state["last_known_elr"]) == 1), _first(F.array_intersect(state["last_known_elr"], now["live"])))
        clean = _first(F.filter(now["standing"], lambda id: F.array_contains(now["valid"], id)))
        return now.withField("stays", stays).withField("clean", clean).withField(
            "loose", F.coalesce(known, F.when(F.col("unclean_allowed"), _first(now["standing"])))
        )

    def elects(now: Column) -> Column:
        handed = zookeeper & F.col("controlled_shutdown") & (F.size(replicas) > 1) & state["leader"].eqNullSafe(broker) & now["clean"].isNotNull()
        elected = F.when(~now["stays"], F.coalesce(now["clean"], now["loose"]))
        # The ZooKeeper controller leaves a leader that it cannot replace, unless that is in the ISR which it takes it out of.
        nobody = F.when(zookeeper & ~(state["leader"].eqNullSafe(broker) & F.array_contains(state["isr"], broker)), state["leader"])
        leader = F.when(now["stays"], state["leader"]).otherwise(F.coalesce(elected, nobody))
        alone = elected.isNotNull() & (now["clean"].isNull() | (F.size(now["isr"]) == 0))  # by the ELR, or uncleanly
        return now.withField("handed", handed).withField("elected", elected).withField("leader", leader).withField("alone", alone)

    def ends(now: Column) -> Column:
        # At an election ZooKeeper's controller drops all that do not live; without the ELR, the last member stays in for its return.
        dropped = zookeeper & ~now["handed"] & now["elected"].isNotNull()
        shrunk = F.when(dropped, F.array_intersect(state["isr"], now["live"])).when(kept | (F.size(now["isr"]) > 0), now["isr"]).otherwise(state["isr"])
        isr = F.when(now["alone"], F.array(now["leader"])).otherwise(shrunk)
        unclean = now["elected"].isNotNull() & now["clean"].isNull()
        # A leader lost is noted, if none is noted yet; a new one clears the note.
        noted = ~kept | now["leader"].eqNullSafe(state["leader"]) | (now["leader"].isNull() & (F.size(state["last_known_elr"]) > 0))
        known = F.when(noted, state["last_known_elr"]).when(now["leader"].isNull(), F.array(state["leader"])).otherwise(none)
        lossy = unclean & ~F.array_contains(F.array_union(state["isr"], state["elr"]), now["leader"])
        fell = F.when(state["leader"].isNull(), "OfflinePartition -> OfflinePartition").otherwise("OnlinePartition -> OfflinePartition")
        rose = F.when(now["elected"].isNotNull(), "OfflinePartition -> OnlinePartition")
        steps = F.when(now["handed"], F.array(F.lit("OnlinePartition -> OnlinePartition"))).otherwise(F.array_compact(F.array(fell, rose)))
        election = F.when(now["handed"], "controlled-shutdown").when(lossy, "unclean").otherwise("offline")
        return F.struct(
            now["leader"].alias("leader"),
            isr.alias("isr"),
            F.when(unclean, none).when(now["alone"], F.array_remove(now["elr"], now["leader"])).otherwise(now["elr"]).alias("elr"),
            known.alias("last_known_elr"),
            now["live"].alias("live"),
            F.when(now["stays"], state["transitions"]).otherwise(F.concat(state["transitions"], steps)).alias("transitions"),
            F.when(now["stays"], state["election"]).otherwise(election).alias("election"),
            (state["unclean"] | lossy).alias("unclean"),
        ).cast(_STATE)

    now = F.array_remove(state["live"], broker)
    for step in (leaves, becomes_eligible, stands, elects, ends):
        now = _let(now, step)
    # KRaft changes nothing for a broker outside the ISR.
    return F.when(zookeeper | F.array_contains(state["isr"], broker), now).otherwise(
        state.withField("live", F.array_remove(state["live"], broker))
    ).cast(_STATE)


def _first(ids: Column) -> Column:
    return F.get(ids, F.lit(0))


def _let(value: Column, body: Callable[[Column], Column]) -> Column:
    """The body with the value worked out once: inside a lambda Spark shares no common parts, and they would multiply."""
    return F.transform(F.array(value), body)[0]


def _load(failover: DataFrame, led: DataFrame, sample: DataFrame) -> DataFrame:
    """What each survivor takes over: by leaders, and by the sampled load of the partitions that it gains."""
    moved = failover.where("leader IS NOT NULL AND NOT leader <=> leader_before")
    gained = (
        moved.join(sample, on=_PARTITION, how="left")
        .groupBy(*_SCENARIO, F.col("leader").alias("broker_id"))
        .agg(F.count("*").alias("gained_leaders"), F.sum("records").alias("gained_records"), F.sum("size_bytes").alias("gained_size_bytes"))
    )
    all_moved = moved.groupBy(_SCENARIO).agg(F.count("*").alias("moved"))
    return (
        gained.join(all_moved, on=_SCENARIO, how="inner")
        .join(led, on=[*_CLUSTER, "broker_id"], how="left")
        .select(
            *_SCENARIO,
            "broker_id",
            F.coalesce("leaders_before", F.lit(0)).alias("leaders_before"),
            "gained_leaders",
            "gained_records",
            "gained_size_bytes",
            (F.col("gained_leaders") / F.col("moved")).alias("gained_share"),
        )
    )


def _summary(asked: DataFrame, failover: DataFrame, load: DataFrame, sample: DataFrame, coordination: DataFrame) -> DataFrame:
    leaderless = F.col("leader").isNull()
    counts = {
        "partitions": F.count("*"),
        "moved_leaders": F.count_if(~leaderless & ~F.col("leader").eqNullSafe(F.col("leader_before"))),
        "leaderless": F.count_if(leaderless),
        "newly_leaderless": F.count_if(leaderless & F.col("leader_before").isNotNull()),
        "under_min_isr": F.count_if("under_min_isr"),
        "newly_under_min_isr": F.count_if(F.expr("under_min_isr AND NOT under_min_isr_before")),
        "at_min_isr": F.count_if("at_min_isr"),
        "unclean_leaders": F.count_if(F.col("unclean") & ~leaderless),
        "no_replica_left": F.count_if(F.col("live_replicas") == 0),
        "newly_lost": F.count_if(F.expr("safe_replicas = 0 AND safe_replicas_before > 0")),
        "changed_partitions": F.count_if(~F.col("leader").eqNullSafe(F.col("leader_before")) | (F.col("isr") != F.sort_array("isr_before"))),
        "homeless_records": F.sum(F.when(leaderless, F.col("bound_records"))),
        "homeless_size_bytes": F.sum(F.when(leaderless, F.col("bound_bytes"))),
    }
    counted = failover.join(sample, on=_PARTITION, how="left").groupBy(_SCENARIO).agg(*(count.alias(name) for name, count in counts.items()))
    busiest = load.groupBy(_SCENARIO).agg(F.max(F.struct("gained_leaders", (-F.col("broker_id")).alias("id"))).alias("busiest"))
    sampled = sample.select(*_CLUSTER).distinct().withColumn("sampled", F.lit(True))
    whole = [name for name in counts if not name.startswith("homeless")]
    return (
        asked.join(counted, on=_SCENARIO, how="left")
        .join(busiest, on=_SCENARIO, how="left")
        .join(sampled, on=_CLUSTER, how="left")
        .join(coordination, on=_SCENARIO, how="left")
        .select(
            *_ASKED,
            *(F.coalesce(name, F.lit(0)).alias(name) for name in whole),
            *(F.when(F.col("sampled"), F.coalesce(name, F.lit(0))).alias(name) for name in ("homeless_records", "homeless_size_bytes")),
            "moved_coordinators",
            "lost_coordinators",
            (-F.col("busiest.id")).alias("busiest_survivor"),
            F.coalesce("busiest.gained_leaders", F.lit(0)).alias("busiest_gained_leaders"),
        )
    )
