"""plan: the smallest reassignment of a published cluster that clears its broken goals, or that drains, adds or re-replicates as asked.

The cluster's rows come to this process as arrays, kafka_model.reassignment decides, and after every wave kafka_model.failover plays each
broker's death: a wave that left more partitions in danger than there were before is no plan. Nothing is executed: what to give Kafka's own
tools is written as files.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from expectations.limits import Limits
from jobs import planned_night
from jobs.cluster_array import cluster_of
from jobs.errors import AuditError
from jobs.lake import Lake
from jobs.plan_failover import COUNTS, Failures, State
from jobs.run import Night
from jobs.tables import (
    BROKER,
    CLUSTER,
    PARTITION,
    PARTITION_LOAD,
    PLAN,
    PLAN_BROKER,
    PLAN_GOAL,
    PLAN_MOVE,
    PLAN_RULE,
    PLAN_SCENARIO,
    PLAN_WAVE,
    REPLICA,
    TOPIC,
    Table,
)
from jobs.what_if import published
from kafka_model import goal, goal_array, reassignment
from kafka_model.goal import DISK, Thresholds
from kafka_model.reassignment import Asked, Bounds

READS = (CLUSTER, BROKER, TOPIC, PARTITION, REPLICA, PARTITION_LOAD)
WRITES = (PLAN, PLAN_MOVE, PLAN_WAVE, PLAN_GOAL, PLAN_BROKER, PLAN_SCENARIO, PLAN_RULE)


@dataclass(frozen=True, slots=True)
class Question:
    """What a plan is to do, beside mending what is broken; `topics`: these alone, and no more than their racks and dead brokers ask for."""

    id: str
    cluster_id: str
    drain: Sequence[int] = ()
    add: Mapping[int, str | None] = field(default_factory=dict)  # brokers to come, and their racks
    replication_factor: Mapping[str, int] = field(default_factory=dict)
    topics: Sequence[str] = ()
    balance: bool = True
    wave_bytes: float = 100.0 * 2**30
    moves_per_broker: int = 100
    network_share: float = 0.5


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan: the rows of WRITES but PLAN_RULE, without snapshot, cluster and plan; the brokers and the partitions that it changes, as they
    are at its end, these in the order in which it is done.
    """

    tables: tuple[pa.Table, ...]
    brokers: list[dict[str, Any]]
    settled: dict[tuple[str, int], State]


def answer(lake: Lake, snapshot_id: str | None, question: Question, limits: Limits, *, rules: bool = True) -> str:
    """Plan on a published snapshot, by default the cluster's newest, and store the plan; returns the snapshot's id.

    With `rules`, every rule is judged on the night after the plan, which takes as long as a night of the cluster.
    """
    night = Night(lake, published(lake, snapshot_id, question.cluster_id))
    rows = {table: night.of_cluster(table, question.cluster_id) for table in READS}
    plan = planned(rows, question, limits.cruise_control)
    judged = planned_night.rules(night, question.cluster_id, limits, plan.brokers, plan.settled) if rules else []
    for table, found in zip(WRITES, (*plan.tables, _table(PLAN_RULE, judged)), strict=True):
        lake.create(table)
        named = found.append_column("plan_id", pa.repeat(question.id, len(found))).append_column(
            "cluster_id", pa.repeat(question.cluster_id, len(found))
        )
        lake.replace(table, named, few=True, snapshot_id=night.snapshot_id, plan_id=question.id)
    return night.snapshot_id


