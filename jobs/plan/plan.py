"""plan: the smallest reassignment of a published cluster that clears its broken goals, or that drains, adds or re-replicates as asked.

The cluster's rows come to this process as arrays, and kafka_model.cruise_control.reassignment decides. A plan that makes something worse
(jobs.plan.comparison) is tried again with fewer balancing steps, and refused if none is left. Nothing is executed: the input for Kafka's own
tools is written as files.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from expectations.limits import Limits
from jobs.errors import AuditError, NoSuchPlan
from jobs.failure.cluster_state import ClusterState, cluster_state
from jobs.failure.counts import FailureCounts, PartitionState, harmed_by_one_death, partition_states
from jobs.failure.patterns import Counts
from jobs.lake.lake import Lake
from jobs.names import storable_id
from jobs.night import Night
from jobs.plan import planned_night
from jobs.plan.comparison import Assessment, balancedness, worse
from jobs.plan.resources import disks, throttle
from jobs.schema import (
    BROKER,
    CLUSTER,
    LOG_DIR,
    PARTITION,
    PARTITION_LOAD,
    PLAN,
    PLAN_BLOCKED,
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
from jobs.steps.cluster_array import ClusterArrays, cluster_arrays
from jobs.what_if import published_snapshot
from kafka_model.cruise_control import columnar, reassignment
from kafka_model.cruise_control.limits import DISK, GOALS, Thresholds
from kafka_model.cruise_control.plan import REQUIRED_REASONS, Plan, PlanRequest
from kafka_model.cruise_control.plan_state import DiskSpace
from kafka_model.cruise_control.reassignment import BALANCING_STEPS, plan_reassignment
from kafka_model.cruise_control.verdicts import Verdict
from kafka_model.cruise_control.waves import WaveLimits, schedule

READS = (CLUSTER, BROKER, LOG_DIR, TOPIC, PARTITION, REPLICA, PARTITION_LOAD)
WRITES = (PLAN, PLAN_MOVE, PLAN_WAVE, PLAN_GOAL, PLAN_BROKER, PLAN_SCENARIO, PLAN_BLOCKED, PLAN_RULE)


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
    disk_limit: float | None = None  # None: as the limits have it

    @property
    def is_specific(self) -> bool:
        """Whether it asks for brokers or replicas to come or go: the result may then be worse than the cluster is today."""
        return bool(self.drain or self.add or self.replication_factor)

    def __post_init__(self) -> None:
        object.__setattr__(self, "id", storable_id(self.id))


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan: the rows of WRITES but PLAN_RULE, without snapshot, cluster and plan; the brokers and the partitions that it changes, as they
    are at its end, these in the order in which it is done.
    """

    tables: tuple[pa.Table, ...]
    brokers: list[dict[str, Any]]
    settled: dict[tuple[str, int], PartitionState]


def answer(lake: Lake, snapshot_id: str | None, question: Question, limits: Limits, *, rules: bool = True) -> str:
    """Plan on a published snapshot, by default the cluster's newest, and store the plan; returns the snapshot's id.

    With `rules`, every rule is judged on the night after the plan, which takes as long as a night of the cluster.
    """
    night = Night(lake, published_snapshot(lake, snapshot_id, question.cluster_id))
    rows = {table: night.of_cluster(table, question.cluster_id) for table in READS}
    plan = planned(rows, question, limits)
    judged = planned_night.rules(night, question.cluster_id, limits, plan.brokers, plan.settled) if rules else []
    for table, found in zip(WRITES, (*plan.tables, _table(PLAN_RULE, judged)), strict=True):
        lake.replace(table, found, snapshot_id=night.snapshot_id, plan_id=question.id, cluster_id=question.cluster_id)
    return night.snapshot_id


def unfulfilled(lake: Lake, snapshot_id: str, question: Question) -> str | None:
    """What a stored plan leaves undone of what was asked; None: nothing."""
    (plan,) = lake.read_local(PLAN, snapshot_id=snapshot_id, cluster_id=question.cluster_id, plan_id=question.id).to_pylist()
    return None if plan["unfulfilled"] is None else str(plan["unfulfilled"])


