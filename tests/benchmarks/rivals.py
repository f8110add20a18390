"""What a user would pick instead, beside the pipeline's steps, on the same fleet in one run:

    python -m tests.benchmarks.rivals [--clusters 2] [--topics 700] [--partitions 100] [--groups 200] [--keys 700]

Java: one thread with Kafka's own AdminUtils, murmur2 and assignors, from text to text (tests/oracle/java/FleetByHand.java). pandas: placement
and failover as one would write them by hand, in memory, from Parquet to Parquet. Ours: the whole step, from Delta to Delta, with all that
the step says besides. Seconds on the wall; each once, ours after a step has warmed the session.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import typer
from pyspark.sql import functions as F

from expectations.limits import limits
from jobs.generate import Fleet
from jobs.generate.tables import tables
from jobs.lake.lake import Lake
from jobs.night import Night
from jobs.schema import BROKER, FAILOVER, GROUP_MEMBER, KEY_SAMPLE, PARTITION, TOPIC
from jobs.spark.session import session, set_for
from tests.oracle import java

SNAPSHOT = "2026-01-01"
KEY = ["cluster_id", "topic", "partition"]


def main(
    clusters: int = 2,
    brokers: int = 40,
    racks: int = 3,
    topics: int = 700,
    partitions: int = 100,
    groups: int = 200,
    keys: int = 700,
    seed: int = 0,
) -> None:
    spark = session()
    set_for(spark, small=False)
    with tempfile.TemporaryDirectory() as folder:
        night = Night(Lake(f"{folder}/lake", lambda: spark), SNAPSHOT)
        night.begin([*tables(spark, Fleet(clusters, brokers, racks, topics, groups, partitions, keys, seed), SNAPSHOT).values()], {})
        ours = {
            name: timed(partial(night.step, name, limits()))
            for name in ("change", "replica_assignment", "producer_load", "consumer_assignment", "failover")
        }
        text(night, Path(folder))
        by_java = java.ask("FleetByHand", "3.9.2", [{"folder": folder}])[0]["answer"]
        by_pandas = in_pandas(night, Path(folder))
    print(f"{'':44}{'ours s':>8}{'rival s':>9}{'ratio':>7}{'rows':>12}")
    for what, step, (seconds, rows) in (
        ("placement: AdminUtils in Java", "replica_assignment", by_java["placement"]),
        ("keys: murmur2 in Java", "producer_load", by_java["keys"]),
        ("groups: range and roundrobin in Java", "consumer_assignment", by_java["groups"]),
        ("placement: pandas", "replica_assignment", by_pandas["placement"]),
        ("failover: pandas", "failover", by_pandas["failover"]),
    ):
        print(f"{what:44}{ours[step]:>8.1f}{seconds:>9.1f}{ours[step] / seconds:>7.2f}{rows:>12,}")


def timed(work: Callable[[], object]) -> float:
    began = time.monotonic()
    work()
    return time.monotonic() - began


def text(night: Night, folder: Path) -> None:
    """The fleet as Java reads it."""
    topic = night.read(TOPIC).select("cluster_id", "topic", "partitions", "replication_factor", F.lit(0))
    key = night.read(KEY_SAMPLE).where("key IS NOT NULL").select("cluster_id", "topic", F.col("key").cast("string"), "records")
    member = night.read(GROUP_MEMBER).select("cluster_id", "group_id", "member_id", F.array_join("topics", ","))
    broker = night.read(BROKER).select("cluster_id", "broker_id", F.coalesce("rack", F.lit("")))
    for name, df in {"topics": topic, "keys": key, "groups": member, "brokers": broker}.items():
        df.toArrow().to_pandas().to_csv(folder / f"{name}.tsv", sep="\t", header=False, index=False)


def in_pandas(night: Night, folder: Path) -> dict[str, tuple[float, int]]:
    """Seconds and rows of each; its leaders are compared with ours, where no cluster's rules are more than "the first in sync that lives"."""
    for table in (PARTITION, BROKER, TOPIC):
        pq.write_table(night.read(table).toArrow(), folder / f"{table.name}.parquet")
    rows: list[pd.DataFrame] = []
    placed = timed(lambda: rows.append(placement(folder)))
    failed = timed(lambda: rows.append(failover(folder)))
    theirs = rows[1][rows[1].scenario.str.startswith("broker")]
    of_ours = (
        night.read(FAILOVER)
        .where("scenario_id LIKE 'broker %'")
        .select("cluster_id", "scenario_id", "topic", "partition", "leader")
        .toArrow()
    )
    both = theirs.merge(of_ours.to_pandas(), left_on=["scenario", *KEY], right_on=["scenario_id", *KEY], suffixes=("", "_ours"))
    same = (both.leader.fillna(-1) == both.leader_ours.fillna(-1)).mean()
    print(f"pandas' leaders are ours in {same:.2%} of {len(both):,} outcomes of a killed broker")
    return {"placement": (placed, len(rows[0])), "failover": (failed, len(rows[1]))}


