"""Tables of a night in memory: a sound cluster that breaks no rule, and edits that break rules."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from datetime import date
from itertools import zip_longest
from typing import Any

import pyarrow as pa

from expectations.rule import PREVIOUS
from jobs.schema import BY_NAME, Table
from kafka_model.cruise_control.limits import DEFAULT_GOALS, GOALS, Thresholds, balancedness_cost_by_goal

Row = dict[str, Any]
Tables = dict[str, list[Row]]
Edit = Callable[[Tables], None]

# Topic t has six partitions on three brokers, each broker in a rack of its own. Each partition prefers the next broker.
REPLICAS = [[0, 1, 2], [1, 2, 0], [2, 0, 1], [0, 1, 2], [1, 2, 0], [2, 0, 1]]
RACKS = ["a", "b", "c"]
# The members that partitions 0 to 5 are assigned to: with the present members (0), one more and one fewer.
ASSIGNED = {0: "m0 m0 m1 m1 m2 m2", 1: "m0 m0 m1 m1 m2 m3", -1: "m0 m0 m0 m1 m1 m1"}

WEIGHTS = balancedness_cost_by_goal(Thresholds())


def edit(table: str, where: Mapping[str, Any] | None = None, /, **values: Any) -> Edit:
    """Return an edit that changes the rows of a table with the values of `where`, or all rows."""

    def change(tables: Tables) -> None:
        rows = [row for row in tables[table] if _has(row, where or {})]
        assert rows, f"no row of {table} has {where}"
        assert values.keys() <= rows[0].keys(), f"{table} has no {values.keys() - rows[0].keys()}"
        for row in rows:
            row.update(values)

    return change


def edit_outcome(where: Mapping[str, Any], /, **values: Any) -> Edit:
    """Return an edit that changes the rows of failover_pattern to which the rows of failover with the values of `where` refer."""

    def change(tables: Tables) -> None:
        for row in tables["failover"]:
            if _has(row, where):
                edit("failover_pattern", {"outcome_id": row["outcome_id"]}, **values)(tables)

    return change


def drop(table: str, where: Mapping[str, Any] | None = None) -> Edit:
    """Return an edit that removes the rows of a table with the values of `where`, or all rows."""

    def change(tables: Tables) -> None:
        remaining = [row for row in tables[table] if not _has(row, where or {})]
        assert len(remaining) < len(tables[table]), f"no row of {table} has {where}"
        tables[table] = remaining

    return change


def add(table: str, *values: Any) -> Edit:
    """Return an edit that adds a row to a table: the values of its columns after snapshot and cluster, with null for missing last ones."""
    return lambda tables: tables[table].append(_row(table, values))


def in_previous_night(*edits: Edit) -> Edit:
    """Return an edit of the previous night, which otherwise equals this night."""

    def change(tables: Tables) -> None:
        previous = copy.deepcopy({name: tables.get(f"{PREVIOUS}{name}", rows) for name, rows in tables.items() if name in BY_NAME})
        for change_previous in edits:
            change_previous(previous)
        tables.update({f"{PREVIOUS}{name}": rows for name, rows in previous.items()})

    return change


def add_change(kind: str, **values: Any) -> Edit:
    """Return an edit that adds a row to the table `change`."""
    row = dict.fromkeys(BY_NAME["change"].schema.names[2:]) | {"previous_snapshot_id": "r", "kind": kind} | values
    return add("change", *row.values())


def _add_consumers(tables: Tables) -> None:
    """Add group g with three members, its assignments like ASSIGNED, a share group whose members read the same partition, and a streams group."""
    for number in range(3):
        add("group_member", "g", f"m{number}", None, "client", "host", ["t"], None, None, False)(tables)
    for assignor in ("range", "roundrobin"):
        for members_change, owners in ASSIGNED.items():
            for partition, member in enumerate(owners.split()):
                add("consumer_assignment", "g", assignor, members_change, "t", partition, member)(tables)
            members = 3 + members_change
            counts = [owners.split().count(f"m{number}") for number in range(members)]
            moved = sum(before != after for before, after in zip(ASSIGNED[0].split(), owners.split(), strict=True))
            values = [members, 6, counts.count(0), min(counts), max(counts), max(counts) - min(counts), moved]
            differences = 0 if assignor == "range" and members_change == 0 else None
            add("group_assignment", "g", assignor, members_change, *values, differences, False, None)(tables)
    add("consumer_group", "shared", "share", None, "Stable", 0, 2)(tables)
    for member in ("s0", "s1"):
        add("group_member", "shared", member, None, "client", "host", ["t"], None, None, False)(tables)
        add("observed_assignment", "t", 0, "shared", member)(tables)
    add("consumer_group", "pipeline", "streams", None, "Stable", 0, 1)(tables)
    add("group_member", "pipeline", "p0", None, "client", "host", ["t"], None, None, False)(tables)
    for members_change in ASSIGNED:
        add("group_assignment", "shared", "simple", members_change, 2 + members_change, *[None] * 8, "topic ids")(tables)


def breached(goal: str) -> list[Edit]:
    """Return edits with which broker 0 violates a goal, which lowers the score by the goal's weight."""
    score = 100.0 - WEIGHTS.get(goal, 0.0)
    return [
        edit("goal_verdict", {"goal": goal}, verdict="violated", breaches=1),
        add("goal_breach", goal, 0, None, None, 3.0, 2.0, "replicas <= 2", "move 1 replica off broker 0", False),
        edit("cluster_balance", balancedness_score=score, lowest_score=score, highest_score=score),
    ]


