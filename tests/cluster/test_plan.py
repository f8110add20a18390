"""A plan carried out by Kafka's own tools on a real cluster, which then is what the plan said it would be."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from expectations.limits import limits
from jobs import ingest
from jobs.lake.lake import open_lake
from jobs.night import Night
from jobs.plan.plan import READS, Question, answer, files, planned
from jobs.schema import BROKER, PLAN, PLAN_GOAL, PLAN_RULE, VALIDATION
from tests.cluster import Cluster, cluster

pytestmark = pytest.mark.kafka
RACKS = {1: "rack-a", 2: "rack-a", 3: "rack-b", 4: "rack-c"}
# Rack-unsafe, and nearly all on broker 1 and led by it.
TOPICS = {"orders": "1:2:3,1:2:4,1:2:3,1:2:4", "clicks": "1:3,1:3,1:3,1:3,1:4,1:4", "audit": "4:1,1:4"}


def dumped(kafka: Cluster, folder: Path) -> Path:
    """What an operator would save of the cluster, in a source of its own."""
    of_cluster = folder / "live"
    of_cluster.mkdir(parents=True)
    (of_cluster / "topics.txt").write_text(kafka.tool("kafka-topics", "--describe"))
    (of_cluster / "brokers.txt").write_text(kafka.tool("kafka-broker-api-versions"))
    (of_cluster / "log-dirs.txt").write_text(kafka.tool("kafka-log-dirs", "--describe"))
    (of_cluster / "capacity.json").write_text(
        json.dumps({"brokerCapacities": [{"brokerId": "-1", "capacity": {"NW_IN": "9000", "NW_OUT": "8000"}}]})
    )
    return folder


def ingested(source: Path) -> dict:
    tables = ingest.read(lambda: pytest.fail("a few dumps need no Spark"), str(source), "s")
    return dict(zip(ingest.WRITES, tables, strict=True))


def judged(night: Night, source: Path) -> dict[tuple[str, str], tuple[bool | None, int]]:
    """What every rule says of the cluster."""
    assert night.run(str(source), {}, limits(None), None).absent == []
    return {(row["suite"], row["rule"]): (row["success"], row["broken_rows"]) for row in night.rows(VALIDATION)}


def test_what_was_planned_is_what_kafka_makes_of_it(spark: SparkSession, tmp_path: Path) -> None:
    lake = open_lake(str(tmp_path / "lake"), lambda: spark)
    with cluster(RACKS) as kafka:
        for topic, assignment in TOPICS.items():
            kafka.tool("kafka-topics", "--create", "--topic", topic, "--replica-assignment", assignment)
        before = judged(Night(lake, "s"), dumped(kafka, tmp_path / "before"))
        answer(lake, None, Question("p", "live", moves_per_broker=3), limits(None))
        (summary,) = lake.read_local(PLAN, snapshot_id="s").to_pylist()
        assert summary["moved_replicas"] > 0
        assert summary["waves"] > 1
        written = {path.name: path for path in files(lake, "s", "live", "p", tmp_path / "files")}
        commands = [line.split() for line in written["commands.txt"].read_text().splitlines() if not line.startswith("#")]
        assert sum("--throttle" in words for words in commands) == summary["waves"]
        for tool, _, _, *options in commands:
            named = [str(written.get(word, word)) for word in options]
            if "--verify" in options:
                verified(kafka, Path(named[named.index("--reassignment-json-file") + 1]))
            else:
                kafka.tool(tool.removesuffix(".sh"), *named)
        found, source = settled(kafka, tmp_path)
        assert "throttled" not in kafka.tool("kafka-configs", "--describe", "--entity-type", "topics")  # lifted by --verify
    predicted = {row["goal"]: (row["verdict"], row["breaches"]) for row in lake.read_local(PLAN_GOAL, snapshot_id="s").to_pylist()}
    assert found == predicted
    assert (
        predicted["RackAwareGoal"] == predicted["ReplicaDistributionGoal"] == predicted["LeaderReplicaDistributionGoal"] == ("satisfied", 0)
    )
    goals_before = {row["goal"]: row["verdict_before"] for row in lake.read_local(PLAN_GOAL, snapshot_id="s").to_pylist()}
    assert goals_before["RackAwareGoal"] == goals_before["ReplicaDistributionGoal"] == "violated"
    # Every rule of the pipeline, as the plan said and as a night on what Kafka made of it says.
    rules = {(row["suite"], row["rule"]): row for row in lake.read_local(PLAN_RULE, snapshot_id="s").to_pylist()}
    then = judged(Night(open_lake(str(tmp_path / "then"), lambda: spark), "t"), source)
    assert {key: (row["success_before"], row["broken_rows_before"]) for key, row in rules.items()} == before
    assert {key: (row["success"], row["broken_rows"]) for key, row in rules.items()} == then
    assert len([key for key in then if then[key] != before[key]]) > 5


def verified(kafka: Cluster, path: Path) -> None:
    """Wait until Kafka says that the reassignment is complete."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        said = kafka.tool("kafka-reassign-partitions", "--reassignment-json-file", str(path), "--verify", check=False)
        if said.count("is completed") == len(json.loads(path.read_text())["partitions"]):
            return
        time.sleep(0.5)
    raise AssertionError(said)


def settled(kafka: Cluster, folder: Path) -> tuple[dict[str, tuple[str, int]], Path]:
    """The goals' verdicts on what the cluster has become, asked with a plan of nothing; and its dumps."""
    for attempt in range(20):
        rows = ingested(source := dumped(kafka, folder / f"after-{attempt}"))
        _, moves, _, goals, *_ = planned({table: rows[table] for table in READS}, Question("q", "live"), limits(None)).tables
        told = {row["goal"]: (row["verdict_before"], row["breaches_before"]) for row in goals.to_pylist()}
        if len(moves) == 0 and len(rows[BROKER]) == len(RACKS):
            return told, source
        time.sleep(0.5)
    return told, source
