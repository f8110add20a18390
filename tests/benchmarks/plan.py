"""What a plan moves beside its rivals, on made-up clusters, how long it takes, and the most memory that the process has had by then.

    python -m tests.benchmarks.plan [REPLICAS BROKERS RACKS SKEW]...     by default 200,000 on 40 and 2,800,000 on 215, five racks, skew 0.3

Rivals: the net imbalance (no plan can even the counts to within one with fewer moves), Kafka's `--generate` (AdminUtils' placement of
every topic anew), and a greedy that moves one replica from the fullest broker to the emptiest until counts are within the limits.
"""

from __future__ import annotations

import resource
import sys
import time
from dataclasses import replace

import numpy as np
import pyarrow as pa

from expectations.limits import limits
from jobs.plan.plan import Question, planned
from jobs.schema import BROKER, CLUSTER, LOG_DIR, PARTITION, PARTITION_LOAD, REPLICA, TOPIC, Table
from kafka_model.cruise_control.columnar import Cluster, evaluate
from kafka_model.cruise_control.limits import CPU, DISK, NETWORK_IN, NETWORK_OUT, Thresholds, count_limits
from kafka_model.cruise_control.plan import REASONS, Plan
from kafka_model.cruise_control.reassignment import net_imbalance, plan_reassignment
from kafka_model.cruise_control.waves import WaveLimits, assign_waves
from kafka_model.placement.zookeeper import place_rack_aware

FACTOR, PARTITIONS = 3, 50  # of each topic
LIMITS = Thresholds(max_replicas_per_broker=20_000)  # 2,800,000 on 215 brokers are 13,000 on each