def placement(folder: Path) -> pd.DataFrame:
    """AdminUtils without racks, as most write it."""
    topic, broker = (pd.read_parquet(folder / f"{name}.parquet") for name in ("topic", "broker"))
    n = broker.groupby("cluster_id").broker_id.nunique().rename("n")
    each = topic.merge(n, on="cluster_id")
    each = each.loc[each.index.repeat(each.partitions)]
    each["partition"] = each.groupby(["cluster_id", "topic"]).cumcount()
    first, shift = each.partition % each.n, each.partition // each.n
    replicas = [first, *((first + 1 + (shift + nth) % (each.n - 1)) % each.n for nth in range(each.replication_factor.max() - 1))]
    stacked = pd.concat(replicas, axis=1).to_numpy()
    each["replicas"] = [row[:factor] for row, factor in zip(stacked.tolist(), each.replication_factor, strict=True)]
    found = each[[*KEY, "replicas"]]
    found.to_parquet(folder / "placed.parquet")
    return found


def failover(folder: Path) -> pd.DataFrame:
    """Each broker and each rack fails: the first replica that lives and is in sync leads, and the rest of the ISR stays."""
    partition, broker = (pd.read_parquet(folder / f"{name}.parquet") for name in ("partition", "broker"))
    live = broker[broker.live]
    one = live.assign(scenario="broker " + live.broker_id.astype(str))
    stop = live.assign(scenario="stop " + live.broker_id.astype(str))
    rack = live[live.rack.notna()].assign(scenario="rack " + live.rack)
    failing = pd.concat([one, stop, rack])[["cluster_id", "scenario", "broker_id"]]
    replica = partition[[*KEY, "replicas", "isr"]].explode("replicas").rename(columns={"replicas": "broker_id"})
    replica["place"] = replica.groupby(KEY).cumcount()
    replica["in_sync"] = [id in isr for id, isr in zip(replica.broker_id, replica.isr, strict=True)]
    replica = replica.drop(columns="isr").merge(
        live[["cluster_id", "broker_id"]].assign(live=True), on=["cluster_id", "broker_id"], how="left"
    )
    replica["broker_id"] = replica.broker_id.astype("int64")
    touched = replica[[*KEY, "broker_id"]].merge(failing, on=["cluster_id", "broker_id"])[["scenario", *KEY]].drop_duplicates()
    each = touched.merge(replica, on=KEY).merge(failing.assign(gone=True), on=["cluster_id", "scenario", "broker_id"], how="left")
    left = each[each.gone.isna() & (each.live == True) & each.in_sync].sort_values("place")  # noqa: E712
    heirs = left.groupby(["scenario", *KEY], sort=False).agg(leader=("broker_id", "first"), in_sync=("broker_id", "size")).reset_index()
    found = touched.merge(heirs, on=["scenario", *KEY], how="left")
    found.to_parquet(folder / "failed.parquet")
    return found


if __name__ == "__main__":
    typer.run(main)