def files(lake: Lake, snapshot_id: str, cluster_id: str, plan_id: str, folder: Path) -> list[Path]:
    """Write what Kafka's own tools take: a reassignment for each wave with what undoes it, and the preferred election that follows.

    A plan that does only a part of what was asked and makes something worse gets none. Files of an earlier plan in the folder are deleted.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for pattern in ("reassignment-*.json", "rollback-*.json", "preferred-election.json", "commands.txt"):
        for old in folder.glob(pattern):
            old.unlink()
    (plan,) = lake.read_local(PLAN, snapshot_id=snapshot_id, cluster_id=cluster_id, plan_id=plan_id).to_pylist()
    if plan["unfulfilled"] is not None and plan["worse"] is not None:
        return []
    moves = lake.read_local(PLAN_MOVE, snapshot_id=snapshot_id, cluster_id=cluster_id, plan_id=plan_id).to_pylist()
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
    path = folder / "commands.txt"
    path.write_text("".join(f"{line}\n" for line in commands(plan, moves)), encoding="utf-8")
    return [*written, path]


def commands(plan: Mapping[str, Any], moves: Sequence[Mapping[str, Any]]) -> list[str]:
    """The commands to run in the folder of the files, in order: a wave at a time, throttled where the network's capacity is known."""
    throttle, share = plan["throttle_bytes_per_s"], json.loads(plan["request"])["network_share"]
    lines = [] if plan["unfulfilled"] is None else [f"# NOT FULFILLED: {plan['unfulfilled']}"]
    lines.append("# A wave at a time: go on once --verify reports that each reassignment is completed; it lifts the throttle too.")
    if throttle is None:
        lines.append("# Without a throttle: not all network capacities are known.")
    elif throttle < 1:
        lines.append(f"# Without a throttle: broker {plan['throttle_broker_id']} is over {share:g} of its network already.")
    lines += [f"# {line}" for line in unchecked(plan)]
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


def unchecked(plan: Mapping[str, Any]) -> Iterator[str]:
    """What the plan could not take into account, a sentence each."""
    if ids := plan["disk_unknown_brokers"]:
        yield f"The disk limit is not checked on brokers {_some(ids)}: their disk capacity is unknown."
    if count := plan["size_unknown_partitions"]:
        yield f"The disk limit does not count {count} partitions: their size is unknown."
    if plan["throttle_bytes_per_s"] is not None and (ids := plan["load_unknown_brokers"]):
        yield f"The throttle counts the load of brokers {_some(ids)} only as far as it is known."


def _some(values: Sequence[object]) -> str:
    """The first values, and how many there are if some are left out."""
    shown = ", ".join(map(str, values[:10]))
    return shown if len(values) <= 10 else f"{shown} and {len(values) - 10} more"


def _write(path: Path, document: dict[str, Any]) -> Path:
    path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return path