def files(lake: Lake, snapshot_id: str, plan_id: str, folder: Path) -> list[Path]:
    """What Kafka's own tools take: a reassignment for each wave with what undoes it, and the preferred election that follows."""
    moves = lake.rows(PLAN_MOVE, snapshot_id=snapshot_id, plan_id=plan_id)
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for wave in sorted({move["wave"] for move in moves}):
        of_wave = [move for move in moves if move["wave"] == wave]
        for name, replicas in (("reassignment", "replicas"), ("rollback", "replicas_before")):
            entries = [{"topic": move["topic"], "partition": move["partition"], "replicas": move[replicas]} for move in _sorted(of_wave)]
            written.append(_write(folder / f"{name}-{wave}.json", {"version": 1, "partitions": entries}))
    led = [move for move in moves if move["leader_before"] != move["replicas"][0]]
    if led:
        entries = [{"topic": move["topic"], "partition": move["partition"]} for move in _sorted(led)]
        written.append(_write(folder / "preferred-election.json", {"partitions": entries}))
    (plan,) = lake.rows(PLAN, snapshot_id=snapshot_id, plan_id=plan_id)
    path = folder / "commands.txt"
    path.write_text("".join(f"{line}\n" for line in commands(plan, moves)), encoding="utf-8")
    return [*written, path]


def commands(plan: Mapping[str, Any], moves: Sequence[Mapping[str, Any]]) -> list[str]:
    """What to run, in order, where the files lie: a wave at a time, throttled where the network's capacity is told."""
    throttle, share = plan["throttle_bytes_per_s"], json.loads(plan["asked"])["network_share"]
    lines = ["# A wave at a time: go on once --verify says that each reassignment is completed; it lifts the throttle too."]
    if throttle is None:
        lines.append("# Without a throttle: not all network capacities are told.")
    elif throttle < 1:
        lines.append(f"# Without a throttle: broker {plan['throttle_broker_id']} is over {share:g} of its network already.")
    tool = "kafka-reassign-partitions.sh --bootstrap-server HOST:PORT"
    for wave in sorted({move["wave"] for move in moves}):
        copied = sum(len(move["added_replicas"]) for move in moves if move["wave"] == wave)
        limit = f" --throttle {math.floor(throttle)}" if copied and throttle is not None and throttle >= 1 else ""
        lines.append(f"# wave {wave}: {copied} replicas are copied" if copied else f"# wave {wave}: leadership alone")
        lines += [f"{tool} --reassignment-json-file reassignment-{wave}.json {end}" for end in (f"--execute{limit}", "--verify")]
    if any(move["leader_before"] != move["replicas"][0] for move in moves):
        election = "kafka-leader-election.sh --bootstrap-server HOST:PORT --election-type preferred"
        lines.append(f"{election} --path-to-json-file preferred-election.json")
    return lines


def _write(path: Path, document: dict[str, Any]) -> Path:
    path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return path