def made_up(replicas: int, brokers: int, racks: int, skew: float) -> Cluster:
    """Each partition on three racks, brokers drawn with weights from 1 - skew to 1 + skew; a twentieth are not rack-safe."""
    rng = np.random.default_rng(0)
    count = replicas // FACTOR
    rack = np.arange(brokers) % racks
    weight = np.linspace(1 - skew, 1 + skew, brokers)
    chosen = rng.random((count, racks)).argsort(axis=1)[:, :FACTOR]
    placed = np.empty((count, FACTOR), dtype=np.int64)
    for number in range(racks):
        members = np.flatnonzero(rack == number)
        at = chosen == number
        placed[at] = rng.choice(members, size=int(at.sum()), p=weight[members] / weight[members].sum())
    unsafe = np.flatnonzero(rng.random(count) < 0.05)
    neighbour = (placed[unsafe, 0] + racks) % brokers
    placed[unsafe, 1] = np.where(neighbour == placed[unsafe, 2], placed[unsafe, 1], neighbour)
    size = rng.exponential(1e9, count)
    numbers = np.arange(count)
    topics = tuple(f"t{number}" for number in range(-(-count // PARTITIONS)))
    capacity = np.full(brokers, size.sum() * FACTOR / brokers / 0.5)
    # Some topics have a hundred times the rate of others, and up to three groups of readers beside the followers.
    topic = numbers // PARTITIONS
    into = rng.lognormal(0, 1, len(topics))[topic] * rng.exponential(1, count)
    out = into * (FACTOR - 1 + rng.integers(0, 4, len(topics))[topic])
    loads = {DISK: size / 2**20, NETWORK_IN: into, NETWORK_OUT: out, CPU: 0.7 * into + 0.15 * out}
    used = {DISK: loads[DISK] * FACTOR, NETWORK_IN: into * FACTOR, NETWORK_OUT: out * FACTOR, CPU: loads[CPU] * 1.3}
    capacities = {name: np.full(brokers, use.sum() / brokers / 0.5) for name, use in used.items()}
    return Cluster(
        np.arange(brokers),
        rack,
        np.ones(brokers, dtype=np.bool_),
        capacity,
        topics,
        numbers // PARTITIONS,
        numbers % PARTITIONS,
        placed,
        placed[:, 0].copy(),
        size,
        loads=loads,
        capacities=capacities,
    )


def tables(cluster: Cluster) -> dict[Table, pa.Table]:
    """What ingest would have of the cluster, whose partitions are all in sync."""
    count, replicas = cluster.replicas.shape
    topics = np.array(cluster.topics, dtype=object)
    capacities = {"disk_capacity_bytes": cluster.disk_capacity, **{f"network_{way}_capacity_bytes_per_s": cluster.capacities[name] * 1024 for way, name in (("in", NETWORK_IN), ("out", NETWORK_OUT))},
                  "cpu_capacity_percent": cluster.capacities[CPU]}  # fmt: skip

    def rows(of: Table, size: int, **given: object) -> pa.Table:
        named = {"snapshot_id": ["s"] * size, "cluster_id": ["c"] * size, **given}
        return pa.table([pa.array(named.get(field.name, [None] * size), field.type) for field in of.schema], of.schema)

    lists = pa.ListArray.from_arrays(
        np.arange(0, count * replicas + 1, replicas, dtype=np.int32), pa.array(cluster.replicas.ravel(), pa.int32())
    )
    in_order = pa.ListArray.from_arrays(lists.offsets, pa.array(np.sort(cluster.replicas).ravel(), pa.int32()))
    sizes = pa.ListArray.from_arrays(lists.offsets, pa.array(np.repeat(cluster.size, replicas).astype(np.int64)))
    key = {"topic": topics[cluster.topic], "partition": cluster.partition}
    each = {name: np.repeat(values, replicas) for name, values in key.items()}
    loads = {"cpu_percent": cluster.loads[CPU], "disk_bytes": cluster.size, "network_in_bytes_per_s": cluster.loads[NETWORK_IN] * 1024, "network_out_bytes_per_s": cluster.loads[NETWORK_OUT] * 1024}  # fmt: skip
    return {
        CLUSTER: rows(CLUSTER, 1, controller=["kraft"], elr=[False], sources=[[]]),
        BROKER: rows(BROKER, len(cluster.broker_ids), broker_id=cluster.broker_ids, rack=[f"rack-{rack}" for rack in cluster.racks], live=cluster.live, **capacities),
        LOG_DIR: rows(LOG_DIR, 0),
        TOPIC: rows(TOPIC, len(topics), topic=topics, partitions=np.bincount(cluster.topic), replication_factor=[replicas] * len(topics), min_insync_replicas=[2] * len(topics), configs=[[]] * len(topics)),
        PARTITION: rows(PARTITION, count, **key, leader=cluster.leader, replicas=lists, isr=in_order, replica_size_bytes=sizes),
        REPLICA: rows(REPLICA, count * replicas, **each, broker_id=cluster.replicas.ravel(), in_sync=np.ones(count * replicas, bool), size_bytes=np.repeat(cluster.size, replicas).astype(np.int64)),
        PARTITION_LOAD: rows(PARTITION_LOAD, count, **key, **loads),
    }  # fmt: skip


def generated(cluster: Cluster) -> Plan:
    """Every topic placed anew."""
    racks = {int(id): str(rack) for id, rack in zip(cluster.broker_ids, cluster.racks, strict=True)}
    rows = np.empty_like(cluster.replicas)
    rng = np.random.default_rng(1)
    for topic in range(len(cluster.topics)):
        of_topic = np.flatnonzero(cluster.topic == topic)
        start = int(rng.integers(len(racks)))
        rows[of_topic] = place_rack_aware(racks, len(of_topic), FACTOR, start_index=start, shift=start)
    return Plan(cluster, rows, np.full(len(rows), "", dtype=object))


def greedy(cluster: Cluster) -> Plan:
    """One replica after another from the fullest broker to the emptiest."""
    rows = cluster.replicas.copy()
    count = np.bincount(rows.ravel(), minlength=len(cluster.broker_ids))
    lower, upper = count_limits(int(count.sum()), len(count), 1.1)
    held = {b: list(zip(*np.nonzero(rows == b), strict=True)) for b in range(len(count))}
    while count.max() > upper or count.min() < lower:
        one, other = int(count.argmax()), int(count.argmin())
        at = next((at for at, (p, _) in enumerate(held[one]) if other not in rows[p]), None)
        if at is None:
            break
        p, slot = held[one].pop(at)
        rows[p, slot] = other
        held[other].append((p, slot))
        count[one] -= 1
        count[other] += 1
    return Plan(cluster, rows, np.full(len(rows), "", dtype=object))


def told(name: str, made: Plan, seconds: float) -> None:
    cluster = made.cluster
    verdicts = evaluate(cluster, made.replicas, made.replicas[:, 0], LIMITS)
    broken = [goal.removesuffix("Goal") for goal, verdict in verdicts.items() if verdict.verdict in ("violated", "unfixable")]
    moved = (made.added_replicas * cluster.size).sum() / 1e12
    print(
        f"{name:22} {int(made.added_replicas.sum()):>10,} moves {moved:>9.2f} TB {seconds:>7.1f} s   broken: {', '.join(broken) or 'none'}",
        flush=True,
    )


def main() -> None:
    sizes = [float(word) for word in sys.argv[1:]] or [200_000, 40, 5, 0.3, 2_800_000, 215, 5, 0.3]
    for replicas, brokers, racks, skew in zip(*(sizes[at::4] for at in range(4)), strict=True):
        cluster = made_up(int(replicas), int(brokers), int(racks), skew)
        print(f"{int(replicas):,} replicas on {int(brokers)} brokers, {int(racks)} racks, skew {skew}")
        told("as it is", Plan(cluster, cluster.replicas, np.full(len(cluster.size), "", dtype=object)), 0.0)
        began = time.monotonic()
        made = plan_reassignment(cluster, thresholds=LIMITS)
        took = time.monotonic() - began
        told("plan", made, took)
        alone = int((made.added_replicas[made.changed_partitions] == 0).sum())
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        changed = {reason: int((made.reasons == reason).sum()) for reason in REASONS}
        steps = ", ".join(f"{reason} {count:,}" for reason, count in changed.items() if count)
        print(f"{'':22} peak memory {peak:.2f} GiB; partitions by the step that changed them first: {steps}")
        began = time.monotonic()
        number = int(assign_waves(made, WaveLimits(bytes_per_wave=1e12, moves_per_broker=500)).max())
        print(
            f"{'':22} {alone:,} leadership alone, {number} waves of at most 1 TB and 500 moves a broker, {time.monotonic() - began:.1f} s"
        )
        given = tables(cluster)
        began = time.monotonic()
        found = planned(given, Question("p", "c", wave_bytes=1e12, moves_per_broker=500), replace(limits(None), cruise_control=LIMITS))
        (said,) = found.tables[0].to_pylist()
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(
            f"{'the job, rows to rows':22} {said['moved_replicas']:>10,} moves in {said['waves']} waves, every failure before and after, {time.monotonic() - began:.1f} s; peak memory {peak:.2f} GiB",
            flush=True,
        )
        del given, found
        counts = np.bincount(cluster.replicas.ravel(), minlength=int(brokers))
        print(f"{'net imbalance':22} {net_imbalance(counts.tolist()):>10,} moves: to even the counts to within one, and no more")
        for name, rival in (("Kafka's --generate", generated), ("greedy", greedy)):
            began = time.monotonic()
            other = rival(cluster)
            told(name, other, time.monotonic() - began)


if __name__ == "__main__":
    main()
