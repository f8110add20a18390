"""A night's tables in memory: a sound cluster by hand, and edits that break it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from itertools import zip_longest
from typing import Any

import pyarrow as pa

from expectations.rule import PREVIOUS
from jobs.schema import BY_NAME, Table
from kafka_model.cruise_control.limits import DEFAULT_GOALS, GOALS, Thresholds, balancedness_cost_by_goal

Row = dict[str, Any]
Tables = dict[str, list[Row]]
Edit = Callable[[Tables], None]

# Topic t, six partitions on three brokers, one a rack; each partition prefers the next broker.
REPLICAS = [[0, 1, 2], [1, 2, 0], [2, 0, 1], [0, 1, 2], [1, 2, 0], [2, 0, 1]]
RACKS = ["a", "b", "c"]
# Who holds partitions 0 to 5 with the members as they are, one more, and one fewer.
HELD = {0: "m0 m0 m1 m1 m2 m2", 1: "m0 m0 m1 m1 m2 m3", -1: "m0 m0 m0 m1 m1 m1"}

WEIGHTS = balancedness_cost_by_goal(Thresholds())


def edit(table: str, where: Mapping[str, Any] | None = None, /, **values: Any) -> Edit:
    """Change the rows of a table that have the values of `where`; all, if there is none."""

    def change(tables: Tables) -> None:
        rows = [row for row in tables[table] if _has(row, where or {})]
        assert rows, f"no row of {table} has {where}"
        assert values.keys() <= rows[0].keys(), f"{table} has no {values.keys() - rows[0].keys()}"
        for row in rows:
            row.update(values)

    return change


def drop(table: str, where: Mapping[str, Any] | None = None) -> Edit:
    """Take away the rows of a table that have the values of `where`; all, if there is none."""

    def change(tables: Tables) -> None:
        kept = [row for row in tables[table] if not _has(row, where or {})]
        assert len(kept) < len(tables[table]), f"no row of {table} has {where}"
        tables[table] = kept

    return change


def add(table: str, *values: Any) -> Edit:
    """Add a row to a table: its columns after snapshot and cluster; the last ones may be left out, and are null."""
    return lambda tables: tables[table].append(_row(table, values))


def before(*edits: Edit) -> Edit:
    """Make the edits to the night before, which else was as this one is."""

    def change(tables: Tables) -> None:
        old = copy.deepcopy({name: tables.get(f"{PREVIOUS}{name}", rows) for name, rows in tables.items() if name in BY_NAME})
        for one in edits:
            one(old)
        tables.update({f"{PREVIOUS}{name}": rows for name, rows in old.items()})

    return change


def differ(kind: str, **values: Any) -> Edit:
    """Add a row of `change`."""
    whole = dict.fromkeys(BY_NAME["change"].schema.names[2:]) | {"previous_snapshot_id": "r", "kind": kind} | values
    return add("change", *whole.values())


def consumers(members: int, held: Mapping[int, str], *, spread: int, idle: int) -> Edit:
    """Let the group have so many members, who hold partitions 0 to 5 as told; spread and idle are those of the members as they are."""

    def change(tables: Tables) -> None:
        for table in ("group_member", "consumer_assignment", "group_assignment"):
            tables[table] = [row for row in tables[table] if row["group_id"] != "g"]
        for number in range(members):
            add("group_member", "g", f"m{number}", None, "client", "host", ["t"], None, None)(tables)
        for assignor in ("range", "roundrobin"):
            for changed, holders in held.items():
                for partition, member in enumerate(holders.split()):
                    add("consumer_assignment", "g", assignor, changed, "t", partition, member)(tables)
                counts = [holders.split().count(f"m{number}") for number in range(members + changed)]
                moved = sum(was != now for was, now in zip(held[0].split(), holders.split(), strict=True))
                differing = 0 if assignor == "range" and changed == 0 else None
                spans = [min(counts), max(counts), max(counts) - min(counts)]
                add("group_assignment", "g", assignor, changed, members + changed, 6, counts.count(0), *spans, moved, differing)(tables)
        now = next(row for row in tables["group_assignment"] if row["members_change"] == 0)
        assert (now["spread"], now["idle_members"]) == (spread, idle)

    return change


def breached(goal: str) -> list[Edit]:
    """The goal is violated by broker 0, which costs its weight."""
    score = 100.0 - WEIGHTS.get(goal, 0.0)
    return [
        edit("goal_verdict", {"goal": goal}, verdict="violated", breaches=1),
        add("goal_breach", goal, 0, None, None, 3.0, 2.0, "replicas <= 2", "move 1 replica off broker 0", False),
        edit("cluster_balance", balancedness_score=score, lowest_score=score, highest_score=score),
    ]


def sound() -> Tables:
    """A cluster with nothing to find fault with."""
    tables: Tables = {name: [] for name in BY_NAME}

    def have(table: str, *values: Any) -> None:
        add(table, *values)(tables)

    have("cluster", "zookeeper", False, ["kafka-topics"], None, "id")
    have("input_file", "topics.txt", "kafka-topics", 7, 7, 0, 700)
    have("topic", "t", "id", 6, 3, 2, {})
    have("topic_placement", "t", "rack-aware", 0, 0, False, 6, 6, True, None)
    have("consumer_group", "g", "classic", "range", "Stable", 0, 3)
    have("topic_partitioner", "t", 6, 6, 60, "murmur2", 60, 0.0, None, 0, 0, 0)
    have("topic_balance", "t", 6, 600, 0.0, 600, 0, 100, 1.0)
    for group, members, each in (("g", 3, 2), (None, 1, 6)):
        have("group_load", group, members, 0, 1, 6, each, each, 0.0, "host", 60, 1.0, 600, 1.0, 2, 200, 0, 1 / 3, 0.0)
    have("topic_load", "t", 6, 6, 60, 600, 6, 0, 1.0, 0.0, 1 / 6, 1.0, None, None, 0, 0)
    for broker, rack in enumerate(RACKS):
        have("broker", broker, rack, True, 10_000.0, None, None, None, False)
        have("log_dir", broker, "/d", None, 10_000.0, None, None)
        have("disk_usage", broker, "/d", 6, 600, 0, 6, 10_000.0, 0.06)
        have("broker_balance", broker, rack, True, 6, 6, 2, 2, 600, 20, 200, 0.06, 3, 1.0, 1.0, 1.0, 1.0)
        have("broker_restart", broker, True, broker + 1, 0, 6, 0, 0, 2, 2)
        _have_scenario(tables, f"broker {broker}", "broker", [broker], [])
        _have_scenario(tables, f"stop {broker}", "stop", [broker], [])
        _have_scenario(tables, f"rack {rack}", "rack", [broker], [rack])
    for place, (goal, is_hard) in enumerate(GOALS.items(), 1):
        default = goal in DEFAULT_GOALS
        weight = WEIGHTS[goal] if default else None
        have(
            "goal_verdict",
            goal,
            place if default else None,
            is_hard,
            weight,
            "satisfied",
            0,
            None,
            None,
            False,
            None,
            "RIGHT_SIZED",
            None,
            None,
            None,
        )
    for level, items in (("replicas", 18), ("leaders", 6), ("topic replicas", 18), ("rack replicas", 18)):
        have("net_imbalance", level, items, 0, 0.0)
    have("cluster_balance", 100.0, 100.0, 100.0, 0, 0, "RIGHT_SIZED", None, None, None, None, None)
    for one, other in ((0, 1), (0, 2), (1, 2)):
        have("broker_pair", one, other, 6, 0, 6, 0)
    have("joint_loss", 2, 3, 3, 0, 0, 3, 0.0, 1.0)
    have("joint_loss", 3, 3, 1, 1, 1, 1, 1.0, 1.0)
    for partition, replicas in enumerate(REPLICAS):
        have("partition", "t", partition, replicas[0], replicas, [0, 1, 2], [], [], None, None, 100, None, None, [100, 100, 100])
        have("replica_assignment", "t", partition, replicas, replicas, False, 0)
        have("observed_assignment", "t", partition, "g", HELD[0].split()[partition])
        have("committed_offset", "t", partition, "g", 90, 100, 10)
        key = f"key{partition}".encode()
        have("key_sample", "t", key, None, 10, 100, [partition], [10])
        have("producer_load", "t", partition, 10, 100, 0, 10, 0, 1, 1 / 6, 1 / 6, None, None, None)
        have("hot_key", "t", partition + 1, key, key.decode(), partition, 10, 100, 1 / 6, partition)
        for index, broker in enumerate(replicas):
            have("replica", "t", partition, broker, index, True, "/d", 100, 0, None, None)
            have("log_storage", "t", partition, broker, "/d", 100, 1 << 30, 1, 0, 0, 604_800_000, None, 0)
    consumers(3, HELD, spread=0, idle=0)(tables)
    have("consumer_group", "shared", "share", None, "Stable", 0, 2)
    for member in ("s0", "s1"):  # who read a partition together
        have("group_member", "shared", member, None, "client", "host", ["t"], None, None)
        have("observed_assignment", "t", 0, "shared", member)
    return tables


def _have_scenario(tables: Tables, name: str, kind: str, brokers: list[int], racks: list[str]) -> None:
    """One broker of three is lost: it led two partitions, whose next replica takes over, and all six are left with two in sync."""
    (lost,) = brokers
    heir, in_sync = (lost + 1) % 3, [id for id in range(3) if id != lost]
    counts = {"partitions": 6, "moved": 2, "leaderless": 0, "newly": 0, "under": 0, "newly_under": 0, "at": 6, "unclean": 0, "none left": 0}
    add("scenario", "nightly", name, kind, brokers, racks, None, kind == "stop", *counts.values(), 0, heir, 2, 0, 6, 0, 0, 0)(tables)
    tables["scenario"][-1] |= {"log_dirs": [], "transitions": 4, "at_risk_size_bytes": 0}
    add("failover_load", "nightly", name, heir, 2, 2, 20, 200, 1.0, None, 5.0, 0.5)(tables)
    for partition, replicas in enumerate(REPLICAS):
        leader = heir if replicas[0] == lost else replicas[0]
        moves = ["OnlinePartition -> OfflinePartition", "OfflinePartition -> OnlinePartition"] if replicas[0] == lost else []
        states = ["OnlinePartition", "OnlinePartition", moves, "offline" if moves else "none"]
        after = [replicas[0], leader, [0, 1, 2], in_sync, [], [], 2, False, False, True, False, 2, 3, 2]
        after += [None, None, None, None, 3, 3, [id for id in replicas if id != lost]]
        add("failover", "nightly", name, "t", partition, *states, *after)(tables)


def arrow(clusters: Mapping[str, Tables]) -> dict[str, pa.Table]:
    """Return the tables of a night with these clusters, and those of the previous night with their prefix."""

    def rows(table: Table, prefix: str, snapshot_id: str) -> pa.Table:
        rows = [
            {"snapshot_id": snapshot_id, "cluster_id": cluster, **row}
            for cluster, tables in clusters.items()
            for row in tables.get(f"{prefix}{table.name}", tables[table.name])
        ]
        return pa.Table.from_pylist(rows, table.schema)

    with_cluster = [table for table in BY_NAME.values() if "cluster_id" in table.schema.names]
    return {f"{prefix}{table.name}": rows(table, prefix, id) for table in with_cluster for prefix, id in (("", "s"), (PREVIOUS, "r"))}


def _row(table: str, values: tuple[Any, ...]) -> Row:
    names = BY_NAME[table].schema.names[2:]  # after snapshot and cluster
    assert len(values) <= len(names), f"{table} has {len(names)} columns"
    return dict(zip_longest(names, values))


def _has(row: Row, where: Mapping[str, Any]) -> bool:
    return all(row[name] == value for name, value in where.items())
