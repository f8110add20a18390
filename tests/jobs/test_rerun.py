"""A published night that is run again, runs beside an unfinished one, or gets wrong rows."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from expectations.limits import limits
from jobs.cli import BUNDLED
from jobs.errors import AuditError
from jobs.lake.lake import Lake, open_lake
from jobs.lake.publication import Outcome
from jobs.night import NightlyRun
from jobs.plan.answer import answer
from jobs.plan.question import PlanQuestion
from jobs.schema import BROKER, PARTITION, PLAN, PLAN_RULE, REPLICA_ASSIGNMENT, VALIDATION
from tests.jobs.two_nights import FIRST, SECOND, SNAPSHOTS, query


def test_a_plan_of_nothing_changes_no_rule(changed_nights: Lake) -> None:
    answer(changed_nights, SECOND, PlanQuestion("nothing", "orders-eu", balance=False, topics=["prices"]), limits())
    (stored,) = changed_nights.read_local(PLAN, snapshot_id=SECOND, plan_id="nothing").to_pylist()
    assert stored["changed_partitions"] == 0
    names = ("suite", "rule", "severity", "success", "broken_rows", "example", "sentence")
    validated = {
        tuple(row[name] for name in names)
        for row in changed_nights.read_local(VALIDATION, snapshot_id=SECOND).to_pylist()
        if row["cluster_id"] == "orders-eu"
    }
    rules = changed_nights.read_local(PLAN_RULE, snapshot_id=SECOND, plan_id="nothing").to_pylist()
    assert {tuple(row[name] for name in names) for row in rules} == validated
    assert [row for row in rules if (row["success"], row["broken_rows"]) != (row["success_before"], row["broken_rows_before"])] == []
    assert not list(Path(changed_nights.uri).glob(".planned*"))


def test_an_unfinished_night_is_hidden_and_the_night_before_stays_visible(changed_nights: Lake) -> None:
    third = NightlyRun(changed_nights, "2026-01-03")
    third.ingest(str(BUNDLED), {})
    third.step("replica_assignment", limits())
    withheld = [(row["cluster_id"], row["detail"].partition(":")[0]) for row in third.publish(limits()).absent]
    assert withheld == [("orders-eu", "not every check has run"), ("payments-us", "not every check has run")]
    assert query(changed_nights, "SELECT DISTINCT snapshot_id, snapshot_age, stale FROM snapshot WHERE latest") == [(SECOND, 1, True)]
    assert query(changed_nights, "SELECT count(*) FROM replica_assignment WHERE snapshot_id = '2026-01-03'") == [(0,)]


def test_a_broken_hard_rule_withholds_only_its_cluster(changed_nights: Lake) -> None:
    night = NightlyRun(changed_nights, SECOND)
    sound = night.read(REPLICA_ASSIGNMENT).localCheckpoint()
    wrong = sound.withColumn(
        "replicas", F.when(F.col("cluster_id") == "payments-us", F.array(F.lit(12), F.lit(12))).otherwise(F.col("replicas"))
    )
    night.replace(REPLICA_ASSIGNMENT, wrong)
    broken = night.check("computed", limits(), None)
    assert any("payments-us" in line and "replica_assignment" in line for line in broken)
    assert not any("orders-eu" in line for line in broken)
    (absent,) = night.publish(limits()).absent
    assert (absent["cluster_id"], absent["last_snapshot_id"], absent["reason"]) == ("payments-us", FIRST, "withheld")
    assert absent["detail"].startswith("replica_assignment.")
    assert query(changed_nights, "SELECT cluster_id, snapshot_id FROM snapshot WHERE latest ORDER BY 1") == [
        ("orders-eu", SECOND),
        ("payments-us", FIRST),
    ]
    night.replace(REPLICA_ASSIGNMENT, sound)
    assert night.check("computed", limits(), None) == []
    assert night.publish(limits()).absent == []


def test_a_wrong_parameter_is_an_error_and_changes_nothing(changed_night: NightlyRun) -> None:
    with pytest.raises(AuditError, match="unknown parameter startindex"):
        changed_night.ingest(str(BUNDLED), {"startindex": "1"})
    with pytest.raises(AuditError, match="must be a whole number"):
        changed_night.ingest(str(BUNDLED), {"start_index": "-1"})
    assert query(changed_night.lake, f"SELECT count(*) FROM snapshot WHERE snapshot_id = '{SECOND}'") == [(2,)]


def test_the_error_of_a_step_without_its_ingest_names_the_command(changed_nights: Lake) -> None:
    with pytest.raises(AuditError, match="run `step ingest --snapshot 1999-01-01` first"):
        NightlyRun(changed_nights, "1999-01-01").step("failover", limits())


def test_a_source_that_cannot_be_read_changes_nothing(changed_night: NightlyRun) -> None:
    with pytest.raises(AuditError):
        changed_night.ingest(str(SNAPSHOTS / "no-such-folder"), {})
    assert query(changed_night.lake, f"SELECT count(*) FROM snapshot WHERE snapshot_id = '{SECOND}'") == [(2,)]


def test_a_null_in_a_not_null_column_is_an_error(changed_night: NightlyRun) -> None:
    incomplete = changed_night.read(BROKER).withColumn("live", F.lit(None).cast("boolean"))
    with pytest.raises(Exception, match="null values to non-nullable"):
        changed_night.replace(BROKER, incomplete)
    assert changed_night.read(BROKER).where("live IS NULL").isEmpty()


def test_rows_of_another_night_cannot_be_written(changed_nights: Lake, changed_night: NightlyRun) -> None:
    before = NightlyRun(changed_nights, FIRST).read(PARTITION).count()
    changed_night.replace(PARTITION, changed_night.read(PARTITION).localCheckpoint().withColumn("snapshot_id", F.lit(FIRST)))
    assert NightlyRun(changed_nights, FIRST).read(PARTITION).count() == before


def test_a_cluster_with_a_dump_of_topics_alone_has_a_verdict(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "source" / "bare").mkdir(parents=True)
    line = "\tTopic: t\tPartition: {}\tLeader: 1\tReplicas: 1,2\tIsr: 1,2\n"
    dump = "Topic: t\tPartitionCount: 2\tReplicationFactor: 2\tConfigs: \n" + line.format(0) + line.format(1)
    (tmp_path / "source" / "bare" / "topics.txt").write_text(dump)
    lake = open_lake(str(tmp_path / "lake"), lambda: spark)
    assert NightlyRun(lake, FIRST).run(str(tmp_path / "source"), {}, limits(), None) == Outcome(["bare"], [])
    verdict = "SELECT cluster_id, any_broker_reads, any_broker_writes, any_rack_reads, producer_skew_lower_bound, consumer_spread, byte_skew FROM verdict"
    assert query(lake, verdict) == [("bare", True, True, None, None, None, None)]
