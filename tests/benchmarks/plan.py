"""The moves of a plan beside those of other methods, on generated clusters, with times and the process's peak memory.

    python -m tests.benchmarks.plan [REPLICAS BROKERS RACKS SKEW]...

The default is 200,000 replicas on 40 brokers and 2,800,000 on 215, each with five racks and skew 0.3. The other methods are the net
imbalance (no plan makes the counts differ by at most one with fewer moves), Kafka's `--generate` (AdminUtils places every topic again) and
a greedy method that moves one replica at a time from the fullest broker to the emptiest until all counts are within the limits.
"""

from __future__ import annotations

import resource
import sys
import time
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from expectations.limits import limits
from jobs.plan.answer import compute_plan
from jobs.plan.question import PlanQuestion
from jobs.schema import BROKER, CLUSTER, LOG_DIR, PARTITION, PARTITION_LOAD, PLAN, POLICY, REPLICA, TOPIC, Table
from kafka_model.cruise_control.columnar import Cluster, Floats, Ints, evaluate
from kafka_model.cruise_control.limits import CPU, DISK, NETWORK_IN, NETWORK_OUT, Thresholds, count_limits
from kafka_model.cruise_control.plan import REASONS, Plan
from kafka_model.cruise_control.reassignment import net_imbalance, plan_reassignment
from kafka_model.cruise_control.waves import WaveLimits, assign_waves
from kafka_model.placement.zookeeper import place_rack_aware

REPLICATION_FACTOR, PARTITIONS_PER_TOPIC = 3, 50
THRESHOLDS = Thresholds(max_replicas_per_broker=20_000)  # 2,800,000 replicas on 215 brokers are 13,000 on each


class Loads(NamedTuple):
    """The load of each partition by resource, and the capacity of each broker by resource, in the units of the goals."""

    loads: dict[str, Floats]
    capacities: dict[str, Floats]