def _sorted(moves: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(moves, key=lambda move: (move["topic"], move["partition"]))


@dataclass(frozen=True, slots=True)
class _Today:
    """A cluster as it is, and what a plan for it has to respect."""

    cluster: columnar.Cluster
    thresholds: Thresholds
    disks: DiskSpace
    wave_limits: WaveLimits
    states: list[PartitionState]
    cluster_state: ClusterState
    assessment: Assessment


@dataclass(frozen=True, slots=True)
class _Outcome:
    """A plan in waves, and the cluster once it is done; of each changed partition its place, its wave and its state then."""

    plan: Plan
    leader: columnar.Ints
    waves: dict[int, int]
    states: dict[int, PartitionState]
    assessment: Assessment


def planned(rows: Mapping[Table, pa.Table], question: Question, limits: Limits) -> Planned:
    """The plan of a cluster with these rows of READS."""
    thresholds = limits.cruise_control
    brokers = _brokers(rows, question)
    arrays = _cluster_arrays(rows, brokers)
    cluster = arrays.cluster
    _refuse_impossible(rows, question, brokers, cluster)
    limit = limits.plan_disk_share_most if question.disk_limit is None else question.disk_limit
    state = _cluster_state(rows, brokers)
    states = _states(rows, cluster, state)
    failures = FailureCounts(state)
    failures.add(states)
    today = _Today(
        cluster, thresholds, disks(rows, brokers, arrays, limit), WaveLimits(question.wave_bytes, question.moves_per_broker), states, state,
        _assessment(
            columnar.evaluate(cluster, cluster.replicas, cluster.leader, thresholds), thresholds, failures, states, math.inf
        ),
    )  # fmt: skip
    outcome, left_out = _offered(today, question)
    unfulfilled = _unfulfilled(outcome, today, question, left_out)
    before, after = today.assessment, outcome.assessment
    changed = sorted(outcome.states)
    copied = np.where(np.isnan(cluster.loads[DISK]), math.nan, today.disks.copy_sizes)
    moves = [_move(outcome.plan, p, outcome.waves[p], float(copied[p])) for p in changed]
    waves = _waves(moves, changed, states, state, outcome.states)
    _fill_disks(waves, moves, changed, today, today.disks.limit / limit)
    limit_of_copying = throttle(brokers, cluster, moves, question.network_share)
    harmed_before = waves.pop(0)["harmed"]
    stranded = (outcome.plan.replicas >= 0) & ~_staying(cluster, question)[outcome.plan.replicas]
    added = outcome.plan.added_replicas
    summary = {
        "request": json.dumps({key: value for key, value in asdict(question).items() if key not in ("id", "cluster_id")}, sort_keys=True),
        "unfulfilled": unfulfilled,
        "worse": "; ".join(worse(after, before)) or None,
        "left_out": left_out,
        "score_before": before.score,
        "score": after.score,
        "changed_partitions": len(outcome.plan.changed_partitions),
        "moved_replicas": int(added.sum()),
        "moved_bytes": _finite(float((added * copied)[added > 0].sum())),
        "leadership_changes": int((added[outcome.plan.changed_partitions] == 0).sum()),
        "elections": int(((cluster.leader != outcome.leader) & (outcome.leader >= 0)).sum()),
        "waves": max((move["wave"] for move in moves), default=0),
        "minimum_moves": reassignment.net_imbalance(_counts(cluster)),
        "stranded_replicas": int(stranded.sum()),
        "blocked_replicas": sum(each.replicas for each in outcome.plan.blocked),
        "disk_limit": limit,
        "disk_unknown_brokers": cluster.broker_ids[cluster.live & np.isinf(today.disks.limit)].tolist(),
        "size_unknown_partitions": int(np.isnan(cluster.loads[DISK]).sum()),
        "throttle_bytes_per_s": limit_of_copying.bytes_per_s,
        "throttle_broker_id": limit_of_copying.broker_id,
        "throttle_load_source": limit_of_copying.source,
        "load_unknown_brokers": list(limit_of_copying.unknown),
        "harmed_before": harmed_before,
        "harmed": waves[-1]["harmed"] if waves else harmed_before,
    }
    goals = [
        {
            "goal": name,
            "hard": hard,
            "verdict_before": before.verdicts[name].verdict,
            "verdict": after.verdicts[name].verdict,
            "breaches_before": before.verdicts[name].breach_count,
            "breaches": after.verdicts[name].breach_count,
        }
        for name, hard in GOALS.items()
    ]
    scenarios, blocked = _scenarios(before.failures, after.failures), list(_blocked(outcome.plan))
    found = (
        [summary],
        moves,
        waves,
        goals,
        _carried(outcome, np.where(np.isnan(cluster.loads[DISK]), math.nan, cluster.size)),
        scenarios,
        blocked,
    )
    done = sorted(
        zip(moves, (outcome.states[p] for p in changed), strict=True),
        key=lambda each: (each[0]["wave"], each[0]["topic"], each[0]["partition"]),
    )
    return Planned(
        tuple(_table(of, rows) for of, rows in zip(WRITES[:-1], found, strict=True)),
        brokers,
        {(move["topic"], move["partition"]): state for move, state in done},
    )


def _offered(today: _Today, question: Question) -> tuple[_Outcome, str | None]:
    """The plan with the most balancing steps that makes nothing worse, and which steps were left out and why.

    The baseline is the cluster as it is; where brokers or replicas are to come or go, it is the plan that does only that.
    """
    steps = list(BALANCING_STEPS) if question.balance and not question.topics else []
    whole = _outcome(today, question, len(steps))
    if not question.is_specific and not worse(whole.assessment, today.assessment):
        return whole, None
    least = _outcome(today, question, 0) if steps else whole
    baseline = least.assessment if question.is_specific else today.assessment

    def reasons(outcome: _Outcome) -> list[str]:
        return worse(outcome.assessment, baseline, least.assessment)

    if not (found := reasons(whole)):
        return whole, None
    why = "; ".join(found[:2])
    for at in range(len(steps) - 1, 0, -1):
        outcome = _outcome(today, question, at)
        if outcome.states and not reasons(outcome):
            return outcome, f"balancing of {', '.join(steps[at:])}: {why}"
    if question.is_specific or (least.states and not reasons(least)):
        return least, f"all balancing: {why}"
    outcome = _outcome(today, question, 0, elect=False)
    if outcome.states and not reasons(outcome):
        return outcome, f"all balancing and preferred elections: {why}"
    raise NoSuchPlan(f"cluster {question.cluster_id} has no plan that makes nothing worse: {why}")


def _outcome(today: _Today, question: Question, balancing: int, *, elect: bool = True) -> _Outcome:
    """The plan with so many of the balancing steps; without `elect` a partition that gets no other replicas keeps its leader."""
    cluster, thresholds = today.cluster, today.thresholds
    request = PlanRequest(frozenset(question.drain), question.replication_factor, frozenset(question.topics), question.balance)
    plan = plan_reassignment(cluster, request, thresholds, today.disks, balancing_steps=balancing)
    plan, wave = schedule(plan, today.wave_limits, today.disks)
    first = plan.replicas[:, 0]
    elected = cluster.live[first]
    if not elect:
        elected = elected & np.isin(np.arange(len(first)), plan.changed_partitions)
    leader = np.where(elected, first, cluster.leader)
    # A partition that its first replica does not lead takes an election alone: it is a move of nothing.
    changed = np.union1d(plan.changed_partitions, np.flatnonzero((cluster.leader != leader) & (leader >= 0)))
    waves = dict(zip(plan.changed_partitions.tolist(), wave.tolist(), strict=True))
    ids = cluster.broker_ids
    states = {
        p: _settled(today.states[p], ids[plan.replicas[p][plan.replicas[p] >= 0]].tolist(), today.cluster_state.racks)
        for p in changed.tolist()
    }
    matrix = today.assessment.failures.copy()
    matrix.add([today.states[p] for p in states], sign=-1)
    matrix.add(list(states.values()))
    then = [states.get(p, state) for p, state in enumerate(today.states)]
    verdicts = columnar.evaluate(cluster, plan.replicas, leader, thresholds)
    blocked = sum(each.replicas for each in plan.blocked if each.reason in REQUIRED_REASONS)
    assessment = _assessment(verdicts, thresholds, matrix, then, blocked)
    return _Outcome(plan, leader, {p: waves.get(p, 0) for p in states}, states, assessment)


def _assessment(
    verdicts: Mapping[str, Verdict], thresholds: Thresholds, matrix: FailureCounts, states: Sequence[PartitionState], blocked: float
) -> Assessment:
    refusing = sum(state.leader is not None and len(state.isr) < state.min_insync_replicas for state in states)
    return Assessment(balancedness(verdicts, thresholds), verdicts, matrix, refusing, blocked)


def _staying(cluster: columnar.Cluster, question: Question) -> np.ndarray:
    """The brokers that may hold replicas once the plan is done."""
    return np.asarray(cluster.live & ~np.isin(cluster.broker_ids, question.drain))


def _refuse_impossible(
    rows: Mapping[Table, pa.Table], question: Question, brokers: Sequence[dict[str, Any]], cluster: columnar.Cluster
) -> None:
    if unknown := [topic for topic in (*question.topics, *question.replication_factor) if topic not in cluster.topics]:
        raise AuditError(f"cluster {question.cluster_id} has no topic {', '.join(unknown)}")
    staying = int(_staying(cluster, question).sum())
    if high := {topic: factor for topic, factor in question.replication_factor.items() if factor > staying}:
        topic, factor = next(iter(high.items()))
        raise AuditError(
            f"--replication-factor {topic}={factor}: cluster {question.cluster_id} would have {staying} live brokers: "
            f"ask for {staying} or fewer, or --add brokers"
        )
    racks = sorted({row["rack"] for row in brokers if row["live"] and row["rack"] is not None and row["broker_id"] not in question.add})
    if bare := [id for id, rack in sorted(question.add.items()) if rack is None] if racks else []:
        raise AuditError(
            f"--add {bare[0]}: the brokers of cluster {question.cluster_id} have racks: type --add {bare[0]}:RACK, "
            f"with one of {', '.join(racks)} or a new one"
        )
    moving = sum(bool(row["adding_replicas"] or row["removing_replicas"]) for row in rows[PARTITION].to_pylist())
    if moving:
        raise AuditError(f"cluster {question.cluster_id} is reassigning {moving} partitions: let it end, take a snapshot, and plan on that")


def _unfulfilled(outcome: _Outcome, today: _Today, question: Question, left_out: str | None) -> str | None:
    """What was asked for and is not done, with the reasons; None: all of it is done."""
    return "; ".join(_gaps(outcome, today, question, left_out)) or None


def _gaps(outcome: _Outcome, today: _Today, question: Question, left_out: str | None) -> Iterator[str]:
    cluster, replicas = today.cluster, outcome.plan.replicas
    obstacles = {each.partition: each.obstacle for each in outcome.plan.blocked}
    mine = np.array([not question.topics or topic in question.topics for topic in cluster.topics], dtype=np.bool_)[cluster.topic]
    for id in question.drain:
        stays = (cluster.broker_ids[replicas] == id) & (replicas >= 0) & mine[:, None]
        if count := int(stays.sum()):
            yield f"broker {id} cannot be drained: {count} replicas stay on it ({_why(cluster, stays.any(axis=1), obstacles)})"
    for topic, factor in question.replication_factor.items():
        short = (cluster.topic == cluster.topics.index(topic)) & ((replicas >= 0).sum(axis=1) != factor) & mine
        if count := int(short.sum()):
            yield f"topic {topic} cannot have {factor} replicas: {count} partitions do not ({_why(cluster, short, obstacles)})"
    if question.balance and not question.topics:
        short_of = {breach.broker_id for breach in outcome.assessment.verdicts["ReplicaDistributionGoal"].breaches}
        for id in question.add:
            if id in short_of and not (cluster.broker_ids[replicas[replicas >= 0]] == id).any():
                yield f"broker {id} gets no replica ({left_out or 'racks, disk limits and hard goals allow no move to it'})"
    asked = set(question.topics) & set(cluster.topics)
    blocked = np.isin(np.arange(len(cluster.topic)), list(obstacles))
    if asked and (count := int((blocked & mine).sum())):
        yield f"{count} partitions of {_some(sorted(asked))} cannot be mended ({_why(cluster, blocked & mine, obstacles)})"
    if obstacles and not outcome.states and not (asked or question.is_specific):
        yield f"nothing can be moved: {len(obstacles)} partitions cannot be mended ({_why(cluster, blocked, obstacles)})"


def _why(cluster: columnar.Cluster, partitions: np.ndarray, obstacles: Mapping[int, str]) -> str:
    """Why these partitions cannot be moved, the most frequent reason first, and an example."""
    places = np.flatnonzero(partitions).tolist()
    counts = Counter(obstacles.get(p, "no step moves it") for p in places)
    reasons = ", ".join(f"{count}: {obstacle}" for obstacle, count in counts.most_common())
    return f"{reasons}; such as {cluster.topics[cluster.topic[places[0]]]}-{cluster.partition[places[0]]}"


def _blocked(plan: Plan) -> Iterator[dict[str, Any]]:
    """The replicas that should move, or be added, and cannot."""
    cluster = plan.cluster
    for each in plan.blocked:
        p = each.partition
        held = cluster.replicas[p][cluster.replicas[p] >= 0]
        yield {
            "topic": cluster.topics[cluster.topic[p]],
            "partition": int(cluster.partition[p]),
            "reason": each.reason,
            "blocked_replicas": each.replicas,
            "replicas": cluster.broker_ids[held].tolist(),
            "obstacle": each.obstacle,
        }


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


def _cluster_arrays(rows: Mapping[Table, pa.Table], brokers: Sequence[dict[str, Any]]) -> ClusterArrays:
    """Return the cluster with these brokers and with the partitions and loads of `rows`."""
    partitions = rows[PARTITION].select(["topic", "partition", "leader", "replicas", "replica_size_bytes"])
    key = ["topic", "partition"]
    # Arrow joins no tables that contain lists: join the keys with their row numbers, then take the partitions by these.
    numbered = partitions.select(key).append_column("row", pa.array(range(len(partitions)), pa.int64()))
    loads = numbered.join(rows[PARTITION_LOAD].drop_columns(["snapshot_id", "cluster_id"]), key, join_type="left outer").sort_by("row")
    for name in ("disk_bytes", "network_in_bytes_per_s", "network_out_bytes_per_s", "cpu_percent"):
        partitions = partitions.append_column(name, loads[name])
    return cluster_arrays(brokers, partitions)


def _carried(outcome: _Outcome, sizes: np.ndarray) -> list[dict[str, Any]]:
    """What each broker carries, before and after."""
    plan, leader, cluster = outcome.plan, outcome.leader, outcome.plan.cluster
    columns: dict[str, list[Any]] = {"broker_id": cluster.broker_ids.tolist()}
    for suffix, replicas, leaders in (("_before", cluster.replicas, cluster.leader), ("", plan.replicas, leader)):
        of, _ = np.nonzero(replicas >= 0)
        at = replicas[replicas >= 0]
        columns[f"replicas{suffix}"] = np.bincount(at, minlength=len(cluster.broker_ids)).tolist()
        columns[f"leaders{suffix}"] = np.bincount(leaders[leaders >= 0], minlength=len(cluster.broker_ids)).tolist()
        stored = np.bincount(at, weights=sizes[of], minlength=len(cluster.broker_ids))
        columns[f"size_bytes{suffix}"] = [_finite(float(size)) for size in stored]
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _counts(cluster: columnar.Cluster) -> list[int]:
    counts = np.bincount(cluster.replicas[cluster.replicas >= 0], minlength=len(cluster.broker_ids))
    return [int(count) for count in counts[cluster.live]] or [0]


def _move(plan: Plan, p: int, wave: int, size: float) -> dict[str, Any]:
    cluster = plan.cluster
    before, after = (cluster.broker_ids[row[row >= 0]].tolist() for row in (cluster.replicas[p], plan.replicas[p]))
    added = [id for id in after if id not in before]
    return {
        "topic": cluster.topics[cluster.topic[p]],
        "partition": int(cluster.partition[p]),
        "wave": wave,
        "reason": plan.reasons[p] or "not led by its first replica",
        "replicas_before": before,
        "replicas": after,
        "added_replicas": added,
        "removed_replicas": [id for id in before if id not in after],
        "leader_before": int(cluster.broker_ids[cluster.leader[p]]) if cluster.leader[p] >= 0 else None,
        "moved_bytes": _finite(size * len(added)) if added else 0.0,
    }


def _cluster_state(rows: Mapping[Table, pa.Table], brokers: Sequence[dict[str, Any]]) -> ClusterState:
    """Of the brokers there are and those to come; who is drained may still die."""
    (cluster,) = rows[CLUSTER].to_pylist()
    live = {row["broker_id"]: row["rack"] for row in brokers if row["live"]}
    dead = [row["broker_id"] for row in brokers if not row["live"]]
    return cluster_state(cluster, live, dead)


def _states(rows: Mapping[Table, pa.Table], cluster: columnar.Cluster, state: ClusterState) -> list[PartitionState]:
    """The partitions as they are, in the order of the cluster's."""
    found = partition_states(state, rows[TOPIC].to_pylist(), rows[PARTITION].to_pylist())
    names = [cluster.topics[topic] for topic in cluster.topic.tolist()]
    return [found[key] for key in zip(names, cluster.partition.tolist(), strict=True)]


def _settled(state: PartitionState, replicas: Sequence[int], live: Collection[int]) -> PartitionState:
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
    moves: Sequence[dict[str, Any]],
    changed: Sequence[int],
    states: Sequence[PartitionState],
    state: ClusterState,
    after: Mapping[int, PartitionState],
) -> list[dict[str, Any]]:
    """Each wave, after one that stands for the cluster as it is: what it moves, and how many partitions a single death then harms."""
    harmed = harmed_by_one_death(state, states)
    harmed_after = dict(zip(after, harmed_by_one_death(state, list(after.values())), strict=True))
    count = int(harmed.sum())
    found = [{"harmed": count}]
    for wave in sorted({move["wave"] for move in moves}):
        of_wave = [(p, move) for p, move in zip(changed, moves, strict=True) if move["wave"] == wave]
        busy: dict[int, int] = {}
        for p, move in of_wave:
            count += int(harmed_after[p]) - int(harmed[p])
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
    return found


