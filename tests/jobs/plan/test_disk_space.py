"""Disk limits of a plan: old and new copies of a wave together, unknown capacities and sizes, and what fits on no disk."""

from __future__ import annotations

from typing import Any

import pytest

from jobs.plan.files import commands
from jobs.schema import BROKER, LOG_DIR, PARTITION, PARTITION_LOAD, POLICY, REPLICA
from tests.jobs.plan.clusters import GIB, TWO_RACKS, Tables, cluster_with_disks, plan_rows
from tests.jobs.rows import rows


def bytes_by_wave(tables: Tables, moves: list[dict[str, Any]]) -> list[dict[int, float]]:
    """Return the bytes on each broker at the fullest moment of each wave: after its copies, before its deletions."""
    stored = {(row["topic"], row["partition"], row["broker_id"]): row["size_bytes"] for row in tables[REPLICA].to_pylist()}
    leader_size = {
        (row["topic"], row["partition"]): stored[row["topic"], row["partition"], row["leader"]] for row in tables[PARTITION].to_pylist()
    }
    waves = []
    for wave in sorted({move["wave"] for move in moves}):
        wave_moves = [move for move in moves if move["wave"] == wave]
        for move in wave_moves:
            key = move["topic"], move["partition"]
            stored |= {(*key, broker_id): leader_size[key] for broker_id in move["added_replicas"]}
        used: dict[int, float] = {}
        for (_, _, broker_id), size in stored.items():
            used[broker_id] = used.get(broker_id, 0) + size
        waves.append(used)
        for move in wave_moves:
            for broker_id in move["removed_replicas"]:
                del stored[move["topic"], move["partition"], broker_id]
    return waves


def test_no_wave_exceeds_the_disk_limit() -> None:
    partitions = {number: ([1, 2] if number % 2 else [3, 4], GIB) for number in range(156)}  # 78 GiB on each broker
    tables = cluster_with_disks(partitions, capacity=100.0 * GIB, racks=TWO_RACKS)
    plan = plan_rows(tables)
    used = bytes_by_wave(tables, plan.moves)
    assert max(max(wave.values()) for wave in used) <= 90 * GIB
    assert all(len({TWO_RACKS[broker_id] for broker_id in move["replicas"]}) == 2 for move in plan.moves)
    assert (len(plan.moves), plan.summary["waves"] > 1, plan.summary["disk_limit"], plan.blocked) == (156, True, 0.9, [])
    fullest = [wave_used[wave["fullest_target_id"]] / (100 * GIB) for wave, wave_used in zip(plan.waves, used, strict=True)]
    assert [wave["fullest_target_share"] for wave in plan.waves] == pytest.approx(fullest)
    lower_limit = plan_rows(tables, disk_limit=0.8)
    assert max(max(wave.values()) for wave in bytes_by_wave(tables, lower_limit.moves)) <= 80 * GIB
    own_limit = {"entry": 1, "limit_name": "plan_disk_share_most", "limit_value": 0.8}
    assert plan_rows(tables | {POLICY: rows(POLICY, own_limit)}).moves == lower_limit.moves != plan.moves


def test_waves_limit_the_bytes_that_are_copied_not_the_reported_load() -> None:
    tables = cluster_with_disks({number: ([1, 2], 10 * GIB) for number in range(4)}, capacity=None, racks=TWO_RACKS)
    tables[PARTITION_LOAD] = rows(PARTITION_LOAD, *({"topic": "t", "partition": number, "disk_bytes": 1.0 * GIB} for number in range(4)))
    plan = plan_rows(tables, balance=False, wave_bytes=20.0 * GIB)
    assert [wave["moved_bytes"] for wave in plan.waves] == [20.0 * GIB, 20.0 * GIB]


def test_replicas_that_fit_on_no_disk_are_blocked_with_the_reason() -> None:
    partitions = {number: ([1, 2] if number % 2 else [3, 4], 39 * GIB) for number in range(4)}
    plan = plan_rows(cluster_with_disks(partitions, capacity=100.0 * GIB, racks=TWO_RACKS))
    assert plan.moves == []
    assert [(row["topic"], row["partition"], row["reason"], row["replicas"]) for row in plan.blocked] == [
        ("t", number, "shared rack", [1, 2] if number % 2 else [3, 4]) for number in range(4)
    ]
    assert all("disk limit" in row["obstacle"] for row in plan.blocked)
    assert plan.summary["unfulfilled"].startswith("nothing can be moved: 4 partitions cannot be fixed (4: ")


