"""failover: what the loss of each broker, and of each rack, does to the partitions that it touches.

A scenario is a list of brokers that fail in order. Only partitions with a replica on one of them change, and each lives through the
failures one after the other (jobs/failure/simulate.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from jobs.failure.partition_state import heard, none_for_null, quorum_lost, ruled, rules_of
from jobs.failure.simulate import Failures
from jobs.names import NIGHTLY
from jobs.schema import (
    BROKER,
    CLUSTER,
    COMMITTED_OFFSET,
    CONSUMER_GROUP,
    FAILOVER,
    FAILOVER_LOAD,
    OBSERVED_ASSIGNMENT,
    PARTITION,
    PARTITION_LOAD,
    PRODUCER_LOAD,
    SCENARIO,
    TOPIC,
    Table,
)
from jobs.schema.failure import HARMS, OFFLINE
from jobs.spark.session import by_cluster, of_arrow
from jobs.steps.stage import Stage, Stages

READS = (CLUSTER, BROKER, TOPIC, PARTITION, PRODUCER_LOAD, PARTITION_LOAD, CONSUMER_GROUP, OBSERVED_ASSIGNMENT, COMMITTED_OFFSET)
WRITES = (SCENARIO, FAILOVER, FAILOVER_LOAD)

_CLUSTER = ["snapshot_id", "cluster_id"]
_SCENARIO = [*_CLUSTER, "scenario_set", "scenario_id"]
_PARTITION = [*_CLUSTER, "topic", "partition"]
# What a scenario asks: columns of the table.
ASKED = (
    "snapshot_id STRING, cluster_id STRING, scenario_set STRING, scenario_id STRING, kind STRING, brokers ARRAY<INT>, racks ARRAY<STRING>, "
    "unclean BOOLEAN, controlled_shutdown BOOLEAN, log_dirs ARRAY<STRING>"
)
_GAINED = {"gained_records": "records", "gained_size_bytes": "size_bytes", "gained_size_bytes_per_s": "rate"}
_ASKED = [*SCENARIO.schema.names[:9], "log_dirs"]


def transform(*tables: DataFrame, parameters: Mapping[str, str]) -> Stages[tuple[DataFrame, ...]]:
    of = dict(zip(READS, tables, strict=True))
    return outcome(nightly(of[BROKER]), of)


def nightly(broker: DataFrame) -> DataFrame:
    """The loss of every live broker, its stop in order, and the loss of every rack: its brokers fail in the order of their ids."""
    live = broker.where("live")
    each = live.select(*_CLUSTER, F.concat(F.lit("broker "), "broker_id").alias("scenario_id"), F.lit("broker").alias("kind"), F.array("broker_id").alias("brokers"),
                       F.array().cast("array<string>").alias("racks"))  # fmt: skip
    rack = live.where("rack IS NOT NULL").groupBy(*_CLUSTER, "rack").agg(F.sort_array(F.collect_list("broker_id")).alias("brokers"))
    racks = rack.select(
        *_CLUSTER,
        F.concat(F.lit("rack "), "rack").alias("scenario_id"),
        F.lit("rack").alias("kind"),
        "brokers",
        F.array("rack").alias("racks"),
    )
    stops = each.withColumns({"scenario_id": F.concat(F.lit("stop "), F.col("brokers")[0]), "kind": F.lit("stop")})
    return each.unionByName(stops).unionByName(racks).withColumns(
        {"scenario_set": F.lit(NIGHTLY), "unclean": F.lit(None).cast("boolean"), "controlled_shutdown": F.col("kind") == "stop",
         "log_dirs": F.array().cast("array<string>")}
    ).select(*_ASKED)  # fmt: skip


def outcome(asked: DataFrame, of: Mapping[Table, DataFrame], *, replica: DataFrame | None = None) -> Stages[tuple[DataFrame, ...]]:
    """The scenarios with their counts, the partitions that they touch, and the survivors that take over; `replica`: if log dirs fail."""
    brokers = F.col("brokers")
    failures = (
        asked.join(rules_of(of[CLUSTER], of[BROKER]), on=_CLUSTER, how="inner")
        .withColumns({"quorum_lost": quorum_lost(brokers), "heard": heard(brokers)})
        .toArrow()
    )
    asked = of_arrow(asked.sparkSession, failures)
    rules = ruled(of[PARTITION], of[CLUSTER], of[BROKER], of[TOPIC], "replica_size_bytes")
    growth = (
        of[PRODUCER_LOAD]
        .where("observed_size_bytes > 0")
        .select(*_PARTITION, (F.col("observed_records") / F.col("observed_size_bytes")).alias("records_per_byte"))
    )
    found = rules.join(growth, on=_PARTITION, how="left")
    if replica is not None:
        found = found.join(_log_dirs(replica), on=_PARTITION, how="left").withColumn("log_dirs", none_for_null("log_dirs"))
    played = yield Stage(found.mapInArrow(_playing(failures), FAILOVER.columns), FAILOVER)
    sample = (
        of[PRODUCER_LOAD]
        .where("records IS NOT NULL")
        .select(*_PARTITION, "records", "size_bytes", "keyed_records", "explicit_records", "unkeyed_records")
    )
    load = yield Stage(_load(played, rules, of, sample))
    return _summary(asked, played, load, of, sample), played, by_cluster(load.select(*FAILOVER_LOAD.schema.names))


def _playing(rows: pa.Table) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def play(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        failures = Failures(rows)
        for batch in batches:
            yield failures.played(batch)

    return play


def _log_dirs(replica: DataFrame) -> DataFrame:
    """Where each partition has its replicas."""
    place = F.concat("broker_id", F.lit(":"), "log_dir")
    return (
        replica.where("log_dir IS NOT NULL AND replica_index IS NOT NULL").groupBy(_PARTITION).agg(F.collect_list(place).alias("log_dirs"))
    )


def coordinator_partition(group_id: Column, partitions: Column) -> Column:
    """The partition of __consumer_offsets whose leader coordinates a group (GroupCoordinatorService.partitionFor, 4.x; GroupMetadataManager
    before it): Utils.abs(groupId.hashCode) % partitions, the columnar form of kafka_model.java.hash_map.string_hash.
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