def sound() -> Tables:
    """Return the tables of a cluster that breaks no rule."""
    tables: Tables = {name: [] for name in BY_NAME}

    def add_row(table: str, *values: Any) -> None:
        add(table, *values)(tables)

    add_row("cluster", "zookeeper", False, False, "3.9.2", "assumed", ["kafka-topics"], None, "id")
    add_row("input_file", "topics.txt", "kafka-topics", 7, 7, 0, 700, 0)
    add_row("config", "broker", "0", "log.cleaner.threads", "2")
    add_row("client_quota", "alice", None, None, "producer_byte_rate", 1024.0)
    add_row("acl", "TOPIC", "t", "LITERAL", "User:alice", "*", "READ", "ALLOW")
    add_row("proposed_reassignment", "t", "plan.json", 0, [0, 1], None)
    add_row("topic", "t", "id", 6, 3, 2, {})
    add_row("topic_placement", "t", "rack-aware", 0, 0, False, None, 6, 6, True, None, None)
    add_row("consumer_group", "g", "classic", "range", "Stable", 0, 3)
    last_day = date(2026, 1, 31)
    add_row("owner", 1, "team", None, None, None, None)
    add_row("policy", 1, "replication_factor_least", 4.0, None, "another topic", None)
    add_row("waiver", 1, "topic", "enough_replicas", "a reason", "team", last_day, last_day, None, "another topic", None)
    add_row("topic_partitioner", "t", 6, 6, 60, "murmur2", 60, 0.0, None, 0, 0, 0)
    add_row("topic_balance", "t", 6, 600, 0.0, 600, 0, 100, 1.0)
    for group, members, each in (("g", 3, 2), (None, 1, 6)):
        add_row("group_load", group, members, 0, 1, 6, each, each, 0.0, "host", 60, 1.0, 600, 1.0, 2, 200, 0, 1 / 3, 0.0)
    add_row("topic_load", "t", 6, 6, 60, 600, 6, 0, 0, 1.0, 0.0, 1 / 6, 1.0, None, None, 0, 0)
    for broker, rack in enumerate(RACKS):
        add_row("broker", broker, rack, True, 10_000.0, None, None, None, False)
        add_row("log_dir", broker, "/d", None, 10_000.0, None, None)
        add_row("disk_usage", broker, "/d", 6, 600, 0, 6, 10_000.0, 0.06, 0)
        add_row("broker_balance", broker, rack, True, 6, 6, 2, 2, 600, 20, 200, 0.06, 3, 1.0, 1.0, 1.0, 1.0)
        add_row("broker_restart", broker, True, broker + 1, 0, 6, 0, 0, 0, 0, 2, 2, 2)
        _add_scenario(tables, f"broker {broker}", "broker", [broker], [])
        _add_scenario(tables, f"stop {broker}", "stop", [broker], [])
        _add_scenario(tables, f"rack {rack}", "rack", [broker], [rack])
    for priority, (goal, is_hard) in enumerate(GOALS.items(), 1):
        score = [priority, is_hard, WEIGHTS[goal]] if goal in DEFAULT_GOALS else [None, is_hard, None]
        add_row("goal_verdict", goal, *score, "satisfied", 0, None, None, False, None, "RIGHT_SIZED")
    for level, items in (("replicas", 18), ("leaders", 6), ("topic replicas", 18), ("rack replicas", 18)):
        add_row("net_imbalance", level, items, 0, 0.0)
    add_row("cluster_balance", 100.0, 100.0, 100.0, 0, 0, "RIGHT_SIZED", None, None, None, None, None)
    for broker, other in ((0, 1), (0, 2), (1, 2)):
        add_row("broker_pair", broker, other, 6, 0, 6, 0, False)
    add_row("joint_loss", 2, 3, 3, 0, 0, 3, 0.0, 1.0)
    add_row("joint_loss", 3, 3, 1, 1, 1, 1, 1.0, 1.0)
    for partition, replicas in enumerate(REPLICAS):
        add_row("partition", "t", partition, replicas[0], replicas, [0, 1, 2], [], [], None, None, 100, None, None, [100, 100, 100])
        add_row("replica_assignment", "t", partition, replicas, replicas, False, 0)
        add_row("observed_assignment", "t", partition, "g", ASSIGNED[0].split()[partition])
        add_row("committed_offset", "t", partition, "g", 90, 100, 10)
        key = f"key{partition}".encode()
        add_row("key_sample", "t", key, None, 10, 100, [partition], [10])
        add_row("producer_load", "t", partition, 10, 100, 0, 10, 0, 1, None, None, None, None)
        add_row("hot_key", "t", partition + 1, key, key.decode(), partition, 10, 100, 1 / 6, partition)
        for index, broker in enumerate(replicas):
            add_row("replica", "t", partition, broker, index, True, "/d", 100, 0, None, None)
            add_row("log_storage", "t", partition, broker, "/d", 100, 1 << 30, 4096, 1, 604_800_000, None, 0, False)
    _add_consumers(tables)
    return tables