def generate_cluster(replicas: int, brokers: int, racks: int, skew: float) -> Cluster:
    """Return partitions on three racks each, on brokers drawn with weights from 1 - skew to 1 + skew; 5 % have a shared rack."""
    rng = np.random.default_rng(0)
    partitions = replicas // REPLICATION_FACTOR
    rack = np.arange(brokers) % racks
    placed = _generate_replicas(rng, partitions, rack, np.linspace(1 - skew, 1 + skew, brokers))
    size = rng.exponential(1e9, partitions)
    numbers = np.arange(partitions)
    topic = numbers // PARTITIONS_PER_TOPIC
    topics = tuple(f"t{number}" for number in range(-(-partitions // PARTITIONS_PER_TOPIC)))
    loads, capacities = _generate_loads(rng, topic, len(topics), size, brokers)
    return Cluster(
        broker_ids=np.arange(brokers),
        racks=rack,
        live=np.ones(brokers, dtype=np.bool_),
        disk_capacity=np.full(brokers, size.sum() * REPLICATION_FACTOR / brokers / 0.5),
        topics=topics,
        topic=topic,
        partition=numbers % PARTITIONS_PER_TOPIC,
        replicas=placed,
        leader=placed[:, 0].copy(),
        size=size,
        loads=loads,
        capacities=capacities,
    )


def _generate_replicas(rng: np.random.Generator, partitions: int, rack: Ints, weight: Floats) -> Ints:
    brokers, racks = len(rack), int(rack.max()) + 1
    chosen_racks = rng.random((partitions, racks)).argsort(axis=1)[:, :REPLICATION_FACTOR]
    placed = np.empty((partitions, REPLICATION_FACTOR), dtype=np.int64)
    for number in range(racks):
        members = np.flatnonzero(rack == number)
        is_here = chosen_racks == number
        placed[is_here] = rng.choice(members, size=int(is_here.sum()), p=weight[members] / weight[members].sum())
    shared = np.flatnonzero(rng.random(partitions) < 0.05)
    neighbour = (placed[shared, 0] + racks) % brokers
    placed[shared, 1] = np.where(neighbour == placed[shared, 2], placed[shared, 1], neighbour)
    return placed


def _generate_loads(rng: np.random.Generator, topic: Ints, topics: int, size: Floats, brokers: int) -> Loads:
    """Return loads in which some topics have a hundred times the load of others; up to three groups read a topic beside the followers."""
    bytes_in = rng.lognormal(0, 1, topics)[topic] * rng.exponential(1, len(topic))
    bytes_out = bytes_in * (REPLICATION_FACTOR - 1 + rng.integers(0, 4, topics)[topic])
    loads = {DISK: size / 2**20, NETWORK_IN: bytes_in, NETWORK_OUT: bytes_out, CPU: 0.7 * bytes_in + 0.15 * bytes_out}
    used = {
        DISK: loads[DISK] * REPLICATION_FACTOR,
        NETWORK_IN: bytes_in * REPLICATION_FACTOR,
        NETWORK_OUT: bytes_out * REPLICATION_FACTOR,
        CPU: loads[CPU] * 1.3,
    }
    return Loads(loads, {resource: np.full(brokers, values.sum() / brokers / 0.5) for resource, values in used.items()})


def table_rows(table: Table, count: int, **columns: object) -> pa.Table:
    """Return rows of a table with these columns; the other columns are null."""
    all_columns = {"snapshot_id": ["s"] * count, "cluster_id": ["c"] * count, **columns}
    return pa.table([pa.array(all_columns.get(field.name, [None] * count), field.type) for field in table.schema], table.schema)


def ingested_tables(cluster: Cluster) -> dict[Table, pa.Table]:
    """Return the ingested tables of the cluster; all its replicas are in sync."""
    count, replicas = cluster.replicas.shape
    topics = np.array(cluster.topics, dtype=object)
    offsets = np.arange(0, count * replicas + 1, replicas, dtype=np.int32)
    replica_lists = pa.ListArray.from_arrays(offsets, pa.array(cluster.replicas.ravel(), pa.int32()))
    isr_lists = pa.ListArray.from_arrays(offsets, pa.array(np.sort(cluster.replicas).ravel(), pa.int32()))
    replica_sizes = np.repeat(cluster.size, replicas).astype(np.int64)
    partition_key = {"topic": topics[cluster.topic], "partition": cluster.partition}
    replica_key = {name: np.repeat(values, replicas) for name, values in partition_key.items()}
    return {
        CLUSTER: table_rows(
            CLUSTER, 1, controller=["kraft"], elr=[False], kafka_version=["4.4.0"], kafka_version_source=["assumed"], sources=[[]]
        ),
        BROKER: table_rows(
            BROKER,
            len(cluster.broker_ids),
            broker_id=cluster.broker_ids,
            rack=[f"rack-{rack}" for rack in cluster.racks],
            live=cluster.live,
            disk_capacity_bytes=cluster.disk_capacity,
            network_in_capacity_bytes_per_s=cluster.capacities[NETWORK_IN] * 1024,
            network_out_capacity_bytes_per_s=cluster.capacities[NETWORK_OUT] * 1024,
            cpu_capacity_percent=cluster.capacities[CPU],
        ),
        LOG_DIR: table_rows(LOG_DIR, 0),
        POLICY: table_rows(POLICY, 0),
        TOPIC: table_rows(
            TOPIC,
            len(topics),
            topic=topics,
            partitions=np.bincount(cluster.topic),
            replication_factor=[replicas] * len(topics),
            min_insync_replicas=[2] * len(topics),
            configs=[[]] * len(topics),
        ),
        PARTITION: table_rows(
            PARTITION,
            count,
            **partition_key,
            leader=cluster.leader,
            replicas=replica_lists,
            isr=isr_lists,
            replica_size_bytes=pa.ListArray.from_arrays(offsets, pa.array(replica_sizes)),
        ),
        REPLICA: table_rows(
            REPLICA,
            count * replicas,
            **replica_key,
            broker_id=cluster.replicas.ravel(),
            in_sync=np.ones(count * replicas, bool),
            size_bytes=replica_sizes,
        ),
        PARTITION_LOAD: table_rows(
            PARTITION_LOAD,
            count,
            **partition_key,
            cpu_percent=cluster.loads[CPU],
            disk_bytes=cluster.size,
            network_in_bytes_per_s=cluster.loads[NETWORK_IN] * 1024,
            network_out_bytes_per_s=cluster.loads[NETWORK_OUT] * 1024,
        ),
    }


def place_every_topic_again(cluster: Cluster) -> Plan:
    """Return what Kafka's `kafka-reassign-partitions.sh --generate` proposes."""
    racks = {int(broker_id): str(rack) for broker_id, rack in zip(cluster.broker_ids, cluster.racks, strict=True)}
    replicas = np.empty_like(cluster.replicas)
    rng = np.random.default_rng(1)
    for topic in range(len(cluster.topics)):
        partitions = np.flatnonzero(cluster.topic == topic)
        start = int(rng.integers(len(racks)))
        replicas[partitions] = place_rack_aware(racks, len(partitions), REPLICATION_FACTOR, start_index=start, shift=start)
    return Plan(cluster, replicas, np.full(len(replicas), "", dtype=object))


def move_from_fullest_to_emptiest(cluster: Cluster) -> Plan:
    """Return a plan of one replica after another from the fullest broker to the emptiest."""
    replicas = cluster.replicas.copy()
    counts = np.bincount(replicas.ravel(), minlength=len(cluster.broker_ids))
    lower, upper = count_limits(int(counts.sum()), len(counts), 1.1)
    slots_of = {broker: list(zip(*np.nonzero(replicas == broker), strict=True)) for broker in range(len(counts))}
    while counts.max() > upper or counts.min() < lower:
        fullest, emptiest = int(counts.argmax()), int(counts.argmin())
        movable = (index for index, (partition, _) in enumerate(slots_of[fullest]) if emptiest not in replicas[partition])
        index = next(movable, None)
        if index is None:
            break
        partition, slot = slots_of[fullest].pop(index)
        replicas[partition, slot] = emptiest
        slots_of[emptiest].append((partition, slot))
        counts[fullest] -= 1
        counts[emptiest] += 1
    return Plan(cluster, replicas, np.full(len(replicas), "", dtype=object))


def print_plan(name: str, plan: Plan, seconds: float) -> None:
    cluster = plan.cluster
    verdicts = evaluate(cluster, plan.replicas, plan.replicas[:, 0], THRESHOLDS)
    broken = [goal.removesuffix("Goal") for goal, verdict in verdicts.items() if verdict.verdict in ("violated", "unfixable")]
    moves, terabytes = int(plan.added_replicas.sum()), (plan.added_replicas * cluster.size).sum() / 1e12
    print(f"{name:22} {moves:>10,} moves {terabytes:>9.2f} TB {seconds:>7.1f} s   broken: {', '.join(broken) or 'none'}", flush=True)


def print_model_plan(cluster: Cluster) -> None:
    """Compute a plan and its waves from arrays."""
    started = time.monotonic()
    plan = plan_reassignment(cluster, thresholds=THRESHOLDS)
    print_plan("plan", plan, time.monotonic() - started)
    leadership_only = int((plan.added_replicas[plan.changed_partitions] == 0).sum())
    counts = {reason: int((plan.reasons == reason).sum()) for reason in REASONS}
    steps = ", ".join(f"{reason} {count:,}" for reason, count in counts.items() if count)
    print(f"{'':22} peak memory {peak_gib():.2f} GiB; partitions by the step that changed them first: {steps}")
    started = time.monotonic()
    waves = int(assign_waves(plan, WaveLimits(bytes_per_wave=1e12, moves_per_broker=500)).max())
    seconds = time.monotonic() - started
    print(f"{'':22} {leadership_only:,} leadership only, {waves} waves of at most 1 TB and 500 moves per broker, {seconds:.1f} s")


def print_computed_plan(cluster: Cluster) -> None:
    """Compute a plan from rows to rows, every failure before and after it included."""
    tables = ingested_tables(cluster)
    question = PlanQuestion("p", "c", wave_bytes=1e12, moves_per_broker=500)
    started = time.monotonic()
    (summary,) = compute_plan(tables, question, replace(limits(None), cruise_control=THRESHOLDS)).tables[PLAN].to_pylist()
    print(
        f"{'plan, rows to rows':22} {summary['moved_replicas']:>10,} moves in {summary['waves']} waves, every failure before and after, "
        f"{time.monotonic() - started:.1f} s; peak memory {peak_gib():.2f} GiB",
        flush=True,
    )


def peak_gib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def main() -> None:
    arguments = [float(word) for word in sys.argv[1:]] or [200_000, 40, 5, 0.3, 2_800_000, 215, 5, 0.3]
    for start in range(0, len(arguments), 4):
        replicas, brokers, racks, skew = arguments[start : start + 4]
        cluster = generate_cluster(int(replicas), int(brokers), int(racks), skew)
        print(f"{int(replicas):,} replicas on {int(brokers)} brokers, {int(racks)} racks, skew {skew}")
        print_plan("now", Plan(cluster, cluster.replicas, np.full(len(cluster.size), "", dtype=object)), 0.0)
        print_model_plan(cluster)
        print_computed_plan(cluster)
        counts = np.bincount(cluster.replicas.ravel(), minlength=int(brokers))
        print(f"{'net imbalance':22} {net_imbalance(counts.tolist()):>10,} moves make the counts differ by at most one, and nothing more")
        for name, method in (("Kafka's --generate", place_every_topic_again), ("greedy", move_from_fullest_to_emptiest)):
            started = time.monotonic()
            plan = method(cluster)
            print_plan(name, plan, time.monotonic() - started)


if __name__ == "__main__":
    main()