def _coordination(played: DataFrame, of: Mapping[Table, DataFrame]) -> Callable[[DataFrame], DataFrame]:
    """Of each scenario that touches their topic, the groups whose coordinator moves or is gone (the leader of their partition of
    __consumer_offsets), and the partitions of __transaction_state likewise.
    """
    offsets = of[PARTITION].where("topic = '__consumer_offsets'").groupBy(_CLUSTER).agg(F.count("*").alias("n"))
    groups = (
        of[CONSUMER_GROUP].join(offsets, on=_CLUSTER, how="inner")
        .withColumn("partition", coordinator_partition(F.col("group_id"), F.col("n")))
        .groupBy(*_CLUSTER, "partition").agg(F.count("*").alias("coordinators"))
        .withColumn("topic", F.lit("__consumer_offsets"))
    )  # fmt: skip
    transactions = of[PARTITION].where("topic = '__transaction_state'").select(*_PARTITION, F.lit(1).cast("bigint").alias("coordinators"))
    hit = played.where("topic IN ('__consumer_offsets', '__transaction_state')").join(
        groups.unionByName(transactions), on=_PARTITION, how="inner"
    )
    moved = F.expr("leader IS NOT NULL AND NOT leader <=> leader_before")

    def count(topic: str, which: Column) -> Column:
        return F.sum(F.when((F.col("topic") == topic) & which, F.col("coordinators")))

    counted = hit.groupBy(_SCENARIO).agg(
        count("__consumer_offsets", moved).alias("moved_coordinators"),
        count("__consumer_offsets", F.col("leader").isNull()).alias("lost_coordinators"),
        count("__transaction_state", moved).alias("moved_transaction_coordinators"),
        count("__transaction_state", F.col("leader").isNull()).alias("lost_transaction_coordinators"),
    )
    told = (
        groups.unionByName(transactions)
        .groupBy(_CLUSTER)
        .agg(
            F.some(F.col("topic") == "__consumer_offsets").alias("groups_told"),
            F.some(F.col("topic") == "__transaction_state").alias("transactions_told"),
        )
    )
    return _per_scenario(counted, told, groups_told=["moved_coordinators", "lost_coordinators"],
                         transactions_told=["moved_transaction_coordinators", "lost_transaction_coordinators"])  # fmt: skip


