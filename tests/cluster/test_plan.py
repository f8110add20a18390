"""A plan that Kafka's own tools execute on a real cluster: the goals and rules of the result are those that the plan predicts."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import NamedTuple

import pytest
from pyspark.sql import SparkSession

from expectations.limits import limits
from jobs import ingest
from jobs.lake.lake import open_lake
from jobs.night import NightlyRun
from jobs.plan.answer import answer, compute_plan
from jobs.plan.current import READS
from jobs.plan.files import write_files
from jobs.plan.question import PlanQuestion
from jobs.schema import BROKER, PLAN, PLAN_GOAL, PLAN_MOVE, PLAN_RULE, VALIDATION
from tests.cluster import Cluster, cluster
from tests.jobs.plan.clusters import Tables

pytestmark = pytest.mark.kafka
RACKS = {1: "rack-a", 2: "rack-a", 3: "rack-b", 4: "rack-c"}
# Some partitions have two replicas on rack-a, and broker 1 leads nearly all of them.
TOPICS = {"orders": "1:2:3,1:2:4,1:2:3,1:2:4", "clicks": "1:3,1:3,1:3,1:3,1:4,1:4", "audit": "4:1,1:4"}


class RuleResult(NamedTuple):
    """The result of a rule; success None: its input is missing."""

    success: bool | None
    broken_rows: int


RuleResults = dict[tuple[str, str], RuleResult]  # by suite and rule


class Executed(NamedTuple):
    """The cluster after a plan: the verdict and the number of breaches of each goal, and the folder with its dumps."""

    goals: dict[str, tuple[str, int]]
    source: Path


def test_executed_plan_has_the_predicted_goals_and_rules(spark: SparkSession, tmp_path: Path) -> None:
    lake = open_lake(str(tmp_path / "lake"), lambda: spark)
    with cluster(RACKS) as kafka:
        for topic, assignment in TOPICS.items():
            kafka.tool("kafka-topics", "--create", "--topic", topic, "--replica-assignment", assignment)
        rules_before = run_night(NightlyRun(lake, "s"), write_dumps(kafka, tmp_path / "before"))
        planned = answer(lake, None, PlanQuestion("p", "live", moves_per_broker=3), limits(None))
        (summary,) = lake.read_local(PLAN, snapshot_id="s").to_pylist()
        assert summary["moved_replicas"] > 0
        assert summary["waves"] > 1
        run_commands(kafka, write_files(planned, "live", "p", tmp_path / "files"), waves=summary["waves"])
        executed = wait_until_nothing_moves(kafka, tmp_path)
        assert "throttled" not in kafka.tool("kafka-configs", "--describe", "--entity-type", "topics")  # --verify removes it
    goals = {row["goal"]: row for row in lake.read_local(PLAN_GOAL, snapshot_id="s").to_pylist()}
    assert {name: (row["verdict"], row["breaches"]) for name, row in goals.items()} == executed.goals
    for name in ("RackAwareGoal", "ReplicaDistributionGoal", "LeaderReplicaDistributionGoal"):
        assert executed.goals[name] == ("satisfied", 0)
    assert goals["RackAwareGoal"]["verdict_before"] == goals["ReplicaDistributionGoal"]["verdict_before"] == "violated"
    rules = {(row["suite"], row["rule"]): row for row in lake.read_local(PLAN_RULE, snapshot_id="s").to_pylist()}
    rules_after = run_night(NightlyRun(open_lake(str(tmp_path / "lake-after"), lambda: spark), "t"), executed.source)
    assert {key: RuleResult(row["success_before"], row["broken_rows_before"]) for key, row in rules.items()} == rules_before
    assert {key: RuleResult(row["success"], row["broken_rows"]) for key, row in rules.items()} == rules_after
    assert len([key for key in rules_after if rules_after[key] != rules_before[key]]) > 5


def write_dumps(kafka: Cluster, source: Path) -> Path:
    """Write the output of Kafka's tools into the folder of cluster `live`; return the source, which contains that folder alone."""
    folder = source / "live"
    folder.mkdir(parents=True)
    (folder / "topics.txt").write_text(kafka.tool("kafka-topics", "--describe"))
    (folder / "brokers.txt").write_text(kafka.tool("kafka-broker-api-versions"))
    (folder / "log-dirs.txt").write_text(kafka.tool("kafka-log-dirs", "--describe"))
    capacities = {"brokerCapacities": [{"brokerId": "-1", "capacity": {"NW_IN": "9000", "NW_OUT": "8000"}}]}
    (folder / "capacity.json").write_text(json.dumps(capacities))
    return source


def run_night(night: NightlyRun, source: Path) -> RuleResults:
    """Run a night of the cluster and return the result of every rule."""
    assert night.run(str(source), {}, limits(None), None).absent == []
    return {(row["suite"], row["rule"]): RuleResult(row["success"], row["broken_rows"]) for row in night.rows(VALIDATION)}


def run_commands(kafka: Cluster, files: list[Path], *, waves: int) -> None:
    """Run the commands of a plan as an operator does; the option --verify is repeated until the wave is complete."""
    paths = {path.name: path for path in files}
    commands = [line.split() for line in paths["commands.txt"].read_text().splitlines() if not line.startswith("#")]
    assert sum("--throttle" in words for words in commands) == waves
    for tool, _, _, *words in commands:  # the second and third words are --bootstrap-server HOST:PORT
        options = [str(paths.get(word, word)) for word in words]
        if "--verify" in options:
            wait_until_complete(kafka, Path(options[options.index("--reassignment-json-file") + 1]))
        else:
            kafka.tool(tool.removesuffix(".sh"), *options)


def wait_until_complete(kafka: Cluster, reassignment: Path) -> None:
    """Wait until Kafka reports every partition of a reassignment as completed."""
    partitions = len(json.loads(reassignment.read_text())["partitions"])
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        output = kafka.tool("kafka-reassign-partitions", "--reassignment-json-file", str(reassignment), "--verify", check=False)
        if output.count("is completed") == partitions:
            return
        time.sleep(0.5)
    raise AssertionError(output)


def wait_until_nothing_moves(kafka: Cluster, folder: Path) -> Executed:
    """Wait until a second plan moves nothing; return the goals before that plan and the dumps that it was made for."""
    for attempt in range(20):
        source = write_dumps(kafka, folder / f"after-{attempt}")
        tables = read_dumps(source)
        plan = compute_plan({table: tables[table] for table in READS}, PlanQuestion("q", "live"), limits(None)).tables
        goals = {row["goal"]: (row["verdict_before"], row["breaches_before"]) for row in plan[PLAN_GOAL].to_pylist()}
        if len(plan[PLAN_MOVE]) == 0 and len(tables[BROKER]) == len(RACKS):
            break
        time.sleep(0.5)
    return Executed(goals, source)


def read_dumps(source: Path) -> Tables:
    tables = ingest.read(lambda: pytest.fail("a few dumps need no Spark"), str(source), "s")
    return dict(zip(ingest.WRITES, tables, strict=True))
