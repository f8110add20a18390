"""A fleet made up as tables: what its dumps would tell, and the same however many tasks make it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pyspark.sql import SparkSession

from expectations.limits import limits
from jobs import ingest
from jobs.generate import Fleet
from jobs.generate.tables import tables
from jobs.lake.lake import Lake
from jobs.night import Night
from jobs.schema import BROKER, CONSUMER_GROUP, KEY_SAMPLE, OBSERVED_ASSIGNMENT, PARTITION, REPLICA, TOPIC

FLEET = Fleet(clusters=3, brokers=7, racks=3, topics=12, groups=4, partitions=9, keys=5, seed=11)


@pytest.fixture(scope="module")
def night(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Night:
    night = Night(Lake(str(tmp_path_factory.mktemp("fleet")), lambda: spark), "2026-01-01")
    night.begin([*tables(spark, FLEET, night.snapshot_id).values()], {})
    return night


def test_every_rule_about_what_is_ingested_holds_and_no_table_is_left_out(night: Night) -> None:
    assert night.check("ingest", limits(None), None) == []
    assert [table.name for table in ingest.WRITES if not night.rows(table)] == ["rejected_input", "partition_load"]


def test_a_fleet_has_what_was_asked_for(night: Night) -> None:
    rows = {table: night.rows(table) for table in (BROKER, TOPIC, CONSUMER_GROUP, KEY_SAMPLE)}
    assert {table.name: len(of) for table, of in rows.items()} == {
        "broker": 3 * 7, "topic": 3 * 12, "consumer_group": 3 * 4, "key_sample": 3 * 12 * (5 + 1)
    }  # fmt: skip
    assert [(row["cluster_id"], row["live"]) for row in rows[BROKER] if not row["live"]] == [("cluster-002", False)]
    assert {(row["replication_factor"], row["min_insync_replicas"]) for row in rows[TOPIC]} <= {(3, 2), (3, 1), (2, 1), (1, 1), (3, 3)}


def test_a_lost_broker_leads_nothing_and_is_in_no_isr(night: Night) -> None:
    lost = {row["cluster_id"]: row["broker_id"] for row in night.rows(BROKER) if not row["live"]}
    held = [row for row in night.rows(PARTITION) if lost.get(row["cluster_id"]) in row["replicas"]]
    assert held
    for row in held:
        gone = lost[row["cluster_id"]]
        assert row["isr"] == sorted(set(row["replicas"]) - {gone})
        assert row["leader"] == next((id for id in row["replicas"] if id != gone), None)


def test_replicas_and_members_are_those_of_partitions_and_groups(night: Night) -> None:
    of_partition = {(row["cluster_id"], row["topic"], row["partition"]): row["replicas"] for row in night.rows(PARTITION)}
    by_index: dict[tuple[str, str, int], dict[int, int]] = {}
    for row in night.rows(REPLICA):
        by_index.setdefault((row["cluster_id"], row["topic"], row["partition"]), {})[row["replica_index"]] = row["broker_id"]
    assert {key: [of[index] for index in range(len(of))] for key, of in by_index.items()} == of_partition
    members = {(row["cluster_id"], row["group_id"]): row["members"] for row in night.rows(CONSUMER_GROUP)}
    for row in night.rows(OBSERVED_ASSIGNMENT):
        assert int(row["member_id"].rpartition("-")[2]) < members[row["cluster_id"], row["group_id"]]


def test_the_same_seed_is_the_same_fleet_in_any_number_of_tasks(night: Night, spark: SparkSession) -> None:
    before = spark.conf.get("spark.sql.shuffle.partitions")
    spark.conf.set("spark.sql.shuffle.partitions", 7)
    try:
        again = tables(spark, FLEET, "2026-01-01")
        for table in (PARTITION, KEY_SAMPLE):
            assert sorted(map(str, again[table].repartition(5).collect())) == sorted(map(str, night.read(table).collect()))
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", before)
    other = tables(spark, replace(FLEET, seed=12), "2026-01-01")[PARTITION]
    assert sorted(map(str, other.collect())) != sorted(map(str, night.read(PARTITION).collect()))