def _sorted(moves: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(moves, key=lambda move: (move["topic"], move["partition"]))


def planned(rows: Mapping[Table, pa.Table], question: Question, thresholds: Thresholds) -> Planned:
    """The plan of a cluster with these rows of READS."""
    brokers = _brokers(rows, question)
    cluster = _cluster(rows, brokers)
    if unknown := [topic for topic in (*question.topics, *question.replication_factor) if topic not in cluster.topics]:
        raise AuditError(f"cluster {question.cluster_id} has no topic {', '.join(unknown)}")
    moving = sum(bool(row["adding_replicas"] or row["removing_replicas"]) for row in rows[PARTITION].to_pylist())
    if moving:
        raise AuditError(f"cluster {question.cluster_id} is reassigning {moving} partitions: let it end, take a snapshot, and plan on that")
    asked = Asked(frozenset(question.drain), question.replication_factor, frozenset(question.topics), question.balance)
    plan = reassignment.plan(cluster, asked, thresholds)
    before = goal_array.judged(cluster, cluster.replicas, cluster.leader, thresholds)
    first = plan.replicas[:, 0]
    leader = np.where(cluster.live[first], first, cluster.leader)
    after = goal_array.judged(cluster, plan.replicas, leader, thresholds)
    wave = reassignment.waves(plan, Bounds(question.wave_bytes, question.moves_per_broker))
    elected = np.flatnonzero((cluster.leader != leader) & (leader >= 0))
    # A partition that its first replica does not lead takes an election alone: it is a move of nothing.
    changed = np.union1d(plan.changed, elected)
    wave_of = dict(zip(plan.changed.tolist(), wave.tolist(), strict=True))
    sizes = cluster.loads[DISK] * 2.0**20
    moves = [_move(plan, p, wave_of.get(p, 0), float(sizes[p])) for p in changed.tolist()]
    failures, states = _failures(rows, brokers), _states(rows, cluster)
    waves, settled = _waves(moves, changed.tolist(), states, failures)
    scenarios = _scenarios(states, settled, failures)
    throttle, slowest = _throttle(brokers, moves, question.network_share)
    harmed_before = waves.pop(0)["harmed"]
    stranded = (plan.replicas >= 0) & ~(cluster.live & ~np.isin(cluster.broker_ids, question.drain))[plan.replicas]
    summary = {
        "asked": json.dumps({key: value for key, value in asdict(question).items() if key not in ("id", "cluster_id")}, sort_keys=True),
        "changed_partitions": len(plan.changed),
        "moved_replicas": int(plan.added.sum()),
        "moved_bytes": _finite(float((plan.added * sizes)[plan.added > 0].sum())),
        "leadership_changes": int((plan.added[plan.changed] == 0).sum()),
        "elections": len(elected),
        "waves": max((move["wave"] for move in moves), default=0),
        "least_moves": reassignment.net_imbalance(_counts(cluster)),
        "stranded_replicas": int(stranded.sum()),
        "throttle_bytes_per_s": throttle,
        "harmed_before": harmed_before,
        "harmed": waves[-1]["harmed"] if waves else harmed_before,
        "throttle_broker_id": slowest,
    }
    goals = [
        {
            "goal": name,
            "hard": hard,
            "verdict_before": before[name].verdict,
            "verdict": after[name].verdict,
            "breaches_before": _breaches(before[name]),
            "breaches": _breaches(after[name]),
        }
        for name, hard in goal.GOALS.items()
    ]
    found = ([summary], moves, waves, goals, _carried(plan, leader, sizes), scenarios)
    done = sorted(zip(moves, settled.values(), strict=True), key=lambda each: (each[0]["wave"], each[0]["topic"], each[0]["partition"]))
    return Planned(
        tuple(_table(of, rows) for of, rows in zip(WRITES[:-1], found, strict=True)),
        brokers,
        {(move["topic"], move["partition"]): state for move, state in done},
    )


def _brokers(rows: Mapping[Table, pa.Table], question: Question) -> list[dict[str, Any]]:
    """The brokers, and those to come, which are taken to be like the one with the least capacity."""
    known = sorted(rows[BROKER].to_pylist(), key=lambda row: row["broker_id"])
    ids = {row["broker_id"] for row in known}
    if unknown := sorted(set(question.drain) - ids):
        raise AuditError(
            f"cluster {question.cluster_id} has no broker {', '.join(map(str, unknown))}: it has {', '.join(map(str, sorted(ids)))}"
        )
    if there := sorted(set(question.add) & ids):
        raise AuditError(f"cluster {question.cluster_id} has broker {', '.join(map(str, there))} already")
    if not [row for row in known if row["live"] and row["broker_id"] not in question.drain] and not question.add:
        raise AuditError(f"cluster {question.cluster_id} would have no broker left")
    capacities = [name for name in BROKER.schema.names if "_capacity_" in name]
    least = {name: min((row[name] for row in known if row["live"] and row[name] is not None), default=None) for name in capacities}
    return known + [{"broker_id": id, "rack": rack, "live": True, **least} for id, rack in sorted(question.add.items())]


def _cluster(rows: Mapping[Table, pa.Table], brokers: Sequence[dict[str, Any]]) -> goal_array.Cluster:
    """The cluster with what its partitions carry: as their size Cruise Control's, or the greatest replica's, which any copy comes to."""
    key, partitions = ["topic", "partition"], rows[PARTITION].select(["topic", "partition", "leader", "replicas"])
    largest = rows[REPLICA].group_by(key).aggregate([("size_bytes", "max")])
    carried = rows[PARTITION_LOAD].drop_columns(["snapshot_id", "cluster_id"])
    numbered = partitions.select(key).append_column("row", pa.array(range(len(partitions)), pa.int64()))
    loads = numbered.join(largest, key, join_type="left outer").join(carried, key, join_type="left outer").sort_by("row")
    size = pc.coalesce(loads["disk_bytes"], pc.cast(loads["size_bytes_max"], pa.float64()))
    partitions = partitions.append_column("disk_bytes", size)
    for name in ("network_in_bytes_per_s", "network_out_bytes_per_s", "cpu_percent"):
        partitions = partitions.append_column(name, loads[name])
    return cluster_of(brokers, partitions)


def _carried(plan: reassignment.Plan, leader: np.ndarray, sizes: np.ndarray) -> list[dict[str, Any]]:
    """What each broker carries, before and after."""
    cluster = plan.cluster
    columns: dict[str, list[Any]] = {"broker_id": cluster.broker_ids.tolist()}
    for suffix, replicas, leaders in (("_before", cluster.replicas, cluster.leader), ("", plan.replicas, leader)):
        of, _ = np.nonzero(replicas >= 0)
        at = replicas[replicas >= 0]
        columns[f"replicas{suffix}"] = np.bincount(at, minlength=len(cluster.broker_ids)).tolist()
        columns[f"leaders{suffix}"] = np.bincount(leaders[leaders >= 0], minlength=len(cluster.broker_ids)).tolist()
        stored = np.bincount(at, weights=sizes[of], minlength=len(cluster.broker_ids))
        columns[f"size_bytes{suffix}"] = [_finite(float(size)) for size in stored]
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _throttle(brokers: Sequence[dict[str, Any]], moves: Sequence[dict[str, Any]], share: float) -> tuple[float | None, int | None]:
    """What copying may take of each link so that it stays under its share, and the broker that allows the least; 0: it is over it already.

    Leaders send and new replicas receive. What a link carries now counts where it is told.
    """
    copied = [move for move in moves if move["added_replicas"]]
    busy = {"out": {move["leader_before"] for move in copied}, "in": {id for move in copied for id in move["added_replicas"]}}
    room = []
    for row in brokers:
        for way, ids in busy.items():
            if row["live"] and (row["broker_id"] in ids or not copied):
                capacity = row[f"network_{way}_capacity_bytes_per_s"]
                if capacity is None:
                    return None, None
                used = row.get(f"network_{way}_bytes_per_s") or 0.0
                room.append((max(share * capacity - used, 0.0), row["broker_id"]))
    return min(room, default=(None, None))


def _counts(cluster: goal_array.Cluster) -> list[int]:
    counts = np.bincount(cluster.replicas[cluster.replicas >= 0], minlength=len(cluster.broker_ids))
    return [int(count) for count in counts[cluster.live]] or [0]


def _move(plan: reassignment.Plan, p: int, wave: int, size: float) -> dict[str, Any]:
    cluster = plan.cluster
    before, after = (cluster.broker_ids[row[row >= 0]].tolist() for row in (cluster.replicas[p], plan.replicas[p]))
    added = [id for id in after if id not in before]
    return {
        "topic": cluster.topics[cluster.topic[p]],
        "partition": int(cluster.partition[p]),
        "wave": wave,
        "reason": plan.reason[p] or "not led by its first replica",
        "replicas_before": before,
        "replicas": after,
        "added_replicas": added,
        "removed_replicas": [id for id in before if id not in after],
        "leader_before": int(cluster.broker_ids[cluster.leader[p]]) if cluster.leader[p] >= 0 else None,
        "moved_bytes": _finite(size * len(added)) if added else 0.0,
    }


def _failures(rows: Mapping[Table, pa.Table], brokers: Sequence[dict[str, Any]]) -> Failures:
    """Of the brokers there are and those to come; who is drained may still die."""
    (cluster,) = rows[CLUSTER].to_pylist()
    live = {row["broker_id"]: row["rack"] for row in brokers if row["live"]}
    dead = [row["broker_id"] for row in brokers if not row["live"]]
    return Failures(cluster["controller"], live=live, dead=dead, voters=cluster["voters"])


def _states(rows: Mapping[Table, pa.Table], cluster: goal_array.Cluster) -> list[State]:
    """The partitions as they are, in the order of the cluster's."""
    (told,) = rows[CLUSTER].to_pylist()
    topics = {row["topic"]: row for row in rows[TOPIC].to_pylist()}
    found = {}
    for row in rows[PARTITION].to_pylist():
        topic = topics.get(row["topic"], {"min_insync_replicas": None, "replication_factor": None, "configs": []})
        kept = told["elr"] and row["elr"] is not None
        found[row["topic"], row["partition"]] = State(
            tuple(row["replicas"]), row["leader"], tuple(row["isr"]),
            tuple(row["elr"]) if kept else None, tuple(row["last_known_elr"] or ()) if kept else None,
            topic["min_insync_replicas"] or 1, topic["replication_factor"],
            dict(topic["configs"]).get("unclean.leader.election.enable") == "true",
        )  # fmt: skip
    names = [cluster.topics[topic] for topic in cluster.topic.tolist()]
    return [found[key] for key in zip(names, cluster.partition.tolist(), strict=True)]


def _settled(state: State, replicas: Sequence[int], live: frozenset[int]) -> State:
    """The partition once it has these replicas: all that live are in sync, and the first of them leads."""
    in_sync = tuple(id for id in replicas if id in live)
    return state._replace(
        replicas=tuple(replicas),
        leader=in_sync[0] if in_sync else None,
        isr=in_sync,
        elr=None if state.elr is None else (),
        last_known_elr=None if state.last_known_elr is None else (),
        replication_factor=len(replicas),
    )


def _waves(
    moves: Sequence[dict[str, Any]], changed: Sequence[int], states: Sequence[State], failures: Failures
) -> tuple[list[dict[str, Any]], dict[int, State]]:
    """Each wave, after one that stands for the cluster as it is: what it moves, and how many partitions a single death then harms; and
    the partitions as they are at the end.
    """
    harmed = [failures.harms(state) for state in states]
    count = sum(harmed)
    found = [{"harmed": count}]
    after = {p: _settled(states[p], move["replicas"], failures.live) for p, move in zip(changed, moves, strict=True)}
    for wave in sorted({move["wave"] for move in moves}):
        of_wave = [(p, move) for p, move in zip(changed, moves, strict=True) if move["wave"] == wave]
        busy: dict[int, int] = {}
        for p, move in of_wave:
            count += failures.harms(after[p]) - harmed[p]
            for id in (*move["added_replicas"], *move["removed_replicas"]) if move["added_replicas"] else ():
                busy[id] = busy.get(id, 0) + 1
        bytes_of = [move["moved_bytes"] for _, move in of_wave]
        found.append(
            {
                "wave": wave,
                "partitions": len(of_wave),
                "moved_replicas": sum(len(move["added_replicas"]) for _, move in of_wave),
                "moved_bytes": None if None in bytes_of else sum(bytes_of),
                "moves_of_busiest_broker": max(busy.values(), default=0),
                "harmed": count,
            }
        )
    return found, after


def _scenarios(states: Sequence[State], after: Mapping[int, State], failures: Failures) -> list[dict[str, Any]]:
    """What each failure does before and after."""
    then = failures.matrix(states)
    before = {id: (kind, brokers, list(counts)) for id, (kind, brokers, counts) in then.rows().items()}
    for p, state in after.items():
        then.add(states[p], -1)
        then.add(state)
    none = [0] * len(COUNTS)
    found = []
    for id, (kind, brokers, counts) in then.rows().items():
        was = before[id][2] if id in before else none
        outcome = {name: (one, other) for name, one, other in zip(COUNTS, was, counts, strict=True)}
        columns = {column: value for name, (one, other) in outcome.items() for column, value in ((f"{name}_before", one), (name, other))}
        found.append({"scenario_id": id, "kind": kind, "brokers": brokers, **columns})
    return found


def _breaches(verdict: goal.Verdict) -> int:
    return len(verdict.breaches) + (verdict.count or 0)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _table(of: Table, rows: Sequence[dict[str, Any]]) -> pa.Table:
    given = pa.schema([field for field in of.schema if field.name not in ("snapshot_id", "cluster_id", "plan_id")])
    return pa.Table.from_pylist(list(rows), given)