def test_plan_states_where_it_cannot_check_disks() -> None:
    tables = cluster_with_disks({0: ([1, 2], GIB)}, capacity=None, racks=TWO_RACKS)
    plan = plan_rows(tables)
    assert plan.summary["disk_unknown_brokers"] == [1, 2, 3, 4]
    unknown_capacity = "# The disk limit is not checked on brokers 1, 2, 3, 4: their disk capacity is unknown."
    assert unknown_capacity in commands(plan.summary, plan.moves)
    plan = plan_rows(tables | {REPLICA: rows(REPLICA)})
    assert (plan.summary["size_unknown_partitions"], plan.summary["moved_bytes"]) == (1, None)
    assert "# The disk limit does not count 1 partitions: their size is unknown." in commands(plan.summary, plan.moves)


def test_volumes_of_log_dirs_replace_an_unknown_capacity() -> None:
    partitions = {number: ([1, 2] if number % 2 else [3, 4], 10 * GIB) for number in range(8)}
    tables = cluster_with_disks(partitions, capacity=None, racks=TWO_RACKS)
    volume = {"total_bytes": 50 * GIB, "usable_bytes": 8 * GIB, "capacity_bytes": 50.0 * GIB}
    # Broker 1 has two log dirs on one volume. 42 GiB are used on each volume, more than by its replicas: every disk is 84 % full.
    dirs = [
        {"broker_id": broker_id, "log_dir": path, **volume}
        for broker_id in TWO_RACKS
        for path in (["/a", "/b"] if broker_id == 1 else ["/a"])
    ]
    plan = plan_rows(tables | {LOG_DIR: rows(LOG_DIR, *dirs)})
    assert (plan.summary["disk_unknown_brokers"], plan.summary["moved_replicas"]) == ([], 0)
    assert {row["partition"] for row in plan.blocked} == set(range(8))
    more_usable = [row | {"usable_bytes": 10 * GIB} for row in dirs]
    plan = plan_rows(tables | {LOG_DIR: rows(LOG_DIR, *more_usable)}, disk_limit=1.0)
    assert (plan.summary["moved_replicas"], plan.blocked) == (8, [])


def test_free_space_of_cordoned_log_dirs_does_not_count() -> None:
    partitions = {number: ([1, 2] if number % 2 else [3, 4], 10 * GIB) for number in range(8)}
    small = {"log_dir": "/a", "total_bytes": 50 * GIB, "usable_bytes": 8 * GIB, "capacity_bytes": 50.0 * GIB}
    large = {"log_dir": "/b", "total_bytes": 80 * GIB, "usable_bytes": 79 * GIB, "capacity_bytes": 80.0 * GIB}
    for total_capacity in (None, 130.0 * GIB):
        tables = cluster_with_disks(partitions, capacity=total_capacity, racks=TWO_RACKS)
        moved = []
        for cordoned in (False, True):
            dirs = [{"broker_id": broker_id, **volume} for broker_id in TWO_RACKS for volume in (small, large | {"cordoned": cordoned})]
            plan = plan_rows(tables | {LOG_DIR: rows(LOG_DIR, *dirs)})
            moved.append((plan.summary["moved_replicas"], len(plan.blocked)))
        assert moved == [(8, 0), (0, 8)], total_capacity


def test_cordoned_broker_is_no_target() -> None:
    tables = cluster_with_disks({0: ([1, 2], GIB)}, capacity=None, racks=TWO_RACKS)
    for cordoned, target in ((3, 4), (4, 3)):
        brokers = [row | {"cordoned": row["broker_id"] == cordoned} for row in tables[BROKER].to_pylist()]
        plan = plan_rows(tables | {BROKER: rows(BROKER, *brokers)}, balance=False)
        assert [move["added_replicas"] for move in plan.moves] == [[target]]


def test_new_copy_counts_with_the_size_of_its_leader() -> None:
    tables = cluster_with_disks({0: ([1, 2], 10 * GIB)}, capacity=30.0 * GIB, racks={1: "a", 2: "a", 3: "b"})
    larger_follower = [row | ({"size_bytes": 28 * GIB} if row["broker_id"] == 2 else {}) for row in tables[REPLICA].to_pylist()]
    plan = plan_rows(tables | {REPLICA: rows(REPLICA, *larger_follower)}, balance=False)
    (move,) = plan.moves
    assert (move["replicas"], move["moved_bytes"], plan.summary["moved_bytes"]) == ([1, 3], 10 * GIB, 10 * GIB)
