"""Compare steps of the pipeline with programs in DuckDB, Java and pandas for the same task, on the same fleet.

    python -m tests.benchmarks.rivals [--clusters 2] [--topics 700] [--partitions 100] [--groups 200] [--keys 700]

DuckDB: SQL by hand, from Delta to Delta (tests/benchmarks/duckdb_by_hand.py). Java: one thread with Kafka's own AdminUtils, murmur2 and assignors, from text to text (tests/oracle/java/FleetByHand.java). pandas: placement
and failover, in memory, from Parquet to Parquet. Ours: the whole step with all its columns, from Delta to Delta. A time is the wall time of
one run; our session has run another step before. The step `failover` also stops brokers and fails racks, and computes the load and the counts.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import duckdb
import pandas as pd
import pyarrow.parquet as pq
import typer
from pyspark.sql import functions as F

from expectations.limits import limits
from jobs.generate import Fleet
from jobs.generate.tables import tables
from jobs.lake.lake import open_lake
from jobs.night import NightlyRun
from jobs.schema import (
    BROKER,
    BROKER_PAIR,
    CONSUMER_ASSIGNMENT,
    FAILOVER,
    FAILOVER_LOAD,
    GROUP_MEMBER,
    KEY_SAMPLE,
    PARTITION,
    PRODUCER_LOAD,
    REPLICA_ASSIGNMENT,
    TOPIC,
)
from jobs.spark.scale import Scale
from jobs.spark.session import configure_for_scale, session
from tests.benchmarks.duckdb_by_hand import run_duckdb
from tests.oracle import java

SNAPSHOT = "2026-01-01"
KEY = ["cluster_id", "topic", "partition"]
# The table with the rows that a rival writes too.
OUR_TABLE = {
    "replica_assignment": REPLICA_ASSIGNMENT,
    "producer_load": PRODUCER_LOAD,
    "consumer_assignment": CONSUMER_ASSIGNMENT,
    "failover": FAILOVER,
    "joint_failover": BROKER_PAIR,
}


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
    configure_for_scale(spark, Scale.LARGE)
    with tempfile.TemporaryDirectory() as folder:
        night = NightlyRun(open_lake(f"{folder}/lake", lambda: spark), SNAPSHOT)
        night.begin(
            [*tables(spark, Fleet(clusters, brokers, racks, topics, groups, partitions, keys, seed), SNAPSHOT).values()], {}, Scale.LARGE
        )
        ours = {
            name: seconds_of(partial(night.step, name, limits()))
            for name in ("change", "replica_assignment", "producer_load", "consumer_assignment", "failover", "joint_failover")
        }
        our_rows = {table: night.read(table).count() for table in {table for table in OUR_TABLE.values()}}
        write_text(night, Path(folder))
        by_java = java.ask("FleetByHand", "3.9.2", [{"folder": folder}])[0]["answer"]
        by_pandas = run_pandas(night, Path(folder))
        by_duckdb = {step.name: step for step in run_duckdb(night.lake, SNAPSHOT, Path(folder))}
        print_agreement(night, Path(folder))
    single, load = by_duckdb["single"], by_duckdb["load"]
    print(f"{'':44}{'ours s':>8}{'rival s':>9}{'ratio':>7}{'our rows':>12}{'its rows':>12}{'ratio per row':>15}")
    for task, step, (seconds, rows) in (
        ("placement: DuckDB", "replica_assignment", by_duckdb["placement"][1:]),
        ("keys: DuckDB", "producer_load", by_duckdb["keys"][1:]),
        ("single failures and their load: DuckDB", "failover", (single.seconds + load.seconds, single.rows)),
        ("pairs: DuckDB", "joint_failover", by_duckdb["pairs"][1:]),
        ("placement: AdminUtils in Java", "replica_assignment", by_java["placement"]),
        ("keys: murmur2 in Java", "producer_load", by_java["keys"]),
        ("groups: range and roundrobin in Java", "consumer_assignment", by_java["groups"]),
        ("placement: pandas", "replica_assignment", by_pandas["placement"]),
        ("failover: pandas", "failover", by_pandas["failover"]),
    ):
        count = our_rows[OUR_TABLE[step]]
        per_row = (ours[step] / count) / (seconds / rows)
        print(f"{task:44}{ours[step]:>8.1f}{seconds:>9.1f}{ours[step] / seconds:>7.2f}{count:>12,}{rows:>12,}{per_row:>15.2f}")


def seconds_of(run: Callable[[], object]) -> float:
    """Return the seconds that a run takes."""
    started = time.monotonic()
    run()
    return time.monotonic() - started


def print_agreement(night: NightlyRun, folder: Path) -> None:
    """Print how many rows of DuckDB are equal to ours."""
    compared = {
        "placement": (REPLICA_ASSIGNMENT, "true", KEY, "h.computed_replicas = o.replicas"),
        "keys": (PRODUCER_LOAD, "true", KEY, "h.keyed_records = o.keyed_records"),
        "single": (FAILOVER, "scenario_id LIKE 'broker %'", ["scenario_id", *KEY],
                   "(h.leader, h.at_risk_size_bytes) IS NOT DISTINCT FROM (o.leader, o.at_risk_size_bytes)"),
        "load": (FAILOVER_LOAD, "scenario_id LIKE 'broker %'", ["cluster_id", "scenario_id", "broker_id"],
                 "(h.gained_leaders, h.gained_records) IS NOT DISTINCT FROM (o.gained_leaders, o.gained_records)"),
        "pairs": (BROKER_PAIR, "true", ["cluster_id", "broker_id", "other_broker_id"],
                  "(h.newly_offline, h.newly_refusing_acks_all, h.newly_lost) = (o.newly_offline, o.newly_refusing_acks_all, o.newly_lost)"),
    }  # fmt: skip
    with duckdb.connect() as connection:
        for name, (table, condition, key, equal) in compared.items():
            ours = f"SELECT * FROM ({night.lake.duckdb_query(table, snapshot_id=SNAPSHOT)}) WHERE {condition}"
            hand = f"read_parquet('{folder}/{name}/*.parquet')"
            ((rows, same),) = connection.sql(
                f"SELECT count(*), avg(CAST({equal} AS INT)) FROM {hand} h JOIN ({ours}) o USING ({', '.join(key)})"
            ).fetchall()
            print(f"DuckDB by hand, {name}: {same:.2%} of {rows:,} rows are equal to ours")


def write_text(night: NightlyRun, folder: Path) -> None:
    """Write the fleet as tab-separated files, which the Java program reads."""
    topic = night.read(TOPIC).select("cluster_id", "topic", "partitions", "replication_factor", F.lit(0))
    key = night.read(KEY_SAMPLE).where("key IS NOT NULL").select("cluster_id", "topic", F.col("key").cast("string"), "records")
    member = night.read(GROUP_MEMBER).select("cluster_id", "group_id", "member_id", F.array_join("topics", ","))
    broker = night.read(BROKER).select("cluster_id", "broker_id", F.coalesce("rack", F.lit("")))
    for name, df in {"topics": topic, "keys": key, "groups": member, "brokers": broker}.items():
        df.toArrow().to_pandas().to_csv(folder / f"{name}.tsv", sep="\t", header=False, index=False)


def run_pandas(night: NightlyRun, folder: Path) -> dict[str, tuple[float, int]]:
    """Return the seconds and rows of each task, and print how many leaders are equal to ours.

    In a generated fleet, most elections need only the rule that pandas has: the first live replica in sync leads.
    """
    for table in (PARTITION, BROKER, TOPIC):
        pq.write_table(night.read(table).toArrow(), folder / f"{table.name}.parquet")
    rows: list[pd.DataFrame] = []
    placement_seconds = seconds_of(lambda: rows.append(placement(folder)))
    failover_seconds = seconds_of(lambda: rows.append(failover(folder)))
    by_pandas = rows[1][rows[1].scenario.str.startswith("broker")]
    ours = (
        night.read(FAILOVER)
        .where("scenario_id LIKE 'broker %'")
        .select("cluster_id", "scenario_id", "topic", "partition", "leader")
        .toArrow()
    )
    both = by_pandas.merge(ours.to_pandas(), left_on=["scenario", *KEY], right_on=["scenario_id", *KEY], suffixes=("", "_ours"))
    same = (both.leader.fillna(-1) == both.leader_ours.fillna(-1)).mean()
    print(f"pandas elects the same leader in {same:.2%} of {len(both):,} outcomes of a killed broker")
    return {"placement": (placement_seconds, len(rows[0])), "failover": (failover_seconds, len(rows[1]))}


def placement(folder: Path) -> pd.DataFrame:
    """Place all partitions like AdminUtils without racks."""
    topic, broker = (pd.read_parquet(folder / f"{name}.parquet") for name in ("topic", "broker"))
    broker_count = broker.groupby("cluster_id").broker_id.nunique().rename("brokers")
    partition = topic.merge(broker_count, on="cluster_id")
    partition = partition.loc[partition.index.repeat(partition.partitions)]
    partition["partition"] = partition.groupby(["cluster_id", "topic"]).cumcount()
    first, shift, brokers = partition.partition % partition.brokers, partition.partition // partition.brokers, partition.brokers
    followers = ((first + 1 + (shift + index) % (brokers - 1)) % brokers for index in range(partition.replication_factor.max() - 1))
    replicas = pd.concat([first, *followers], axis=1).to_numpy()
    partition["replicas"] = [row[:factor] for row, factor in zip(replicas.tolist(), partition.replication_factor, strict=True)]
    placed = partition[[*KEY, "replicas"]]
    placed.to_parquet(folder / "placed.parquet")
    return placed


def failover(folder: Path) -> pd.DataFrame:
    """Compute the leader and the ISR of each affected partition after the loss of each broker and each rack.

    The first live replica in sync becomes leader, and the other live replicas stay in the ISR.
    """
    partition, broker = (pd.read_parquet(folder / f"{name}.parquet") for name in ("partition", "broker"))
    live = broker[broker.live]
    kill = live.assign(scenario="broker " + live.broker_id.astype(str))
    stop = live.assign(scenario="stop " + live.broker_id.astype(str))
    rack = live[live.rack.notna()].assign(scenario="rack " + live.rack)
    failing = pd.concat([kill, stop, rack])[["cluster_id", "scenario", "broker_id"]]
    replica = partition[[*KEY, "replicas", "isr"]].explode("replicas").rename(columns={"replicas": "broker_id"})
    replica["replica_index"] = replica.groupby(KEY).cumcount()
    replica["in_sync"] = [id in isr for id, isr in zip(replica.broker_id, replica.isr, strict=True)]
    replica = replica.drop(columns="isr").merge(
        live[["cluster_id", "broker_id"]].assign(live=True), on=["cluster_id", "broker_id"], how="left"
    )
    replica["broker_id"] = replica.broker_id.astype("int64")
    affected = replica[[*KEY, "broker_id"]].merge(failing, on=["cluster_id", "broker_id"])[["scenario", *KEY]].drop_duplicates()
    replica_after = affected.merge(replica, on=KEY).merge(
        failing.assign(failed=True), on=["cluster_id", "scenario", "broker_id"], how="left"
    )
    electable = replica_after.failed.isna() & (replica_after.live == True) & replica_after.in_sync  # noqa: E712
    isr = replica_after[electable].sort_values("replica_index").groupby(["scenario", *KEY], sort=False)
    leaders = isr.agg(leader=("broker_id", "first"), in_sync=("broker_id", "size")).reset_index()
    outcomes = affected.merge(leaders, on=["scenario", *KEY], how="left")
    outcomes.to_parquet(folder / "failed.parquet")
    return outcomes


if __name__ == "__main__":
    typer.run(main)
