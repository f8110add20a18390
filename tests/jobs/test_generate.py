"""A fleet generated as tables: its sizes, its consistency, and its independence from the number of Spark tasks."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pyspark.sql import SparkSession

from expectations.limits import limits
from jobs import ingest
from jobs.generate import Fleet
from jobs.generate.tables import tables
from jobs.lake.lake import open_lake
from jobs.night import NightlyRun
from jobs.schema import BROKER, CONSUMER_GROUP, KEY_SAMPLE, OBSERVED_ASSIGNMENT, PARTITION, REPLICA, TOPIC
from jobs.spark.scale import Scale

FLEET = Fleet(clusters=3, brokers=7, racks=3, topics=12, groups=4, partitions=9, keys=5, seed=11)


@pytest.fixture(scope="module")
def night(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> NightlyRun:
    night = NightlyRun(open_lake(str(tmp_path_factory.mktemp("fleet")), lambda: spark), "2026-01-01")
    night.begin([*tables(spark, FLEET, night.snapshot_id).values()], {}, Scale.LARGE)
    return night


def test_a_generated_night_passes_the_ingest_gate_and_fills_its_tables(night: NightlyRun) -> None:
    assert night.check("ingest", limits(None), None) == []
    assert [table.name for table in ingest.WRITES if not night.rows(table)] == [
        "rejected_input", "partition_load", "config", "client_quota", "acl", "proposed_reassignment",
        "owner", "waiver", "policy",
    ]  # fmt: skip


def test_a_fleet_has_the_requested_sizes(night: NightlyRun) -> None:
    rows = {table: night.rows(table) for table in (BROKER, TOPIC, CONSUMER_GROUP, KEY_SAMPLE)}
    assert {table.name: len(rows_of_table) for table, rows_of_table in rows.items()} == {
        "broker": 3 * 7, "topic": 3 * 12, "consumer_group": 3 * 4, "key_sample": 3 * 12 * (5 + 1)
    }  # fmt: skip
    assert [(row["cluster_id"], row["live"]) for row in rows[BROKER] if not row["live"]] == [("cluster-002", False)]
    assert {(row["replication_factor"], row["min_insync_replicas"]) for row in rows[TOPIC]} <= {(3, 2), (3, 1), (2, 1), (1, 1), (3, 3)}


def test_a_dead_broker_leads_no_partition_and_is_in_no_isr(night: NightlyRun) -> None:
    dead_brokers = {row["cluster_id"]: row["broker_id"] for row in night.rows(BROKER) if not row["live"]}
    affected = [row for row in night.rows(PARTITION) if dead_brokers.get(row["cluster_id"]) in row["replicas"]]
    assert affected
    for row in affected:
        dead = dead_brokers[row["cluster_id"]]
        assert row["isr"] == sorted(set(row["replicas"]) - {dead})
        assert row["leader"] == next((id for id in row["replicas"] if id != dead), None)


def test_replicas_and_members_match_their_partitions_and_groups(night: NightlyRun) -> None:
    expected = {(row["cluster_id"], row["topic"], row["partition"]): row["replicas"] for row in night.rows(PARTITION)}
    replicas: dict[tuple[str, str, int], dict[int, int]] = {}
    for row in night.rows(REPLICA):
        replicas.setdefault((row["cluster_id"], row["topic"], row["partition"]), {})[row["replica_index"]] = row["broker_id"]
    assert {key: [brokers[index] for index in range(len(brokers))] for key, brokers in replicas.items()} == expected
    members = {(row["cluster_id"], row["group_id"]): row["members"] for row in night.rows(CONSUMER_GROUP)}
    for row in night.rows(OBSERVED_ASSIGNMENT):
        assert int(row["member_id"].rpartition("-")[2]) < members[row["cluster_id"], row["group_id"]]


def test_the_same_seed_generates_the_same_fleet_in_any_number_of_tasks(night: NightlyRun, spark: SparkSession) -> None:
    before = spark.conf.get("spark.sql.shuffle.partitions")
    spark.conf.set("spark.sql.shuffle.partitions", 7)
    try:
        again = tables(spark, FLEET, "2026-01-01")
        for table in (PARTITION, KEY_SAMPLE):
            assert sorted(map(str, again[table].repartition(5).collect())) == sorted(map(str, night.read(table).collect()))
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", before)
    other_seed = tables(spark, replace(FLEET, seed=12), "2026-01-01")[PARTITION]
    assert sorted(map(str, other_seed.collect())) != sorted(map(str, night.read(PARTITION).collect()))
