"""Files of a plan for Kafka's own tools, and the rows of a stored plan."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa

from expectations.limits import limits
from jobs.lake.selection import Attempt
from jobs.plan.answer import WRITES, answer, unfulfilled
from jobs.plan.files import write_files
from jobs.plan.question import PlanQuestion
from jobs.schema import PLAN, PLAN_MOVE, SNAPSHOT
from jobs.views import DuckdbViews
from tests.jobs.empty_lake import empty_lake
from tests.jobs.plan.clusters import cluster_on_three_racks, published_lake
from tests.jobs.rows import rows


def test_files_contain_each_wave_its_rollback_and_the_election(tmp_path: Path) -> None:
    lake = published_lake(cluster_on_three_racks([([1, 2], 2, [1, 2]), ([3, 4], 3, [3, 4])]), tmp_path / "lake")
    planned = answer(lake, None, PlanQuestion("p", "c"), limits(None), rules=False)
    assert planned.attempt == Attempt("s", "1")
    paths = write_files(planned, "c", "p", tmp_path)
    documents = {path.name: json.loads(path.read_text()) for path in paths if path.suffix == ".json"}
    assert documents.keys() == {"reassignment-1.json", "rollback-1.json", "preferred-election.json"}
    assert [line for line in paths[-1].read_text().splitlines() if not line.startswith("#")] == [
        "kafka-reassign-partitions.sh --bootstrap-server HOST:PORT --reassignment-json-file reassignment-1.json --execute --throttle 500000",
        "kafka-reassign-partitions.sh --bootstrap-server HOST:PORT --reassignment-json-file reassignment-1.json --verify",
        "kafka-leader-election.sh --bootstrap-server HOST:PORT --election-type preferred --path-to-json-file preferred-election.json",
    ]
    (move,) = lake.read_local(PLAN_MOVE, snapshot_id="s").to_pylist()
    assert documents["reassignment-1.json"] == {"version": 1, "partitions": [{"topic": "t", "partition": 0, "replicas": move["replicas"]}]}
    assert documents["rollback-1.json"] == {"version": 1, "partitions": [{"topic": "t", "partition": 0, "replicas": [1, 2]}]}
    assert documents["preferred-election.json"] == {"partitions": [{"topic": "t", "partition": 0}]}
    lines = [path.read_text().splitlines() for path in paths if path.suffix == ".json"]
    assert [len(lines_of_file) for lines_of_file in lines] == [3, 3, 3]  # one for each partition, between the brackets


def test_plan_of_the_same_id_is_replaced_and_other_plans_stay(tmp_path: Path) -> None:
    lake = published_lake(cluster_on_three_racks([([1, 2], 2, [1, 2])]), tmp_path)
    for plan_id in ("p", "p", "q"):
        answer(lake, "s", PlanQuestion(plan_id, "c"), limits(None), rules=False)
    assert sorted(row["plan_id"] for row in lake.read_local(PLAN).to_pylist()) == ["p", "q"]


def test_plan_belongs_to_the_attempt_that_it_read(tmp_path: Path) -> None:
    lake = published_lake(cluster_on_three_racks([([1, 2], 2, [1, 2])]), tmp_path)
    question, plans = PlanQuestion("p", "c"), "SELECT attempt_id FROM plan"
    answer(lake, None, question, limits(None), rules=False)
    assert DuckdbViews(lake).execute(plans).fetchall() == [("1",)]
    for table, table_rows in cluster_on_three_racks([([1, 2], 2, [1, 2])]).items():
        lake.replace(table, table_rows, snapshot_id="s", attempt_id="2")
    lake.replace(SNAPSHOT, rows(SNAPSHOT, {"attempt_id": "2", "published_at": 0}), snapshot_id="s")
    assert DuckdbViews(lake).execute(plans).fetchall() == []
    planned = answer(lake, None, question, limits(None), rules=False)
    assert unfulfilled(planned, question) is None
    assert DuckdbViews(lake).execute(plans).fetchall() == [("2",)]


def test_plan_is_stored_in_eight_tables() -> None:
    assert [table.name for table in WRITES] == [
        "plan", "plan_move", "plan_wave", "plan_goal", "plan_broker", "plan_scenario", "plan_blocked", "plan_rule",
    ]  # fmt: skip


def test_plans_of_two_clusters_may_have_the_same_id(tmp_path: Path) -> None:
    lake = empty_lake(tmp_path / "lake")
    for table, one_cluster in cluster_on_three_racks([([1, 2], 2, [1, 2])]).items():
        two_clusters = [row | {"cluster_id": cluster_id} for cluster_id in ("a", "b's") for row in one_cluster.to_pylist()]
        lake.replace(table, pa.Table.from_pylist(two_clusters, table.schema), snapshot_id="s", attempt_id="1")
    published = rows(SNAPSHOT, {"cluster_id": "a", "published_at": 0}, {"cluster_id": "b's", "published_at": 0})
    lake.replace(SNAPSHOT, published, snapshot_id="s")

    def stored_keys() -> dict[str, list[tuple[str, int]]]:
        return {
            table.name: sorted(
                (row["cluster_id"], number) for number, row in enumerate(sorted(lake.read_local(table).to_pylist(), key=str))
            )
            for table in WRITES
        }

    for cluster_id in ("a", "b's"):
        answer(lake, "s", PlanQuestion("p", cluster_id), limits(None), rules=False)
    keys_of_both = stored_keys()
    for table in ("plan", "plan_scenario"):
        assert {cluster_id for cluster_id, _ in keys_of_both[table]} == {"a", "b's"}
    planned = answer(lake, "s", PlanQuestion("p", "a"), limits(None), rules=False)
    assert stored_keys() == keys_of_both
    commands_of_a, commands_of_b = (
        write_files(planned, cluster_id, "p", tmp_path / f"files of {cluster_id}")[-1] for cluster_id in ("a", "b's")
    )
    assert commands_of_a.read_text() == commands_of_b.read_text()
