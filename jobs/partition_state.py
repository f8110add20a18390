"""What becomes of partitions when brokers die, in columns: kafka_model.failover, asked once for each pattern.

What happens does not depend on which brokers these are, only on their places: who is the first replica, who is in sync, who lives, who dies
and in which order. Millions of partitions have some hundreds of such patterns. So each row is written as its pattern, a short text in which
brokers are their places among the partition's members; the model answers each distinct one of a batch, and its places become broker ids again.

Where the controllers are brokers too, the death that leaves fewer than a majority of the quorum's voters is the last thing that happens:
nobody is elected any more, and no ISR shrinks, so that a partition with a dead broker in its ISR accepts no acks=all.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_type

from kafka_model.failover import Election as Held
from kafka_model.failover import Partition, outcome

_CLUSTER = ["snapshot_id", "cluster_id"]
_PARTITION = [*_CLUSTER, "topic", "partition"]
_NONE = "array<int>"
_PLACES = pa.list_(pa.int32())
_ANSWER = pa.struct(
    [
        pa.field("leader", pa.int32()),
        pa.field("isr", _PLACES),
        pa.field("elr", _PLACES),
        pa.field("last_known_elr", _PLACES),
        pa.field("transitions", pa.list_(pa.string())),
        pa.field("election", pa.string()),
        pa.field("unclean", pa.bool_()),
        pa.field("changes", pa.int32()),
        pa.field("epochs", pa.int32()),
    ]
)


def rules_of(cluster: DataFrame, broker: DataFrame) -> DataFrame:
    """Of each cluster with a live broker, who controls it and who lives."""
    brokers = broker.groupBy(_CLUSTER).agg(
        F.collect_list(F.when(F.col("live"), F.col("broker_id"))).alias("live_brokers"),
        F.collect_list(F.when(~F.col("live"), F.col("broker_id"))).alias("dead_brokers"),
    )
    return cluster.join(brokers.where(F.size("live_brokers") > 0), on=_CLUSTER, how="inner").select(
        *_CLUSTER,
        "controller",
        "controller_id",
        F.col("elr").alias("elr_kept"),
        "live_brokers",
        F.when(F.col("controller") == "kraft", F.array_except("voters", "dead_brokers")).alias("voters_left"),
        (F.floor(F.size("voters") / 2) + 1).cast("int").alias("voters_needed"),
    )


def ruled(partition: DataFrame, cluster: DataFrame, broker: DataFrame, topic: DataFrame) -> DataFrame:
    """Partitions with the rules that their elections follow, and their replicas that live."""
    config = topic.select(
        *_CLUSTER,
        "topic",
        "replication_factor",
        F.coalesce("min_insync_replicas", F.lit(1)).alias("min_insync_replicas"),
        F.coalesce(F.col("configs")["unclean.leader.election.enable"] == "true", F.lit(False)).alias("topic_unclean"),
    )
    return (
        partition.select(*_PARTITION, "leader", "replicas", "isr", "elr", "last_known_elr")
        .join(F.broadcast(rules_of(cluster, broker)), on=_CLUSTER, how="inner")
        .join(config, on=[*_CLUSTER, "topic"], how="left")
        .withColumn("live", F.array_intersect("replicas", "live_brokers"))
        .withColumn("elr_kept", F.col("elr_kept") & F.col("elr").isNotNull())
    )


def patterned(partition: DataFrame) -> DataFrame:
    """With the state that the deaths find (`before`), the brokers that it names, and its pattern but for the deaths.

    A leader that does not live leads no more, whatever the dump says.
    """
    none = F.array().cast(_NONE)
    before = F.struct(
        F.when(F.array_contains("live", F.col("leader")), F.col("leader")).alias("leader"),
        F.col("isr"),
        F.coalesce("elr", none).alias("elr"),
        F.coalesce("last_known_elr", none).alias("last_known_elr"),
        F.col("live"),
        F.lit(False).alias("stuck"),
    )
    named = partition.withColumn("before", before).withColumn(
        "members", F.array_distinct(F.concat("replicas", "before.isr", "before.elr", "before.last_known_elr", F.array_compact(F.array("before.leader"))))
    )
    kraft = F.when(F.col("controller") == "kraft", "k").otherwise("z")
    places = (_places(F.col(name)) for name in ("before.isr", "before.elr", "before.last_known_elr", "live"))
    leader = F.coalesce(F.array_position("members", F.col("before.leader")), F.lit(0))
    counts = (F.size(F.array_distinct("replicas")), F.coalesce("min_insync_replicas", F.lit(1)), F.coalesce("replication_factor", F.size("replicas")))
    return named.withColumn("pattern", F.concat_ws(" ", kraft, F.col("elr_kept").cast("int"), *counts, leader, *places))


def after(brokers: Column, offline_on: Column | None = None) -> Column:
    """The state of a patterned partition once these brokers have died one after the other, and then those whose log dir fails; by the
    columns unclean_allowed and controlled_shutdown.

    Those that die once the quorum is lost are gone, and nobody is there to act on it.
    """
    gone = brokers if offline_on is None else F.concat(brokers, offline_on)
    rules = (F.coalesce("unclean_allowed", F.lit(False)).cast("int"), F.col("controlled_shutdown").cast("int"))
    asked = F.concat_ws(" ", "pattern", *rules, _places(heard(brokers, gone)))
    answer, live = _answer(asked), F.array_except("live", gone)
    isr = _ids(answer["isr"])
    return F.struct(
        F.col("members")[answer["leader"] - 1].alias("leader"),
        isr.alias("isr"),
        _ids(answer["elr"]).alias("elr"),
        _ids(answer["last_known_elr"]).alias("last_known_elr"),
        live.alias("live"),
        *(answer[name].alias(name) for name in ("transitions", "election", "unclean", "changes", "epochs")),
        (quorum_lost(brokers) & (F.size(F.array_except(isr, live)) > 0)).alias("stuck"),
    )


def _places(brokers: Column) -> Column:
    """Those that are members, as their places from 1: `1,3`."""
    places = F.filter(F.transform(brokers, lambda id: F.array_position("members", id)), lambda place: place > 0)
    return F.concat(F.lit("["), F.array_join(places.cast("array<string>"), ","), F.lit("]"))


def _ids(places: Column) -> Column:
    return F.transform(places, lambda place: F.col("members")[place - 1])


@F.arrow_udf(from_arrow_type(_ANSWER))
def _answer(asked: pa.Array) -> pa.Array:
    patterns = asked.dictionary_encode()
    return pa.array([_outcome(pattern) for pattern in patterns.dictionary.to_pylist()], _ANSWER).take(patterns.indices)


@cache
def _outcome(pattern: str) -> dict[str, Any]:
    """The model's answer to a pattern."""
    controller, elr, replicas, least, factor, leader, isr, eligible, known, live, unclean, in_order, dying = pattern.split(" ")

    def places(told: str) -> tuple[int, ...]:
        return tuple(int(place) for place in told[1:-1].split(",") if place)

    was = Partition(
        replicas=tuple(range(1, int(replicas) + 1)),
        leader=int(leader) or None,
        isr=places(isr),
        elr=places(eligible),
        last_known_elr=places(known),
        min_insync_replicas=int(least),
        topic_replication_factor=int(factor),
    )
    rules = {"controller": "kraft" if controller == "k" else "zookeeper", "elr": elr == "1", "unclean": unclean == "1"}
    now, left, election, transitions, lossy = was, set(places(live)), Held.NONE, [], False
    for broker in (place for place in places(dying) if place <= len(was.replicas)):
        left.discard(broker)
        step = outcome(now, [broker], left | {broker}, controlled_shutdown=in_order == "1", **rules)
        now, lossy = step.partition, lossy or step.election is Held.UNCLEAN
        election = election if step.election is Held.NONE else step.election
        transitions += [f"{before.value} -> {then.value}" for before, then in step.transitions]
    return {
        "leader": now.leader,
        "isr": now.isr,
        "elr": now.elr,
        "last_known_elr": now.last_known_elr,
        "transitions": transitions,
        "election": election.value,
        "unclean": lossy,
        "changes": now.partition_epoch - was.partition_epoch,
        "epochs": now.leader_epoch - was.leader_epoch,
    }