def _consumption(played: DataFrame, of: Mapping[Table, DataFrame]) -> Callable[[DataFrame], DataFrame]:
    """Of each scenario, the groups that read a partition which loses its leader, and the members that then read nothing."""
    held = of[OBSERVED_ASSIGNMENT].select(*_PARTITION, "group_id", "member_id")
    read = of[COMMITTED_OFFSET].select(*_PARTITION, "group_id", F.lit(None).cast("string").alias("member_id")).unionByName(held)
    gone = played.where(OFFLINE).select(*_SCENARIO, "topic", "partition")
    holds = held.groupBy(*_CLUSTER, "group_id", "member_id").agg(F.count("*").alias("holds"))
    lost = (
        gone.join(read, on=_PARTITION, how="inner")
        .groupBy(*_SCENARIO, "group_id", "member_id").agg(F.count("*").alias("loses"))
        .join(holds, on=[*_CLUSTER, "group_id", "member_id"], how="left")
    )  # fmt: skip
    counted = lost.groupBy(_SCENARIO).agg(
        F.count_distinct("group_id").alias("affected_groups"), F.count_if(F.col("loses") == F.col("holds")).alias("stranded_members")
    )
    told = read.groupBy(_CLUSTER).agg(F.lit(True).alias("groups_told"), F.some(F.col("member_id").isNotNull()).alias("members_told"))
    return _per_scenario(counted, told, groups_told=["affected_groups"], members_told=["stranded_members"])


def _per_scenario(counted: DataFrame, told: DataFrame, **names: list[str]) -> Callable[[DataFrame], DataFrame]:
    """Adds these counts to scenarios: 0 where none is counted, null where their cluster does not tell."""

    def add(scenario: DataFrame) -> DataFrame:
        whole = scenario.join(counted, on=_SCENARIO, how="left").join(told, on=_CLUSTER, how="left")
        counts = {name: F.when(F.col(sign), F.coalesce(name, F.lit(0))) for sign, those in names.items() for name in those}
        return whole.withColumns(counts).drop(*names)

    return add


def _let(value: Column, body: Callable[[Column], Column]) -> Column:
    """The body with the value worked out once: inside a lambda Spark shares no common parts, and they would multiply."""
    return F.transform(F.array(value), body)[0]