def _fill_disks(
    waves: Sequence[dict[str, Any]], moves: Sequence[dict[str, Any]], changed: Sequence[int], today: _Today, capacity: columnar.Floats
) -> None:
    """Add to each wave its fullest target: what that disk holds with old and new copies together."""
    place = {id: at for at, id in enumerate(today.cluster.broker_ids.tolist())}
    used = today.disks.used.copy()
    for wave in waves:
        of_wave = [(p, move) for p, move in zip(changed, moves, strict=True) if move["wave"] == wave.get("wave")]
        for p, move in of_wave:
            for id in move["added_replicas"]:
                used[place[id]] += today.disks.copy_sizes[p]
        targets = sorted({place[id] for _, move in of_wave for id in move["added_replicas"]})
        shares = [(float(used[b] / capacity[b]), int(today.cluster.broker_ids[b])) for b in targets if 0 < capacity[b] < math.inf]
        wave["fullest_target_share"], wave["fullest_target_id"] = max(shares, default=(None, None))
        for p, move in of_wave:
            for id in move["removed_replicas"]:
                slot = int(np.flatnonzero(today.cluster.replicas[p] == place[id])[0])
                used[place[id]] -= today.disks.replica_sizes[p, slot]


def _scenarios(before: FailureCounts, after: FailureCounts) -> list[dict[str, Any]]:
    """What each failure does before and after."""
    found = []
    for row in before.compare(after):
        outcome = {name: (one, other) for name, one, other in zip(Counts._fields, row.before, row.after, strict=True)}
        columns = {column: value for name, (one, other) in outcome.items() for column, value in ((f"{name}_before", one), (name, other))}
        found.append({"scenario_id": row.scenario_id, "kind": row.kind, "brokers": row.brokers, **columns})
    return found


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _table(of: Table, rows: Sequence[dict[str, Any]]) -> pa.Table:
    given = pa.schema([field for field in of.schema if field.name not in ("snapshot_id", "cluster_id", "plan_id")])
    return pa.Table.from_pylist(list(rows), given)