def quorum_lost(brokers: Column) -> Column:
    """Whether too few of the quorum's voters are left, once these brokers are gone, to elect a leader of their own."""
    left = F.size(F.array_except("voters_left", brokers))
    return F.coalesce((left < F.size("voters_left")) & (left < F.col("voters_needed")), F.lit(False))


def heard(brokers: Column, gone: Column | None = None) -> Column:
    """Of these, whose deaths are acted upon: those before the voter whose death loses the quorum; all that are gone, if none does."""
    straw = F.get(F.filter(brokers, lambda id: F.array_contains("voters_left", id)), F.size("voters_left") - F.col("voters_needed"))
    before = F.slice(brokers, F.lit(1), F.array_position(brokers, straw).cast("int") - 1)
    return F.when(quorum_lost(brokers), F.coalesce(before, F.array().cast(_NONE))).otherwise(brokers if gone is None else gone)


def led(state: Column) -> Column:
    """Whether its leader is there."""
    return F.coalesce(F.array_contains(state["live"], state["leader"]), F.lit(False))


def accepts(state: Column) -> Column:
    """Whether records with acks=all are acknowledged."""
    return led(state) & (F.size(state["isr"]) >= F.col("min_insync_replicas")) & ~state["stuck"]


def safe(live: Column) -> Column:
    """How many of these replicas have every acknowledged record: those of the ISR and of the ELR."""
    return F.size(F.array_intersect(live, F.array_union("before.isr", "before.elr")))