def _load(played: DataFrame, rules: DataFrame, of: Mapping[Table, DataFrame], sample: DataFrame) -> DataFrame:
    """What each survivor takes over: leaders, sampled load, and the bytes that it sends then, beside the capacity of its network.

    A leader sends what producers write to each follower that lives, and to each group that reads it. What it stores does not change: it
    was a follower before.
    """
    seen = of[PRODUCER_LOAD].where("observed_size_bytes_per_s IS NOT NULL").select(*_PARTITION, "observed_size_bytes_per_s")
    measured = of[PARTITION_LOAD].select(*_PARTITION, "network_in_bytes_per_s")
    groups = of[OBSERVED_ASSIGNMENT].groupBy(_PARTITION).agg(F.count_distinct("group_id").alias("groups"))
    rate = (
        seen.join(measured, on=_PARTITION, how="full")
        .join(groups, on=_PARTITION, how="left")
        .select(
            *_PARTITION,
            F.coalesce("network_in_bytes_per_s", "observed_size_bytes_per_s").alias("rate"),
            F.coalesce("groups", F.lit(0)).alias("groups"),
        )
    )

    def sends(live: Column) -> Column:
        return F.col("rate") * (F.col("groups") + live - 1)

    now = (
        rules.join(rate, on=_PARTITION, how="inner")
        .groupBy(*_CLUSTER, F.col("leader").alias("broker_id"))
        .agg(F.sum(sends(F.size("live"))).alias("sends_now"))
    )
    moved = F.expr("leader IS NOT NULL AND NOT leader <=> leader_before")
    gain = F.struct(F.col("leader").alias("broker_id"), moved.alias("gained"), sends(F.col("live_replicas")).alias("more"))
    loss = F.struct(
        F.col("leader_before").alias("broker_id"), F.lit(False).alias("gained"), (-sends(F.col("live_replicas_before"))).alias("more")
    )
    rated = seen.select(_CLUSTER).union(measured.select(_CLUSTER)).distinct().withColumn("rated", F.lit(True))
    changed = (
        played.join(F.broadcast(rated), on=_CLUSTER, how="left")
        .where(moved | F.col("rated"))  # the others matter only to what is sent
        .join(sample.select(*_PARTITION, "records", "size_bytes"), on=_PARTITION, how="left")
        .join(rate, on=_PARTITION, how="left")
        .select(*_SCENARIO, "records", "size_bytes", "rate", F.inline(F.array(gain, loss)))
        .groupBy(*_SCENARIO, "broker_id")
        .agg(
            F.count_if("gained").alias("gained_leaders"),
            *(F.sum(F.when(F.col("gained"), F.col(of))).alias(name) for name, of in _GAINED.items()),
            F.sum("more").alias("sends_more"),
        )
        .where("gained_leaders > 0")
    )
    leads = (
        of[PARTITION]
        .where("leader IS NOT NULL")
        .groupBy(*_CLUSTER, F.col("leader").alias("broker_id"))
        .agg(F.count("*").alias("leaders_before"))
    )
    capacity = of[BROKER].select(*_CLUSTER, "broker_id", F.col("network_out_capacity_bytes_per_s").alias("capacity"))
    return (
        changed.join(leads, on=[*_CLUSTER, "broker_id"], how="left")
        .join(now, on=[*_CLUSTER, "broker_id"], how="left")
        .join(capacity, on=[*_CLUSTER, "broker_id"], how="left")
        .withColumn("leaders_before", F.coalesce("leaders_before", F.lit(0)))
        .withColumn("gained_share", F.col("gained_leaders") / F.sum("gained_leaders").over(Window.partitionBy(_SCENARIO)))
        .withColumn("network_out_bytes_per_s", F.coalesce("sends_now", F.lit(0.0)) + F.col("sends_more"))
        .withColumn("network_out_share", F.when(F.col("capacity") > 0, F.col("network_out_bytes_per_s") / F.col("capacity")))
    )