def _add_scenario(tables: Tables, name: str, kind: str, brokers: list[int], racks: list[str]) -> None:
    """Add a scenario in which one of the three brokers fails.

    It led two partitions, whose next replica takes over. All six partitions have two in-sync replicas left.
    """
    (lost,) = brokers
    successor = (lost + 1) % 3
    counts = {"partitions": 6, "moved": 2, "leaderless": 0, "newly": 0, "under": 0, "newly_under": 0, "at": 6, "unclean": 0, "none_left": 0}
    add("scenario", "nightly", name, kind, brokers, racks, None, kind == "stop", *counts.values(), 0, successor, 2, 0, 6, 0, 0, 0)(tables)
    tables["scenario"][-1] |= {"log_dirs": [], "transitions": 4, "at_risk_size_bytes": 0, "failover_scenario_id": name}
    add("failover_load", "nightly", name, successor, 2, 2, 20, 200, 1.0, None, 5.0, 0.5)(tables)
    for partition, replicas in enumerate(REPLICAS):
        dying = replicas.index(lost) + 1
        leader = 2 if dying == 1 else 1
        survivors = [position for position in (1, 2, 3) if position != dying]
        # Each row has an outcome of its own, which an edit changes for this row alone.
        outcome_id = len(tables["failover_pattern"])
        pattern = [False, False, False, "2.0.0", "2.0.0", 2, 2, 3, 3, 1, [1, 2, 3], [], [], [1, 2, 3], [dying], 1, False, kind == "stop"]
        moves = ["OnlinePartition -> OfflinePartition", "OfflinePartition -> OnlinePartition"] if dying == 1 else []
        after = ["OnlinePartition", "OnlinePartition", moves, "offline" if moves else "none", leader, survivors, None, None, survivors]
        after += [False, False, True, False, 3, 2, 3, 2, None, len(moves) // 2, False]
        add("failover_pattern", "nightly", outcome_id, *pattern, *after)(tables)
        harms = [False, False, False]
        add("failover", "nightly", name, "t", partition, outcome_id, replicas[0], replicas[leader - 1], *harms, 0, None, None)(tables)


def arrow(clusters: Mapping[str, Tables]) -> dict[str, pa.Table]:
    """Return the tables of a night with these clusters, and those of the previous night with their prefix."""

    def rows(table: Table, prefix: str, snapshot_id: str) -> pa.Table:
        rows = [
            {"snapshot_id": snapshot_id, "cluster_id": cluster, **row}
            for number, (cluster, tables) in enumerate(clusters.items())
            for row in _with_own_outcomes(number, tables.get(f"{prefix}{table.name}", tables[table.name]))
        ]
        return pa.Table.from_pylist(rows, table.schema)

    with_cluster = [table for table in BY_NAME.values() if "cluster_id" in table.schema.names]
    return {f"{prefix}{table.name}": rows(table, prefix, id) for table in with_cluster for prefix, id in (("", "s"), (PREVIOUS, "r"))}


def _with_own_outcomes(cluster: int, rows: list[Row]) -> list[Row]:
    """Return rows with outcome ids that no other cluster has."""
    return [row | {"outcome_id": 1_000 * cluster + row["outcome_id"]} if "outcome_id" in row else row for row in rows]


def _row(table: str, values: tuple[Any, ...]) -> Row:
    names = BY_NAME[table].schema.names[2:]  # after snapshot and cluster
    assert len(values) <= len(names), f"{table} has {len(names)} columns"
    return dict(zip_longest(names, values))


def _has(row: Row, where: Mapping[str, Any]) -> bool:
    return all(row[name] == value for name, value in where.items())
