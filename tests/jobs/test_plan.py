"""A plan of a cluster's tables: what it moves, in which waves, what is harmed on the way, and what Kafka's tools are given."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from expectations.limits import limits
from jobs import plan as job
from jobs.errors import AuditError
from jobs.lake import Lake
from jobs.plan import READS, WRITES, Question, files, planned
from jobs.tables import BROKER, CLUSTER, PARTITION, PARTITION_LOAD, PLAN, PLAN_MOVE, REPLICA, SNAPSHOT, TABLES, TOPIC, Table
from kafka_model.goal import Thresholds
from tests.jobs.rows import rows

NETWORK = {"network_in_capacity_bytes_per_s": 2e6, "network_out_capacity_bytes_per_s": 1e6}
RACKS = {1: "a", 2: "a", 3: "b", 4: "c"}


def cluster(
    partitions: list[tuple[list[int], int | None, list[int]]], *, dead: tuple[int, ...] = (), size: int | None = 100
) -> dict[Table, pa.Table]:
    """A topic that needs two in sync, on four brokers of three racks."""
    told = {table: rows(table) for table in READS}
    told[CLUSTER] = rows(CLUSTER, {"controller": "kraft", "elr": True})
    told[BROKER] = rows(BROKER, *({"broker_id": id, "rack": rack, "live": id not in dead, **NETWORK} for id, rack in RACKS.items()))
    told[TOPIC] = rows(TOPIC, {"topic": "t", "partitions": len(partitions), "replication_factor": 3, "min_insync_replicas": 2})
    told[PARTITION] = rows(
        PARTITION,
        *(
            {"topic": "t", "partition": n, "replicas": replicas, "leader": leader, "isr": isr}
            for n, (replicas, leader, isr) in enumerate(partitions)
        ),
    )
    told[REPLICA] = rows(
        REPLICA,
        *(
            {"topic": "t", "partition": n, "broker_id": id, "size_bytes": size}
            for n, (replicas, _, _) in enumerate(partitions)
            for id in replicas
        ),
    )
    return told


def made(told: dict[Table, pa.Table], **asked: Any) -> tuple[list[dict[str, Any]], ...]:
    return tuple(table.to_pylist() for table in planned(told, Question("p", "c", **asked), Thresholds()).tables)


def test_a_dead_broker_and_a_shared_rack_are_left_and_nobody_is_harmed_more_on_the_way() -> None:
    told = cluster([([1, 2, 3], 1, [1, 2, 3]), ([1, 3, 4], 1, [1, 3])], dead=(4,))
    (summary,), moves, waves, goals, _, scenarios = made(told, balance=False)
    # Rack c died with broker 4: two racks are left, and three replicas are as even on them as can be.
    assert [(move["partition"], move["replicas_before"], move["replicas"], move["reason"]) for move in moves] == [
        (1, [1, 3, 4], [1, 3, 2], "dead or drained broker"),
    ]
    assert (summary["moved_replicas"], summary["moved_bytes"], summary["waves"], summary["stranded_replicas"]) == (1, 100.0, 1, 0)
    # Partition 1 stops writes if one of its two brokers dies; with three it does not.
    assert (summary["harmed_before"], summary["harmed"]) == (1, 0)
    assert [(wave["wave"], wave["moved_replicas"], wave["moves_of_busiest_broker"], wave["harmed"]) for wave in waves] == [(1, 1, 1, 0)]
    assert {goal["goal"]: (goal["breaches_before"], goal["breaches"]) for goal in goals}["ReplicaDistributionGoal"] == (0, 0)
    # Which of the two it was, and what each failure does now and then: no more than three brokers live, on two racks.
    refusing = {row["scenario_id"]: (row["newly_refusing_acks_all_before"], row["newly_refusing_acks_all"]) for row in scenarios}
    assert refusing == {
        "broker 1": (1, 0), "broker 2": (0, 0), "broker 3": (1, 0), "stop 1": (1, 0), "stop 2": (0, 0), "stop 3": (1, 0),
        "rack a": (2, 2), "rack b": (1, 0), "brokers 1+2": (2, 2), "brokers 1+3": (1, 2), "brokers 2+3": (2, 2),
    }  # fmt: skip
    # Brokers 1 and 3 are all that partition 1 has now: it goes offline, which is not counted as refusing acks=all as well.
    offline = {row["scenario_id"]: (row["newly_offline_before"], row["newly_offline"]) for row in scenarios}
    assert offline == {**dict.fromkeys(refusing, (0, 0)), "brokers 1+3": (1, 0)}
    assert {row["scenario_id"]: (row["partitions_before"], row["partitions"]) for row in scenarios}["broker 2"] == (1, 2)


def test_leadership_alone_is_wave_nought_and_an_election_is_named() -> None:
    told = cluster([([1, 3], 3, [1, 3]), *[([1, 4], 1, [1, 4])] * 5])
    (summary,), moves, waves, goals, *_ = made(told)
    assert [move["added_replicas"] for move in moves if move["wave"] == 0] == [[]] * sum(move["wave"] == 0 for move in moves)
    assert summary["elections"] == sum(move["leader_before"] != move["replicas"][0] for move in moves)
    verdicts = {goal["goal"]: (goal["verdict_before"], goal["verdict"]) for goal in goals}
    assert verdicts["PreferredLeaderElectionGoal"] == ("violated", "satisfied")
    assert verdicts["LeaderReplicaDistributionGoal"] == ("violated", "satisfied")
    assert verdicts["ReplicaDistributionGoal"] == ("violated", "satisfied")
    assert verdicts["CpuCapacityGoal"] == ("not told", "not told")
    assert [wave["wave"] for wave in waves] == sorted({move["wave"] for move in moves})


def test_each_broker_is_told_with_what_it_carries_before_and_after() -> None:
    told = cluster([([1, 2], 2, [1, 2])])
    *_, brokers, _ = made(told, balance=False)
    assert [tuple(row.values()) for row in brokers] == [
        (1, 1, 1, 0, 1, 100.0, 100.0),
        (2, 1, 0, 1, 0, 100.0, 0.0),
        (3, 0, 1, 0, 0, 0.0, 100.0),
        (4, 0, 0, 0, 0, 0.0, 0.0),
    ]


def carrying(told: dict[Table, pa.Table], **of: dict[str, float]) -> dict[Table, pa.Table]:
    """With other network columns of these brokers."""
    changed = [row | of.get(f"broker_{row['broker_id']}", {}) for row in told[BROKER].to_pylist()]
    return told | {BROKER: pa.Table.from_pylist(changed, BROKER.schema)}


def test_the_throttle_keeps_the_slowest_link_that_copies_under_its_share() -> None:
    told = cluster([([1, 2], 1, [1, 2])])  # a replica leaves rack a for broker 3
    slow = {"network_in_capacity_bytes_per_s": 8e5}
    summaries = [
        made(told, network_share=0.25, balance=False),
        made(carrying(told, broker_3=slow), network_share=0.25, balance=False),
        made(carrying(told, broker_2=slow), network_share=0.25, balance=False),  # which copies nothing
        made(carrying(told, broker_1={"network_out_bytes_per_s": 240_000.0}), network_share=0.25, balance=False),
        made(carrying(told, broker_1={"network_out_bytes_per_s": 260_000.0}), network_share=0.25, balance=False),
        made(carrying(told, broker_3={"network_in_capacity_bytes_per_s": None}), network_share=0.25, balance=False),
    ]
    assert [(one["throttle_bytes_per_s"], one["throttle_broker_id"]) for (one,), *_ in summaries] == [
        (250_000.0, 1), (200_000.0, 3), (250_000.0, 1), (10_000.0, 1), (0.0, 1), (None, None),
    ]  # fmt: skip
    executed = [next(line for line in job.commands(one, moves) if "--execute" in line) for (one,), moves, *_ in summaries]
    assert [line.partition(" --throttle ")[2] for line in executed] == ["250000", "200000", "250000", "10000", "", ""]
    assert any("broker 1 is over 0.25 of its network already" in line for line in job.commands(summaries[4][0][0], summaries[4][1]))


def test_what_cruise_control_measured_is_planned_for() -> None:
    told = cluster([([1, 3], 1, [1, 3]), ([1, 4], 1, [1, 4]), ([3, 1], 3, [1, 3])])
    rates = [(0, 500_000.0), (1, 400_000.0), (2, 10_000.0)]  # broker 1 sends 900,000 of 1,000,000, where 80 % may be in use
    loads = ({"topic": "t", "partition": number, "network_out_bytes_per_s": rate, "disk_bytes": 100.0} for number, rate in rates)
    told[PARTITION_LOAD] = rows(PARTITION_LOAD, *loads)
    _, moves, _, goals, *_ = made(told)
    verdicts = {goal["goal"]: (goal["verdict_before"], goal["verdict"]) for goal in goals}
    assert verdicts["NetworkOutboundCapacityGoal"] == ("violated", "satisfied")
    assert verdicts["CpuCapacityGoal"] == ("not told", "not told")
    assert {move["partition"]: move["reason"] for move in moves}[1] == "capacity"  # the least that is enough


def test_bytes_that_are_not_told_are_not_nought() -> None:
    (summary,), moves, waves, *_ = made(cluster([([1, 2], 1, [1, 2])], size=None))
    assert (summary["moved_replicas"], summary["moved_bytes"]) == (1, None)
    assert [move["moved_bytes"] for move in moves] == [wave["moved_bytes"] for wave in waves] == [None]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"drain": [9]}, "cluster c has no broker 9: it has 1, 2, 3, 4"),
        ({"drain": [1, 2, 3, 4]}, "cluster c would have no broker left"),
        ({"add": {4: None}}, "cluster c has broker 4 already"),
        ({"topics": ["u"]}, "cluster c has no topic u"),
        ({"replication_factor": {"v": 3}}, "cluster c has no topic v"),
    ],
)
def test_what_cannot_be_meant_is_refused_in_one_line(asked: dict[str, Any], said: str) -> None:
    with pytest.raises(AuditError, match=said):
        made(cluster([([1, 3], 1, [1, 3])]), **asked)


def test_no_plan_is_made_of_a_cluster_that_is_being_reassigned() -> None:
    told = cluster([([1, 3], 1, [1, 3])])
    told[PARTITION] = rows(PARTITION, {**told[PARTITION].to_pylist()[0], "adding_replicas": [4]})
    with pytest.raises(AuditError, match="cluster c is reassigning 1 partitions: let it end"):
        made(told)


def test_brokers_to_come_and_to_go(tmp_path: Path) -> None:
    told = cluster([([1, 3], 1, [1, 3]), ([2, 3], 2, [2, 3]), ([3, 4], 3, [3, 4])])
    (summary,), moves, *_ = made(told, drain=[3], add={7: "b"})
    assert all(3 not in move["replicas"] for move in moves)
    assert any(7 in move["added_replicas"] for move in moves)
    assert summary["stranded_replicas"] == 0


def test_kafkas_tools_are_given_each_wave_what_undoes_it_and_the_election(tmp_path: Path) -> None:
    lake = Lake(str(tmp_path / "lake"), lambda: pytest.fail("a plan of a few rows needs no Spark"))
    for table in TABLES:
        lake.create(table)
    told = cluster([([1, 2], 2, [1, 2]), ([3, 4], 3, [3, 4])])
    for table, found in told.items():
        lake.replace(table, found, few=True, snapshot_id="s")
    published = rows(SNAPSHOT, {"published_at": 0})
    lake.replace(SNAPSHOT, published, few=True, snapshot_id="s")
    question = Question("p", "c")
    assert job.answer(lake, None, question, limits(None), rules=False) == "s"
    made_files = files(lake, "s", "p", tmp_path)
    written = {path.name: json.loads(path.read_text()) for path in made_files if path.suffix == ".json"}
    assert written.keys() == {"reassignment-1.json", "rollback-1.json", "preferred-election.json"}
    assert [line for line in made_files[-1].read_text().splitlines() if not line.startswith("#")] == [
        "kafka-reassign-partitions.sh --bootstrap-server HOST:PORT --reassignment-json-file reassignment-1.json --execute --throttle 500000",
        "kafka-reassign-partitions.sh --bootstrap-server HOST:PORT --reassignment-json-file reassignment-1.json --verify",
        "kafka-leader-election.sh --bootstrap-server HOST:PORT --election-type preferred --path-to-json-file preferred-election.json",
    ]
    (move,) = lake.rows(PLAN_MOVE, snapshot_id="s")
    assert written["reassignment-1.json"] == {"version": 1, "partitions": [{"topic": "t", "partition": 0, "replicas": move["replicas"]}]}
    assert written["rollback-1.json"] == {"version": 1, "partitions": [{"topic": "t", "partition": 0, "replicas": [1, 2]}]}
    assert written["preferred-election.json"] == {"partitions": [{"topic": "t", "partition": 0}]}
    # Asked again, it takes its own place; under another id it stands beside it.
    job.answer(lake, "s", question, limits(None), rules=False)
    job.answer(lake, "s", Question("q", "c"), limits(None), rules=False)
    assert sorted(row["plan_id"] for row in lake.rows(PLAN)) == ["p", "q"]
    assert [table.name for table in WRITES] == ["plan", "plan_move", "plan_wave", "plan_goal", "plan_broker", "plan_scenario", "plan_rule"]