def _summary(asked: DataFrame, played: DataFrame, load: DataFrame, of: Mapping[Table, DataFrame], sample: DataFrame) -> DataFrame:
    leaderless = F.col("leader").isNull()
    moved = ~leaderless & ~F.col("leader").eqNullSafe(F.col("leader_before"))
    lost = F.col("leader_before").isNotNull() & ~F.col("leader").eqNullSafe(F.col("leader_before"))
    counts = {
        "partitions": F.count("*"),
        "moved_leaders": F.count_if(moved),
        "leaderless": F.count_if(leaderless),
        "under_min_isr": F.count_if("under_min_isr"),
        "at_min_isr": F.count_if("at_min_isr"),
        "unclean_leaders": F.count_if(F.col("unclean") & ~leaderless),
        "no_replica_left": F.count_if(F.col("live_replicas") == 0),
        **{name: F.count_if(F.expr(harm)) for name, harm in HARMS.items()},
        "changed_partitions": F.count_if(
            ~F.col("leader").eqNullSafe(F.col("leader_before")) | (F.col("isr") != F.sort_array("isr_before"))
        ),
        "transitions": F.sum(F.size("transitions")),
        "at_risk_size_bytes": F.sum("at_risk_size_bytes"),
        "at_risk_records": F.sum("at_risk_records"),
        "at_risk_unknown": F.count_if(lost & F.col("at_risk_size_bytes").isNull()),
    }
    counted = played.groupBy(_SCENARIO).agg(
        *(count.alias(name) for name, count in counts.items()), F.sum("metadata_records").alias("changes")
    )
    best = load.groupBy(_SCENARIO).agg(
        F.max(F.struct("gained_leaders", (-F.col("broker_id")).alias("id"))).alias("busiest"),
        F.max(F.when(F.col("network_out_share").isNotNull(), F.struct("network_out_share", (-F.col("broker_id")).alias("id")))).alias(
            "fullest"
        ),
    )
    batches = _told_by_zookeeper_controller(asked, played, moved)
    whole = (
        asked.join(counted, on=_SCENARIO, how="left")
        .join(batches, on=_SCENARIO, how="left")
        .fillna(0, [name for name in (*counted.columns, *batches.columns) if name not in _SCENARIO])
        .join(best, on=_SCENARIO, how="left")
    )
    for with_more in (_coordination(played, of), _consumption(played, of), _homeless(played, of, sample)):
        whole = with_more(whole)
    survivors = F.size(F.array_except("live_brokers", "brokers"))
    gained = F.coalesce("busiest.gained_leaders", F.lit(0))
    more = {
        "busiest_survivor": -F.col("busiest.id"),
        "busiest_gained_leaders": gained,
        "concentration": F.when(F.col("moved_leaders") > 0, gained * survivors / F.col("moved_leaders")),
        "fullest_survivor": -F.col("fullest.id"),
        "fullest_survivor_share": F.col("fullest.network_out_share"),
        "undeliverable_share": F.when(F.col("sampled") > 0, F.col("undeliverable_records") / F.col("sampled")),
        "controller_moves": F.array_contains("brokers", F.col("controller_id")),
        "quorum_lost": F.when(F.col("voters_left").isNotNull(), F.col("quorum_lost")),
        **_controller_work(survivors),
    }
    return whole.select(*(more[name].alias(name) if name in more else name for name in SCENARIO.schema.names))


def _told_by_zookeeper_controller(asked: DataFrame, played: DataFrame, moved: Column) -> DataFrame:
    """Of a scenario in which one broker fails, the partitions of each batch of requests, and how many brokers they concern."""
    handed = F.col("election") == "controlled-shutdown"
    batches = {
        "handed": handed,  # in order: what the broker leads goes to another
        "followed": (F.col("assigned_replicas") > 1)
        & ~F.col("leader_before").eqNullSafe(F.col("dying")),  # in order: it leaves the ISR of the rest
        "elected": moved & ~handed,
        "left": F.lit(True),
    }
    of_one = asked.where("size(brokers) = 1").select(*_SCENARIO, F.col("brokers")[0].alias("dying"))
    concerned = played.where("metadata_records IS NULL").join(F.broadcast(of_one), on=_SCENARIO, how="inner")
    first = F.col("place") == 0  # stands for its partition
    by_survivor = (
        concerned.select(
            *_SCENARIO,
            *(F.coalesce(of, F.lit(False)).alias(name) for name, of in batches.items()),
            F.posexplode_outer("survivors").alias("place", "survivor"),
        )
        .withColumn("place", F.coalesce("place", F.lit(0)))
        .groupBy(*_SCENARIO, "survivor")
        .agg(
            *(F.count_if(F.col(name) & first).alias(name) for name in batches), *(F.some(name).alias(f"{name}_reaches") for name in batches)
        )
    )
    reached = (F.count_if(F.col(f"{name}_reaches") & F.col("survivor").isNotNull()).alias(f"{name}_reaches") for name in batches)
    return by_survivor.groupBy(_SCENARIO).agg(*(F.sum(name).alias(name) for name in batches), *reached)


