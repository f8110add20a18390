"""A plan of a cluster's tables: what it moves, in which waves, what is harmed on the way, and what Kafka's tools are given."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from expectations.limits import limits
from jobs.errors import AuditError, NoSuchPlan
from jobs.lake.lake import Lake, open_lake
from jobs.plan import plan as job
from jobs.plan.plan import READS, WRITES, Question, files, planned
from jobs.schema import (
    BROKER,
    CLUSTER,
    LOG_DIR,
    PARTITION,
    PARTITION_LOAD,
    PLAN,
    PLAN_BLOCKED,
    PLAN_MOVE,
    REPLICA,
    SNAPSHOT,
    TABLES,
    TOPIC,
    Table,
)
from kafka_model.cruise_control.limits import balancedness_cost_by_goal
from tests.jobs.plan.clusters import generated_cluster, with_replica_sizes
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
    return tuple(table.to_pylist() for table in planned(with_replica_sizes(told), Question("p", "c", **asked), limits(None)).tables)


def test_a_dead_broker_and_a_shared_rack_are_left_and_nobody_is_harmed_more_on_the_way() -> None:
    told = cluster([([1, 2, 3], 1, [1, 2, 3]), ([1, 3, 4], 1, [1, 3])], dead=(4,))
    (summary,), moves, waves, goals, _, scenarios, _ = made(told, balance=False)
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
    assert verdicts["CpuCapacityGoal"] == ("unknown", "unknown")
    assert [wave["wave"] for wave in waves] == sorted({move["wave"] for move in moves})


def test_each_broker_is_told_with_what_it_carries_before_and_after() -> None:
    told = cluster([([1, 2], 2, [1, 2])])
    *_, brokers, _, _ = made(told, balance=False)
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
    assert verdicts["CpuCapacityGoal"] == ("unknown", "unknown")
    assert {move["partition"]: move["reason"] for move in moves}[1] == "capacity"  # the least that is enough


def test_bytes_that_are_not_told_are_not_nought() -> None:
    (summary,), moves, waves, *_ = made(cluster([([1, 2], 1, [1, 2])], size=None))
    assert (summary["moved_replicas"], summary["moved_bytes"]) == (1, None)
    assert [move["moved_bytes"] for move in moves] == [wave["moved_bytes"] for wave in waves] == [None]


GIB = 2**30


def of_racks(partitions: dict[int, tuple[list[int], int]], *, capacity: float | None, racks: dict[int, str]) -> dict[Table, pa.Table]:
    """Partitions by number, each with its replicas (all in sync) and its size, on brokers with disks of this capacity."""
    told = {table: rows(table) for table in READS}
    told[CLUSTER] = rows(CLUSTER, {"controller": "kraft", "elr": True})
    told[BROKER] = rows(
        BROKER, *({"broker_id": id, "rack": rack, "live": True, "disk_capacity_bytes": capacity} for id, rack in racks.items())
    )
    told[TOPIC] = rows(TOPIC, {"topic": "t", "partitions": len(partitions), "replication_factor": 2, "min_insync_replicas": 1})
    told[PARTITION] = rows(
        PARTITION,
        *({"topic": "t", "partition": n, "replicas": row, "leader": row[0], "isr": sorted(row)} for n, (row, _) in partitions.items()),
    )
    told[REPLICA] = rows(
        REPLICA,
        *({"topic": "t", "partition": n, "broker_id": id, "size_bytes": size} for n, (row, size) in partitions.items() for id in row),
    )
    return told


def played(told: dict[Table, pa.Table], moves: list[dict[str, Any]]) -> list[dict[int, float]]:
    """What each broker stores at the fullest moment of each wave: copies come first, deletions last."""
    stored = {(row["topic"], row["partition"], row["broker_id"]): row["size_bytes"] for row in told[REPLICA].to_pylist()}
    size = {(row["topic"], row["partition"]): stored[row["topic"], row["partition"], row["leader"]] for row in told[PARTITION].to_pylist()}
    found = []
    for wave in sorted({move["wave"] for move in moves}):
        of_wave = [move for move in moves if move["wave"] == wave]
        for move in of_wave:
            key = move["topic"], move["partition"]
            stored |= {(*key, id): size[key] for id in move["added_replicas"]}
        full: dict[int, float] = {}
        for (_, _, id), of in stored.items():
            full[id] = full.get(id, 0) + of
        found.append(full)
        for move in of_wave:
            for id in move["removed_replicas"]:
                del stored[move["topic"], move["partition"], id]
    return found


PAIRED = {1: "a", 2: "a", 3: "b", 4: "b"}


def test_no_wave_takes_a_disk_over_the_limit() -> None:
    told = of_racks({n: ([1, 2] if n % 2 else [3, 4], GIB) for n in range(156)}, capacity=100.0 * GIB, racks=PAIRED)  # 78 GiB on each
    (summary,), moves, waves, *_, blocked = made(told)
    assert max(max(full.values()) for full in played(told, moves)) <= 90 * GIB
    assert all(len({PAIRED[id] for id in move["replicas"]}) == 2 for move in moves)
    assert (len(moves), summary["waves"] > 1, summary["disk_limit"], blocked) == (156, True, 0.9, [])
    fullest = [full[wave["fullest_target_id"]] / (100 * GIB) for wave, full in zip(waves, played(told, moves), strict=True)]
    assert [wave["fullest_target_share"] for wave in waves] == pytest.approx(fullest)
    lower = made(told, disk_limit=0.8)[1]
    assert max(max(full.values()) for full in played(told, lower)) <= 80 * GIB


def test_what_does_not_fit_on_any_disk_is_listed_with_the_reason() -> None:
    told = of_racks({n: ([1, 2] if n % 2 else [3, 4], 39 * GIB) for n in range(4)}, capacity=100.0 * GIB, racks=PAIRED)
    (summary,), moves, *_, blocked = made(told)
    assert moves == []
    assert [(row["topic"], row["partition"], row["reason"], row["replicas"]) for row in blocked] == [
        ("t", n, "shared rack", [1, 2] if n % 2 else [3, 4]) for n in range(4)
    ]
    assert all("disk limit" in row["obstacle"] for row in blocked)
    assert summary["unfulfilled"].startswith("nothing can be moved: 4 partitions cannot be mended (4: ")


def test_a_plan_states_where_it_cannot_check_disks() -> None:
    told = of_racks({0: ([1, 2], GIB)}, capacity=None, racks=PAIRED)
    (summary,), moves, *_ = made(told)
    assert summary["disk_unknown_brokers"] == [1, 2, 3, 4]
    assert "# The disk limit is not checked on brokers 1, 2, 3, 4: their disk capacity is unknown." in job.commands(summary, moves)
    unsized = told | {REPLICA: rows(REPLICA)}
    (summary,), moves, *_ = made(unsized)
    assert (summary["size_unknown_partitions"], summary["moved_bytes"]) == (1, None)
    assert "# The disk limit does not count 1 partitions: their size is unknown." in job.commands(summary, moves)


def test_the_volumes_of_log_dirs_stand_in_for_an_unknown_capacity() -> None:
    told = of_racks({n: ([1, 2] if n % 2 else [3, 4], 10 * GIB) for n in range(8)}, capacity=None, racks=PAIRED)
    volume = {"total_bytes": 50 * GIB, "usable_bytes": 8 * GIB, "capacity_bytes": 50.0 * GIB}
    # Broker 1: two log dirs on one volume. Its 42 GiB in use are more than its replicas; so all are at 84 %.
    dirs = [{"broker_id": id, "log_dir": path, **volume} for id in PAIRED for path in (["/a", "/b"] if id == 1 else ["/a"])]
    ((summary,), *_, blocked) = made(told | {LOG_DIR: rows(LOG_DIR, *dirs)})
    assert (summary["disk_unknown_brokers"], summary["moved_replicas"], {row["partition"] for row in blocked}) == ([], 0, set(range(8)))
    roomy = [row | {"usable_bytes": 10 * GIB} for row in dirs]
    ((summary,), *_, blocked) = made(told | {LOG_DIR: rows(LOG_DIR, *roomy)}, disk_limit=1.0)
    assert (summary["moved_replicas"], blocked) == (8, [])


def test_a_new_copy_counts_with_the_size_of_its_leader() -> None:
    told = of_racks({0: ([1, 2], 10 * GIB)}, capacity=30.0 * GIB, racks={1: "a", 2: "a", 3: "b"})
    larger = [row | ({"size_bytes": 28 * GIB} if row["broker_id"] == 2 else {}) for row in told[REPLICA].to_pylist()]
    ((summary,), (move,), *_) = made(told | {REPLICA: rows(REPLICA, *larger)}, balance=False)
    assert (move["replicas"], move["moved_bytes"], summary["moved_bytes"]) == ([1, 3], 10 * GIB, 10 * GIB)


def test_the_throttle_counts_the_load_of_every_source() -> None:
    told = cluster([([1, 2], 1, [1, 2])])  # broker 1 sends to broker 3
    measured = {"topic": "t", "partition": 0, "network_in_bytes_per_s": 1e5, "network_out_bytes_per_s": 3e5}
    loaded = told | {PARTITION_LOAD: rows(PARTITION_LOAD, measured)}
    reported = carrying(loaded, broker_1={"network_out_bytes_per_s": 450_000.0})
    other = [*told[PARTITION].to_pylist(), {**told[PARTITION].to_pylist()[0], "partition": 1, "replicas": [1, 3], "isr": [1, 3]}]
    incomplete = loaded | {PARTITION: rows(PARTITION, *other)}
    found = []
    for each in (told, loaded, reported, incomplete):
        (summary,), moves, *_ = made(each, balance=False)
        unknown = [line for line in job.commands(summary, moves) if "as far as it is known" in line]
        names = ("throttle_bytes_per_s", "throttle_broker_id", "throttle_load_source", "load_unknown_brokers")
        found.append((*(summary[name] for name in names), len(unknown)))
    assert found == [
        (500_000.0, 1, "unknown", [1], 1),  # broker 3 holds nothing yet
        (200_000.0, 1, "partition_load", [], 0),
        (50_000.0, 1, "broker", [], 0),
        (200_000.0, 1, "partition_load, incomplete", [1], 1),
    ]


def test_what_every_replica_takes_in_counts_where_a_replica_comes() -> None:
    told = cluster([([1, 2], 1, [1, 2]), ([3, 4], 4, [3, 4])])
    loads = [{"topic": "t", "partition": n, "network_in_bytes_per_s": rate} for n, rate in ((0, 0.0), (1, 900_000.0))]
    told[PARTITION_LOAD] = rows(PARTITION_LOAD, *loads)
    told = carrying(told, broker_4={"live": True, "network_in_capacity_bytes_per_s": 1e9})
    (summary,), moves, *_ = made(told, balance=False, network_share=0.46)
    (target,) = moves[0]["added_replicas"]
    # The follower on broker 3 takes in 900,000 of the 2,000,000 bytes that it can.
    assert (target, summary["throttle_broker_id"], summary["throttle_bytes_per_s"]) == (3, 3, pytest.approx(20_000.0))


def test_a_drain_that_cannot_be_done_is_stated_with_its_reason() -> None:
    told = of_racks({n: ([1, 2], GIB) for n in range(3)}, capacity=None, racks={1: "a", 2: "b"})
    (summary,), moves, *_, blocked = made(told, drain=[2])
    assert summary["unfulfilled"] == (
        "broker 2 cannot be drained: 3 replicas stay on it (3: every live broker that may take it has a replica of the partition; such as t-0)"
    )
    assert [(row["partition"], row["blocked_replicas"], row["reason"]) for row in blocked] == [
        (n, 1, "dead or drained broker") for n in range(3)
    ]
    assert job.commands(summary, moves)[0] == f"# NOT FULFILLED: {summary['unfulfilled']}"
    assert made(told, drain=[2], add={3: "c"})[0][0]["unfulfilled"] is None


def test_a_factor_and_a_topic_that_cannot_be_had_are_stated_with_their_reasons() -> None:
    lost = [([1, 3], 1, [1, 3]), ([4], None, [])]
    ((summary,), *_, blocked) = made(cluster(lost, dead=(4,)), replication_factor={"t": 3}, balance=False)
    assert summary["unfulfilled"] == "topic t cannot have 3 replicas: 1 partitions do not (1: no live leader to copy from; such as t-1)"
    assert {(row["reason"], row["blocked_replicas"]) for row in blocked} == {("replication factor", 2), ("dead or drained broker", 1)}
    ((summary,), *_) = made(of_racks({0: ([1, 2], 1)}, capacity=None, racks={1: "a", 2: "a"}), topics=["t"])
    assert summary["unfulfilled"] == "1 partitions of t cannot be mended (1: fewer live racks than replicas; such as t-0)"


def test_a_broker_to_come_that_gets_nothing_is_stated() -> None:
    told = of_racks({n: ([1], 40 * GIB) for n in range(4)}, capacity=200.0 * GIB, racks={1: "a"})
    assert made(told, add={2: "a"})[0][0]["unfulfilled"] is None
    too_small = made(told, add={2: "a"}, disk_limit=0.1)[0][0]["unfulfilled"]
    assert too_small.startswith("broker 2 gets no replica (")


def score(goals: list[dict[str, Any]], verdict: str) -> float:
    costs = balancedness_cost_by_goal(limits(None).cruise_control)
    return 100 - sum(costs[row["goal"]] for row in goals if row["goal"] in costs and row[verdict] in ("violated", "unfixable"))


def test_no_plan_that_is_offered_makes_its_cluster_worse() -> None:
    refused, planned_for, less = [], 0, 0
    for seed in range(60):
        told = generated_cluster(seed)
        try:
            (summary,), moves, _, goals, _, scenarios, _ = made(told)
        except NoSuchPlan as error:
            refused.append(str(error))
            continue
        assert score(goals, "verdict") >= score(goals, "verdict_before") - 1e-9
        assert (summary["score_before"], summary["score"]) == pytest.approx((score(goals, "verdict_before"), score(goals, "verdict")))
        for row in goals:
            if row["hard"] and row["verdict_before"] != "unfixable":
                assert row["breaches"] <= row["breaches_before"]
        for kind in ("broker", "stop", "rack"):
            lost = [(row["newly_lost_before"], row["newly_lost"]) for row in scenarios if row["kind"] == kind]
            assert sum(after for _, after in lost) <= sum(before for before, _ in lost)
            if not any(move["reason"] in ("dead or drained broker", "shared rack") for move in moves):
                assert max((after for _, after in lost), default=0) <= max((before for before, _ in lost), default=0)
        planned_for += bool(moves)
        less += summary["left_out"] is not None
    assert planned_for > 40
    assert less > 0
    assert all(error.startswith("cluster c has no plan that makes nothing worse: ") for error in refused)
    assert refused


def test_a_plan_that_would_lower_the_score_is_tried_without_its_last_steps() -> None:
    (summary,), moves, _, goals, *_ = made(generated_cluster(13))
    assert moves
    assert summary["left_out"] == "balancing of network and cpu: the balancedness score falls from 86.9 to 84.8"
    assert score(goals, "verdict") >= score(goals, "verdict_before")


def test_a_plan_that_can_only_make_things_worse_is_refused_in_one_line() -> None:
    with pytest.raises(
        NoSuchPlan, match=r"cluster c has no plan that makes nothing worse: the balancedness score falls from 84\.4 to 82\.2"
    ):
        made(generated_cluster(39))


def test_balancing_never_makes_a_drain_worse_than_the_drain_alone() -> None:
    balanced, left_out = 0, 0
    for seed in range(40):
        told = generated_cluster(seed)
        live = [row["broker_id"] for row in told[BROKER].to_pylist() if row["live"]]
        if len(live) < 4:
            continue
        (summary,), moves, _, goals, *_ = made(told, drain=live[:1])
        (alone,), _, _, goals_alone, *_ = made(told, drain=live[:1], balance=False)
        assert score(goals, "verdict") >= score(goals_alone, "verdict") - 1e-9
        assert summary["stranded_replicas"] <= alone["stranded_replicas"]
        balanced += len(moves) > alone["changed_partitions"]
        left_out += summary["left_out"] is not None
    assert balanced > 5
    assert left_out > 0


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"drain": [9]}, "cluster c has no broker 9: it has 1, 2, 3, 4"),
        ({"drain": [1, 2, 3, 4]}, "cluster c would have no broker left"),
        ({"add": {4: None}}, "cluster c has broker 4 already"),
        ({"topics": ["u"]}, "cluster c has no topic u"),
        ({"replication_factor": {"v": 3}}, "cluster c has no topic v"),
        ({"replication_factor": {"t": 9}}, "--replication-factor t=9: cluster c would have 4 live brokers: ask for 4 or fewer, or --add"),
        ({"replication_factor": {"t": 4}, "drain": [1]}, "--replication-factor t=4: cluster c would have 3 live brokers"),
        ({"add": {13: None}}, "--add 13: the brokers of cluster c have racks: type --add 13:RACK, with one of a, b, c or a new one"),
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


def published(told: dict[Table, pa.Table], folder: Path) -> Lake:
    """A lake with one published night of these rows."""
    lake = open_lake(str(folder), lambda: pytest.fail("a plan of a few rows needs no Spark"))
    for table in TABLES:
        lake.create(table)
    for table, found in with_replica_sizes(told).items():
        lake.replace(table, found, snapshot_id="s")
    lake.replace(SNAPSHOT, rows(SNAPSHOT, {"published_at": 0}), snapshot_id="s")
    return lake


def asked_for(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """The command, as a person types it."""
    command = [
        str(Path(sys.executable).with_name("topology-audit")),
        "plan",
        "--lake",
        str(folder),
        "--cluster",
        "c",
        "--no-rules",
        *options,
    ]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, env={**os.environ, "COLUMNS": "200"})


def test_what_cannot_be_done_is_the_first_line_and_the_exit_code(tmp_path: Path) -> None:
    # Each partition needs all three brokers.
    told = of_racks({n: ([1, 2, 3], GIB) for n in range(3)}, capacity=None, racks={1: "a", 2: "b", 3: "c"})
    lake = published(told, tmp_path)
    done = asked_for(tmp_path, "--drain", "3", "--id", "p")
    assert done.returncode == 4
    first = "NOT FULFILLED: broker 3 cannot be drained: 3 replicas stay on it (3: every live broker that may take it has a replica"
    assert done.stdout.startswith(first)
    assert re.sub(
        "<[^>]+>", "", (tmp_path / "reports" / "s" / "plan" / "c" / "p" / "index.html").read_text().partition("<pre>")[2]
    ).startswith(first)
    (error,) = done.stderr.strip().splitlines()
    assert "plan p does not do all that was asked: broker 3 cannot be drained: 3 replicas stay on it" in error
    assert len(lake.read_local(PLAN_BLOCKED, snapshot_id="s").to_pylist()) == 3


def test_a_part_of_what_was_asked_that_makes_something_worse_gets_no_files(tmp_path: Path) -> None:
    # What has one replica can leave broker 3, which is then far from the mean.
    rest = {n: ([1 + n % 3], GIB) for n in range(1, 31)}
    told = of_racks({0: ([1, 2, 3], GIB), **rest}, capacity=None, racks={1: "a", 2: "b", 3: "c"})
    lake = published(told, tmp_path)
    folder = tmp_path / "reports" / "s" / "plan" / "c" / "p"
    folder.mkdir(parents=True)
    (folder / "reassignment-7.json").write_text("of an earlier plan")
    done = asked_for(tmp_path, "--drain", "3", "--id", "p")
    assert done.returncode == 4
    (plan,) = lake.read_local(PLAN, snapshot_id="s").to_pylist()
    assert (plan["moved_replicas"], plan["unfulfilled"] is None, plan["worse"] is None) == (10, False, False)
    assert "balancedness score falls" in plan["worse"]
    assert sorted(path.name for path in folder.iterdir()) == ["index.html", "snapshot.txt"]
    assert "No files for Kafka's tools are written." in done.stdout


def test_a_plan_that_is_refused_is_one_line_and_leaves_nothing(tmp_path: Path) -> None:
    lake = published(generated_cluster(39), tmp_path)
    done = asked_for(tmp_path)
    assert done.returncode == 4
    (error,) = done.stderr.strip().splitlines()
    assert error.startswith(
        "topology-audit: cluster c has no plan that makes nothing worse: the balancedness score falls from 84.4 to 82.2"
    )
    assert lake.read_local(PLAN).to_pylist() == []
    assert not (tmp_path / "reports").exists()


def test_brokers_that_share_a_partition_only_after_the_plan_count_with_what_each_takes_before() -> None:
    *_, scenarios, _ = made(cluster([([1, 2], 1, [1, 2]), ([3, 4], 3, [3, 4])]), balance=False)
    of_pairs = {tuple(row["brokers"]): row for row in scenarios if row["kind"] == "pair"}
    (shared,) = set(of_pairs) - {(1, 2), (3, 4)}
    # Both partitions need two in sync: each of these brokers takes one of them.
    assert of_pairs[shared]["newly_refusing_acks_all_before"] == 2
    assert of_pairs[shared]["partitions_before"] == 2


def test_kafkas_tools_are_given_each_wave_what_undoes_it_and_the_election(tmp_path: Path) -> None:
    lake = published(cluster([([1, 2], 2, [1, 2]), ([3, 4], 3, [3, 4])]), tmp_path / "lake")
    question = Question("p", "c")
    assert job.answer(lake, None, question, limits(None), rules=False) == "s"
    made_files = files(lake, "s", "c", "p", tmp_path)
    written = {path.name: json.loads(path.read_text()) for path in made_files if path.suffix == ".json"}
    assert written.keys() == {"reassignment-1.json", "rollback-1.json", "preferred-election.json"}
    assert [line for line in made_files[-1].read_text().splitlines() if not line.startswith("#")] == [
        "kafka-reassign-partitions.sh --bootstrap-server HOST:PORT --reassignment-json-file reassignment-1.json --execute --throttle 500000",
        "kafka-reassign-partitions.sh --bootstrap-server HOST:PORT --reassignment-json-file reassignment-1.json --verify",
        "kafka-leader-election.sh --bootstrap-server HOST:PORT --election-type preferred --path-to-json-file preferred-election.json",
    ]
    (move,) = lake.read_local(PLAN_MOVE, snapshot_id="s").to_pylist()
    assert written["reassignment-1.json"] == {"version": 1, "partitions": [{"topic": "t", "partition": 0, "replicas": move["replicas"]}]}
    assert written["rollback-1.json"] == {"version": 1, "partitions": [{"topic": "t", "partition": 0, "replicas": [1, 2]}]}
    assert written["preferred-election.json"] == {"partitions": [{"topic": "t", "partition": 0}]}
    # Asked again, it takes its own place; under another id it stands beside it.
    job.answer(lake, "s", question, limits(None), rules=False)
    job.answer(lake, "s", Question("q", "c"), limits(None), rules=False)
    assert sorted(row["plan_id"] for row in lake.read_local(PLAN).to_pylist()) == ["p", "q"]
    assert [table.name for table in WRITES] == [
        "plan",
        "plan_move",
        "plan_wave",
        "plan_goal",
        "plan_broker",
        "plan_scenario",
        "plan_blocked",
        "plan_rule",
    ]


def test_plans_of_two_clusters_may_share_an_id(tmp_path: Path) -> None:
    lake = open_lake(str(tmp_path / "lake"), lambda: pytest.fail("a plan of a few rows needs no Spark"))
    for table in TABLES:
        lake.create(table)
    for table, found in cluster([([1, 2], 2, [1, 2])]).items():
        of_both = [row | {"cluster_id": id} for id in ("a", "b's") for row in found.to_pylist()]
        lake.replace(table, pa.Table.from_pylist(of_both, table.schema), snapshot_id="s")
    published = rows(SNAPSHOT, {"cluster_id": "a", "published_at": 0}, {"cluster_id": "b's", "published_at": 0})
    lake.replace(SNAPSHOT, published, snapshot_id="s")

    def stored() -> dict[str, list[tuple[str, int]]]:
        return {
            table.name: sorted(
                (row["cluster_id"], number) for number, row in enumerate(sorted(lake.read_local(table).to_pylist(), key=str))
            )
            for table in WRITES
        }

    for id in ("a", "b's"):
        job.answer(lake, "s", Question("p", id), limits(None), rules=False)
    both = stored()
    assert {cluster for cluster, _ in both["plan"]} == {cluster for cluster, _ in both["plan_scenario"]} == {"a", "b's"}
    job.answer(lake, "s", Question("p", "a"), limits(None), rules=False)
    assert stored() == both
    paths = [files(lake, "s", id, "p", tmp_path / f"of {id}")[-1] for id in ("a", "b's")]
    assert paths[0].read_text() == paths[1].read_text()