def _controller_work(survivors: Column) -> dict[str, Column]:
    """Count what the controller writes or sends: the columnar form of the requests of kafka_model.election.zookeeper_controller.

    KRaft fences a killed broker with one record of its registration; of one that stops in order it notes first that it is stopping. A
    broker whose log dirs fail tells all of them in one.
    """
    kraft, in_order = F.col("controller") == "kraft", F.col("controlled_shutdown")
    one = (
        ~kraft
        & (F.size("brokers") == 1)
        & (F.size("log_dirs") == 0)
        & ~F.coalesce(F.array_contains("brokers", F.col("controller_id")), F.lit(False))
    )
    on_dirs = F.array_distinct(F.transform("log_dirs", lambda place: F.substring_index(place, ":", 1).cast("int")))
    registrations = F.col("heard") * F.when(in_order, 2).otherwise(1) + F.size(F.array_except(on_dirs, F.col("brokers")))

    def some(batch: str, requests: Column) -> Column:
        return F.when(F.col(batch) > 0, requests).otherwise(0)

    stopping = {
        "leader_and_isr_requests": some("handed", F.col("handed_reaches") + 1) + F.col("followed_reaches"),
        "update_metadata_requests": some("handed", survivors + 1) + some("followed", survivors + 1),
        "stop_replica_requests": some("followed", F.lit(2)),
    }
    dying = {
        "leader_and_isr_requests": F.col("elected_reaches") + F.col("left_reaches"),
        "update_metadata_requests": some("elected", survivors) + survivors,
        "stop_replica_requests": F.lit(0),
    }
    requests = {name: F.when(one, dying[name] + F.when(in_order, stopping[name]).otherwise(0)).cast("bigint") for name in dying}
    return {"metadata_records": F.when(kraft, F.col("changes") + registrations), **requests}


def _homeless(played: DataFrame, of: Mapping[Table, DataFrame], sample: DataFrame) -> Callable[[DataFrame], DataFrame]:
    """Of each scenario, the sampled records that have nowhere to go, since they are bound to a partition without a leader by a key or by
    name, or their topic has no leader left; and those without a key that go to the topic's other partitions instead.
    """
    gone = played.where("leader IS NULL").select(*_SCENARIO, "topic", "partition", "leader_before")
    silent = (
        gone.groupBy(*_SCENARIO, "topic").agg(F.count("*").alias("gone"))
        .join(of[TOPIC].select(*_CLUSTER, "topic", "partitions"), on=[*_CLUSTER, "topic"], how="inner")
        .where("gone = partitions").select(*_SCENARIO, "topic", F.lit(True).alias("silent"))
    )  # fmt: skip
    silenced = F.coalesce("silent", F.lit(False))
    nowhere = F.col("explicit_records") + F.col("keyed_records") + F.when(silenced, F.col("unkeyed_records")).otherwise(0)
    counted = (
        gone.join(sample, on=_PARTITION, how="inner")
        .join(silent, on=[*_SCENARIO, "topic"], how="left")
        .groupBy(_SCENARIO)
        .agg(
            F.sum(nowhere).alias("undeliverable_records"),
            F.sum(F.when(F.col("records") > 0, F.round(F.col("size_bytes") * (nowhere / F.col("records"))).cast("bigint"))).alias(
                "undeliverable_size_bytes"
            ),
            F.sum(F.when(~silenced & F.col("leader_before").isNotNull(), F.col("unkeyed_records")).otherwise(0)).alias(
                "redirected_records"
            ),
        )
    )
    told = sample.groupBy(_CLUSTER).agg(F.sum("records").alias("sampled"), F.lit(True).alias("sample_told"))
    return _per_scenario(counted, told, sample_told=["undeliverable_records", "undeliverable_size_bytes", "redirected_records"])
